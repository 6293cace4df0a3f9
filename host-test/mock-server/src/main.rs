//! `voice-calling-mock`: the mock service as a program of its own, shipped in releases.

#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;
use voice_calling_mock_server::{Mock, serve_mock};

/// The voice-calling service on your own machine: no real phone rings
///
/// It keeps every docket and call; when they have taken 128 MiB, creations are answered with 503.
#[derive(Parser)]
#[command(name = "voice-calling-mock", version)]
struct CommandLine {
    #[command(flatten)]
    mock: Mock,
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve_mock(CommandLine::parse().mock).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
