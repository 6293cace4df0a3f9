//! The commands: arguments in, library calls, output.

mod archive;
mod bench;
mod cases;
mod check;
mod component;
mod demo;
mod invoke;

pub(crate) use bench::{Bench, Load, run_bench, run_load};
pub(crate) use cases::{Cases, serve_cases};
pub(crate) use check::{Check, run_check};
pub(crate) use demo::{Demo, run_demo};
pub(crate) use invoke::{Invoke, run_invoke};
