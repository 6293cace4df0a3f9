//! The fuzz target for the bodies of the service's answers and of deliveries to the webhook.
//!
//! It is a function of bytes that panics if the core does, if an id is lost, if JSON is not passed
//! on as it is, or if the token is shown. What each member means is decided by tables in the core.
//!
//! `corpus.tar.gz` contains the inputs: seeds, whose names describe them, and inputs that the
//! fuzzer found, under the names of hashes. `cargo test` replays them with any compiler. Searching
//! for more requires a nightly compiler, GNU tar and
//! [cargo-fuzz](https://crates.io/crates/cargo-fuzz), in the root of the repository:
//!
//! ```sh
//! mkdir -p target/corpus target/found
//! tar -xzf component/core/fuzz/corpus.tar.gz -C target/corpus
//! cargo +nightly fuzz run body --features libfuzzer --sanitizer none \
//!     target/found target/corpus/body -- -max_len=4096
//! ```
//!
//! It is faster without a sanitizer, and misses little if no code is unsafe. An input that fails
//! goes to `component/core/fuzz/artifacts/body`; once the core has a plain test for it, it goes to
//! the corpus under a name that describes it. Inputs that reach new code go to `target/found`, and
//! from there to the corpus:
//!
//! ```sh
//! cargo +nightly fuzz run body --features libfuzzer --sanitizer none \
//!     target/corpus/body target/found -- -set_cover_merge=1 -use_counters=0
//! tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rw,go=r \
//!     -C target/corpus -c body | \
//!     gzip -9n > component/core/fuzz/corpus.tar.gz
//! ```

#![forbid(unsafe_code)]

mod body;
mod service;

pub use body::body;
