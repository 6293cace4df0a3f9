//! Fuzz targets for everything that the core reads from others: the service's answers,
//! the webhook, the header `retry-after`, and the environment variables.
//!
//! A target is a function of bytes that panics where a promise of the WIT package does
//! not hold for them; not to panic in the core is only the first of these promises. The
//! others are told apart by a second, simpler way to the same result: [`members`] takes
//! JSON apart by its brackets, [`settings()`] judges an environment by the README's table.
//!
//! `cargo test` replays the corpora on any compiler. The fuzzer needs a nightly one and
//! [cargo-fuzz](https://crates.io/crates/cargo-fuzz), and is run from the root of the
//! repository:
//!
//! ```sh
//! cargo +nightly fuzz run docket --features libfuzzer --sanitizer none -- -max_len=4096
//! ```
//!
//! (The core forbids unsafe code outside of generated bindings, so without a sanitizer
//! the fuzzer misses little and is faster.) What it finds goes to `fuzz/artifacts`, and
//! from there, as a plain test, to the core. New inputs go to `fuzz/corpus`;
//! `cargo +nightly fuzz cmin docket --features libfuzzer` keeps the ones that add
//! something, and drops hand-made seeds that do not: bring those back by `git checkout`.

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
