//! `voice-calling-mock`: the mock service as a program of its own, shipped in releases.

#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;
use voice_calling_mock_server::{Mock, serve_mock};

/// The voice-calling service on your own machine: no real phone rings
///
/// It can run for a long time: it keeps the newest 5,000 finished dockets and direct calls, and as
/// many requests and agents. An older one is a 404.
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
