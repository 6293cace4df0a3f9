//! Whom to call and when: decisions that are made before anything is sent, over plain data.
//!
//! Each problem names its subject as the caller calls it, what was found, and what is allowed.

#![warn(missing_docs)]

mod contact;
mod contact_rules;
mod hours;
pub mod number;
pub mod spreadsheet;
mod timetable;
mod week;

pub use contact::{DoNotCall, Limits, Refusal, may_call};
pub use contact_rules::ContactRules;
pub use hours::{CallingHours, Hours, Window, zone};
pub use jiff::civil::Weekday;
pub use timetable::calling_times;
pub use voice_calling_core::types::Problem;
pub use week::CallingTime;

/// Returns the problem with an argument; a long `found` is cut.
fn problem(subject: impl Into<String>, found: &str, allowed: &str) -> Problem {
    let found: String = found.chars().take(60).collect();
    voice_calling_core::problem(subject, found, allowed)
}
