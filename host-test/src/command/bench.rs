//! Figures, and pictures of them.

use anyhow::{Context, Result};
use clap::Args;
use indicatif::ProgressBar;
use std::fs;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use voice_calling_bench as bench;
use voice_calling_bench::{Gathering, Options};

#[derive(Args)]
pub(crate) struct Bench {
    /// The component for WASI 0.2; those for WASI 0.3 and for steps lie beside it, with -p3 and
    /// -steps behind its name
    #[arg(long, value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
    /// A few calls of each kind, to see that the bench works; its figures say nothing
    #[arg(long)]
    short: bool,
    /// A report for machines
    #[arg(long)]
    json: bool,
    /// Where the pictures go: latencies.svg, growth.svg, calls-per-second-….svg
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    plots: PathBuf,
}

/// What a part of the bench gets that runs in a process of its own.
#[derive(Args)]
pub(crate) struct Crowd {
    /// As JSON.
    gathering: String,
}

pub(crate) async fn run_bench(arguments: Bench) -> Result<()> {
    let options = Options {
        component: arguments.component,
        is_short: arguments.short,
        serving,
        gathering,
    };
    let progress = match std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    progress.enable_steady_tick(Duration::from_millis(200));
    let report = bench::run(&options, |what| progress.set_message(what.to_owned())).await?;
    progress.finish_and_clear();
    let plots = &arguments.plots;
    fs::create_dir_all(plots)
        .with_context(|| format!("cannot make the folder {}", plots.display()))?;
    report.draw(plots)?;
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("{report}\n\npictures: {}", plots.display()),
    }
    Ok(())
}

pub(crate) async fn run_crowd(arguments: Crowd) -> Result<()> {
    let gathering: Gathering = serde_json::from_str(&arguments.gathering)?;
    let crowd = bench::gather(gathering).await?;
    println!("{}", serde_json::to_string(&crowd)?);
    Ok(())
}

fn this_program(command: &str) -> Result<Command> {
    let mut program = Command::new(std::env::current_exe()?);
    program.arg(command);
    Ok(program)
}

fn serving() -> Result<Command> {
    this_program("bench-service")
}

fn gathering(gathering: &Gathering) -> Result<Command> {
    let mut program = this_program("bench-crowd")?;
    program.arg(serde_json::to_string(gathering)?);
    Ok(program)
}
