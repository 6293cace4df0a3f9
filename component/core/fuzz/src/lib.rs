//! Fuzz targets for everything that the core reads from others: the service's answers,
//! the webhook, the header `retry-after`, and the environment variables.
//!
//! A target is a function of bytes that panics where a promise of the WIT package does
//! not hold for them. That the core does not panic is only the first of these promises;
//! the others are checked by coming to the same result in a second, simpler way: JSON is
//! taken apart by its brackets, an environment is judged by the README's table.
//!
//! The inputs are of two kinds. The seeds in `corpus` have names that say what they are.
//! `found.tar.gz` holds what the fuzzer found: inputs under the names of their hashes, which
//! reach code that no seed reaches. `cargo test` replays both with any compiler.
//!
//! To look for more inputs takes a nightly compiler, GNU tar and
//! [cargo-fuzz](https://crates.io/crates/cargo-fuzz), in the root of the repository:
//!
//! ```sh
//! mkdir -p target/found
//! tar -xzf component/core/fuzz/found.tar.gz -C target/found
//! cargo +nightly fuzz run docket --features libfuzzer --sanitizer none \
//!     target/found/docket component/core/fuzz/corpus/docket -- -max_len=4096
//! ```
//!
//! Without a sanitizer it is faster, and misses little where no code is unsafe. An input
//! that fails goes to `component/core/fuzz/artifacts/docket`; once the core has a plain test for it, it
//! goes to `corpus` under a name that says what it is. Inputs that find new ways through
//! the code go to `target/found/docket`. The archive is made anew from `target/found`: for
//! each target, few inputs that together with the seeds cover what all of them cover. The
//! seeds are copied first, so that what they cover counts, and removed last.
//!
//! ```sh
//! rm -rf target/kept
//! cp -r component/core/fuzz/corpus target/kept
//! for target in $(ls component/core/fuzz/corpus); do
//!     cargo +nightly fuzz run $target --features libfuzzer --sanitizer none \
//!         target/kept/$target target/found/$target -- -set_cover_merge=1 -use_counters=0
//! done
//! (cd component/core/fuzz/corpus && find . -type f) | (cd target/kept && xargs rm)
//! tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
//!     -C target/kept -c . | gzip -9n > component/core/fuzz/found.tar.gz
//! ```

#![forbid(unsafe_code)]

mod agents;
mod answer;
mod base_url;
mod call_details;
mod call_started;
mod docket;
mod docket_created;
mod members;
mod retry_after;
mod service;
mod settings;
mod webhook;

pub use agents::agents;
pub use base_url::base_url;
pub use call_details::call_details;
pub use call_started::call_started;
pub use docket::docket;
pub use docket_created::docket_created;
pub use retry_after::retry_after;
pub use settings::settings;
pub use webhook::webhook;

/// A target: reads bytes, and panics where a promise does not hold for them.
pub type Target = fn(&[u8]);

/// All targets, by the names of their corpora.
pub const TARGETS: [(&str, Target); 9] = [
    ("agents", agents),
    ("base-url", base_url),
    ("call-details", call_details),
    ("call-started", call_started),
    ("docket", docket),
    ("docket-created", docket_created),
    ("retry-after", retry_after),
    ("settings", settings),
    ("webhook", webhook),
];
