//! The command `bench`.

use anyhow::Result;
use clap::Args;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;
use voice_calling_bench as bench;
use voice_calling_bench::Gathering;

#[derive(Args)]
pub(crate) struct Bench {
    /// The component for WASI 0.2; the others lie beside it, with -p3, -sans-io and
    /// -peer behind its name
    #[arg(long, value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
    /// A few calls of each kind, to see that the bench works; the figures are not meaningful
    #[arg(long)]
    short: bool,
}

/// What a part of the bench gets that runs in a process of its own.
#[derive(Args)]
pub(crate) struct Crowd {
    /// As JSON.
    gathering: String,
}

pub(crate) fn run_bench(arguments: Bench) -> Result<()> {
    let progress = match std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    progress.enable_steady_tick(Duration::from_millis(200));
    let report = bench::run(&arguments.component, arguments.short, |what| {
        progress.set_message(what.to_owned());
    })?;
    progress.finish_and_clear();
    println!("{report}");
    Ok(())
}

pub(crate) async fn run_crowd(arguments: Crowd) -> Result<()> {
    let gathering: Gathering = serde_json::from_str(&arguments.gathering)?;
    let crowd = bench::gather(gathering).await?;
    println!("{}", serde_json::to_string(&crowd)?);
    Ok(())
}
