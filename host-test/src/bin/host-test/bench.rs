//! Figures, and pictures of them.

use crate::Component;
use anyhow::{Context, Result};
use clap::Args;
use host_test::bench::{self, Options, Who};
use indicatif::ProgressBar;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    component: Component,
    /// A few calls of each kind, to see that the bench works; its figures say nothing
    #[arg(long)]
    short: bool,
    /// A report for machines
    #[arg(long)]
    json: bool,
    /// Where the pictures go, latencies.svg and growth.svg
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    plots: PathBuf,
}

/// What a part of the bench gets that runs in a process of its own.
#[derive(Args)]
pub(crate) struct Crowd {
    #[command(flatten)]
    component: Component,
    #[arg(long)]
    native: bool,
    #[arg(long)]
    cache: PathBuf,
    #[arg(long)]
    base_url: String,
    #[arg(long)]
    calls: usize,
}

pub(crate) async fn run_bench(arguments: Bench) -> Result<()> {
    let options = Options {
        component: arguments.component.component,
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
    let Crowd {
        component,
        native,
        cache,
        base_url,
        calls,
    } = arguments;
    let who = match native {
        true => Who::Native,
        false => Who::Component,
    };
    let crowd = bench::gather(who, &component.component, &cache, &base_url, calls).await?;
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

fn gathering(
    who: Who,
    component: &Path,
    cache: &Path,
    base_url: &str,
    calls: usize,
) -> Result<Command> {
    let mut program = this_program("bench-crowd")?;
    if who == Who::Native {
        program.arg("--native");
    }
    program.arg("--component").arg(component);
    program.arg("--cache").arg(cache);
    program.args(["--base-url", base_url, "--calls", &calls.to_string()]);
    Ok(program)
}
