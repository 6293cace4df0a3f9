//! When a campaign may begin a call: its hours and its pace, and the grants that follow from them.
//!
//! Pure: the time is an argument, and the time zones are compiled in. The same arguments give the
//! same grants, so that a workflow may be replayed.

#![forbid(unsafe_code)]

mod grants;
mod hours;
mod pace;
mod problem;
mod week;

pub use grants::{Given, Grant, Grants};
pub use hours::{Hours, Window};
pub use pace::Pace;
pub use problem::Problem;
pub use week::{CallingHours, CallingTime, Weekday};
