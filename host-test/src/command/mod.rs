//! The commands: arguments in, library calls, output.

mod archive;
mod bench;
mod cases;
mod check;
mod choice;
mod demo;
mod invoke;
mod loading;
mod mock;
mod replay;

pub(crate) use bench::{Bench, Crowd, run_bench, run_crowd};
pub(crate) use cases::{Cases, serve_cases};
pub(crate) use check::{Check, Faults, run_check, run_faults};
pub(crate) use demo::{Demo, run_demo};
pub(crate) use invoke::{Invoke, run_invoke};
pub(crate) use mock::{Mock, PageArguments, serve_mock};
pub(crate) use replay::{Replay, run_replay};
