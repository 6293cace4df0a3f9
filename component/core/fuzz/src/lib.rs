//! The fuzz target for the bodies of the service's answers and of deliveries to the webhook.
//!
//! It is a function of bytes that panics where a promise of the WIT package does not hold for
//! them. That the core does not panic is only the first of these promises; the
//! others are checked by coming to the same result in a second, simpler way.
//!
//! `corpus.tar.gz` has the inputs: seeds, whose names say what they are, and what the fuzzer found,
//! under the names of hashes. `cargo test` replays them with any compiler. To look for more takes a
//! nightly compiler, GNU tar and [cargo-fuzz](https://crates.io/crates/cargo-fuzz), in the root of
//! the repository:
//!
//! ```sh
//! mkdir -p target/corpus target/found
//! tar -xzf component/core/fuzz/corpus.tar.gz -C target/corpus
//! cargo +nightly fuzz run body --features libfuzzer --sanitizer none \
//!     target/found target/corpus/body -- -max_len=4096
//! ```
//!
//! Without a sanitizer it is faster, and misses little where no code is unsafe. An input
//! that fails goes to `component/core/fuzz/artifacts/body`; once the core has a plain test for it,
//! it goes to the corpus under a name that says what it is. Inputs that find new ways through the
//! code go to `target/found`, and from there to the corpus:
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
mod members;
mod service;

pub use body::body;
