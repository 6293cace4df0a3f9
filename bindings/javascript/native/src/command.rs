//! The command, which the package brings.

use napi_derive::napi;
use std::ffi::OsString;

/// Runs the command to its end, and returns its exit code.
#[napi]
pub(crate) fn run_command(arguments: Vec<String>) -> u8 {
    voice_calling_cli::run(arguments.into_iter().map(OsString::from))
}
