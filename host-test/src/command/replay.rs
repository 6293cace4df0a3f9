//! A history that a client wrote, played again.

use anyhow::{Context, Result};
use clap::Args;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;
use voice_calling_host::client::replay::{Replayed, Replayer};

#[derive(Args)]
pub(crate) struct Replay {
    /// The history: what `--history` wrote, or a client of another language
    #[arg(value_name = "FILE")]
    history: PathBuf,
    /// The guest of steps that speaks JSON
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/voice-calling-sans-io.wasm"
    )]
    module: PathBuf,
}

pub(crate) fn run_replay(arguments: &Replay) -> Result<ExitCode> {
    let Replay { history, module } = arguments;
    let wasm = std::fs::read(module).with_context(|| {
        format!(
            "cannot read the module {} (`cargo xtask build` builds it)",
            module.display()
        )
    })?;
    let file = File::open(history).with_context(|| format!("cannot read {}", history.display()))?;
    let replayed = Replayer::new(&wasm)?
        .replay(BufReader::new(file))
        .with_context(|| format!("cannot replay {}", history.display()))?;
    let Replayed {
        instances,
        steps,
        difference,
    } = replayed;
    match difference {
        None => {
            println!("identical: instances: {instances}, steps: {steps}");
            Ok(ExitCode::SUCCESS)
        }
        Some(difference) => {
            println!("{difference}");
            Ok(ExitCode::FAILURE)
        }
    }
}
