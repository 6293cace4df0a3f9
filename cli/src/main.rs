//! The command `voice-calling`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(voice_calling_cli::run(std::env::args_os().skip(1)))
}
