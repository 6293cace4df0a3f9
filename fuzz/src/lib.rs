//! Fuzz targets for everything that the core reads from others: the service's answers,
//! the webhook, the header `retry-after`, and the environment variables.
//!
//! A target is a function of bytes that panics where a promise of the WIT package does
//! not hold for them. That the core does not panic is only the first of these promises;
//! the others are checked by coming to the same result in a second, simpler way: JSON is
//! taken apart by its brackets, an environment is judged by the README's table.
//!
//! `cargo test` replays the corpora with any compiler. To look for more inputs takes a
//! nightly one and [cargo-fuzz](https://crates.io/crates/cargo-fuzz), in the root of the
//! repository:
//!
//! ```sh
//! mkdir -p target/found
//! cargo +nightly fuzz run docket --features libfuzzer --sanitizer none \
//!     target/found fuzz/corpus/docket -- -max_len=4096
//! ```
//!
//! Without a sanitizer it is faster, and misses little where no code is unsafe. An input
//! that fails goes to `fuzz/artifacts/docket`; once the core has a plain test for it, it
//! goes to the corpus under a name that says what it is. Inputs that find new ways through
//! the code go to `target/found`. Those that add to a corpus are copied there, under names
//! that are their hashes, by
//!
//! ```sh
//! cargo +nightly fuzz run docket --features libfuzzer --sanitizer none \
//!     fuzz/corpus/docket target/found -- -merge=1 -use_counters=0 -max_len=1024
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
