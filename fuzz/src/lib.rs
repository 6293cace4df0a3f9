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
//! cargo +nightly fuzz run docket --features libfuzzer --sanitizer none -- -max_len=4096
//! ```
//!
//! Without a sanitizer it is faster, and misses little where no code is unsafe. An input
//! that fails goes to `fuzz/artifacts`; once the core has a plain test for it, it goes to
//! the corpus under a name that says what it is. Inputs that the fuzzer finds new ways
//! with are added to `fuzz/corpus/docket`, named by their hashes. Most are not worth
//! keeping: `-merge=1` into an empty folder picks those that add to the named ones.

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
