//! The fuzz targets: the bodies of the service's answers and of deliveries to the webhook ([`body()`]),
//! and the numbers and hours of lists ([`contact()`]).
//!
//! Each is a function of bytes that panics if the code does, if an id is lost, if JSON is not passed
//! on as it is, if the token is shown, or if a number is called that was not written. What each
//! member means is decided by tables in the core.
//!
//! `corpus.tar.gz` contains the inputs of each target: seeds, whose names describe them, and inputs
//! that the fuzzer found, under the names of hashes. `cargo test` replays them with any compiler.
//! Searching for more requires a nightly compiler, GNU tar and
//! [cargo-fuzz](https://crates.io/crates/cargo-fuzz), in the root of the repository:
//!
//! ```sh
//! mkdir -p target/corpus target/found
//! tar -xzf fuzz/corpus.tar.gz -C target/corpus
//! cargo +nightly fuzz run body --features libfuzzer --sanitizer none \
//!     target/found target/corpus/body -- -max_len=4096
//! ```
//!
//! It is faster without a sanitizer, and misses little if no code is unsafe. An input that fails
//! goes to `fuzz/artifacts/body`; once there is a plain test for it, it goes to the corpus under a
//! name that describes it. Inputs that reach new code go to `target/found`, and from there to the
//! corpus:
//!
//! ```sh
//! cargo +nightly fuzz run body --features libfuzzer --sanitizer none \
//!     target/corpus/body target/found -- -set_cover_merge=1 -use_counters=0
//! tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r \
//!     -C target/corpus -c body contact | \
//!     gzip -9n > fuzz/corpus.tar.gz
//! ```

mod body;
mod contact;
mod service;

pub use body::body;
pub use contact::contact;
