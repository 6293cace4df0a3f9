//! The command `bench`.

use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use voice_calling_bench as bench;

#[derive(Args)]
pub(crate) struct Bench {
    /// The component for WASI 0.2; the one for WASI 0.3 is beside it, with -p3 behind its name
    #[arg(long, value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
    /// A few calls of each kind, to see that the bench works; the figures are not meaningful
    #[arg(long)]
    short: bool,
}

/// A load of the bench, which runs in a process of its own.
#[derive(Args)]
pub(crate) struct Load {
    /// As JSON.
    load: String,
}

pub(crate) fn run_bench(arguments: Bench) -> Result<()> {
    let report = bench::run(&arguments.component, arguments.short, |what| {
        eprintln!("bench: {what}");
    })?;
    print!("{report}");
    Ok(())
}

pub(crate) async fn run_load(arguments: Load) -> Result<()> {
    let measured = bench::measure(&serde_json::from_str(&arguments.load)?).await?;
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}
