//! The cost of the client: its speed as a component in its host, and as the client for Rust,
//! compared with other clients of the same kinds, in one run against one service on loopback.
//!
//! Every round measures each subject once, one after another, each in its own process. Ratios
//! compare results of the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

mod component;
mod goal;
mod load;
mod native;
mod report;
mod service;
mod subject;
mod with_reqwest;

use anyhow::{Context, Result};
use clap::Parser;
use load::{Load, measure};
use report::Results;
use service::Service;
use std::path::{Path, PathBuf};
use std::time::Duration;
use strum::VariantArray;
use subject::Subject;

/// A call allocates some hundred times in the host; the system's allocator is slow at that with
/// many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of rounds, which is odd.
const ROUNDS: usize = 5;

const ONE: &str = "one call after another";
const MANY: &str = "64 in flight";
const MANY_SLOW: &str = "64 in flight, 20 ms";

/// The kinds of calls: a name, the number in flight, the milliseconds that the service takes for each
/// call, and the number of calls that are measured.
const SITUATIONS: [(&str, usize, u64, usize); 3] = [
    (ONE, 1, 0, 2_000),
    (MANY, 64, 0, 10_000),
    (MANY_SLOW, 64, 20, 3_200),
];

/// Measures the client beside others of its kinds, on loopback
///
/// `cargo xtask bench` builds the components first. Runs for some minutes; other work on the machine
/// spoils the figures.
#[derive(Parser)]
#[command(version)]
struct CommandLine {
    /// The component for WASI 0.2; the others are beside it, with -p3 and -wstd behind its name
    #[arg(long, value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
    /// A few calls of each kind, to see that the bench works; the figures are not meaningful
    #[arg(long)]
    short: bool,
    /// Makes these calls, and prints what they cost, both as JSON
    #[arg(long, hide = true)]
    load: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = CommandLine::parse();
    if let Some(load) = arguments.load {
        let measured = measure(&serde_json::from_str(&load)?).await?;
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print!("{}", run(&arguments.component, arguments.short)?);
    }
    Ok(())
}

/// Measures everything, and returns the tables of docs/speed.md. Blocks its thread; the service runs
/// on the others of the runtime.
fn run(component: &Path, is_short: bool) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    // wasmtime's cache has to be alone in its folder.
    let cache = folder.path().join("compiled");
    eprintln!("bench: compiling");
    subject::compile(component, &cache)?;
    let mut measured = Vec::new();
    for (situation, in_flight, delay_ms, calls) in SITUATIONS {
        eprintln!("bench: {situation}");
        let mut rounds: Vec<_> = Subject::VARIANTS.iter().map(|it| (*it, vec![])).collect();
        for _ in 0..if is_short { 1 } else { ROUNDS } {
            for (subject, measured) in &mut rounds {
                let service = Service::start(Duration::from_millis(delay_ms))?;
                measured.push(load::in_own_process(&Load {
                    subject: *subject,
                    component: component.to_owned(),
                    cache: cache.clone(),
                    base_url: service.base_url(),
                    in_flight,
                    calls: if is_short { 100 } else { calls },
                })?);
            }
        }
        measured.push(Results { situation, rounds });
    }
    let caution = match is_short {
        true => "short form: these figures are not meaningful\n\n",
        false => "",
    };
    let (figures, goals) = (report::table(&measured), goal::table(&measured));
    Ok(format!("{caution}{figures}{goals}"))
}
