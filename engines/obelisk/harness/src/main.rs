//! voice-calling on the workflow engine Obelisk, shown and measured. `cargo xtask obelisk` says
//! by variables where the engine and the folder are that is deployed.

use anyhow::Result;
use clap::Parser;
use obelisk_harness::{story, throughput};

#[derive(Parser)]
#[command(about = "voice-calling on Obelisk: shown on loopback, or measured")]
enum Command {
    /// Dockets that survive the death of the engine
    Story,
    /// Dockets per second of one node and of two
    Throughput,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Story => story::tell().await,
        Command::Throughput => throughput::measure().await,
    }
}
