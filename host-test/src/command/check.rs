//! The command `check`.

use crate::command::component::{DEFAULT, loading};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use voice_calling_check as check;
use voice_calling_check::scenario::Subject;
use voice_calling_core::settings::PREFIX;
use voice_calling_host::{Allocation, Loading, Plugin};

/// The size of the pool; a thread of the check plays one scenario at a time.
const POOLED_INSTANCES: u32 = 256;

#[derive(Args)]
pub(crate) struct Check {
    /// The component
    #[arg(value_name = "FILE", default_value = DEFAULT)]
    component: PathBuf,
    /// Only these checks, separated by commas
    #[arg(long, value_enum, value_name = "CHECKS", value_delimiter = ',')]
    only: Vec<check::Check>,
    /// Only these scenarios, separated by commas
    #[arg(long, value_enum, value_name = "SOURCES", value_delimiter = ',')]
    scenarios: Vec<check::Source>,
    /// How many random histories [default: 10000; with --seed 1]
    #[arg(long, value_name = "COUNT")]
    histories: Option<u64>,
    /// Plays only the history of this seed; with --histories, that many from it
    #[arg(long)]
    seed: Option<u64>,
    /// Each scenario meets an instance that has served a call before, with memory from a pool
    #[arg(long)]
    reused: bool,
    /// A report for machines
    #[arg(long)]
    json: bool,
    /// An extra variable for the component
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
}

fn variable(text: &str) -> Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .context("found no NAME=VALUE; spaces around the `=` are not allowed")?;
    if name.starts_with(PREFIX) {
        bail!("{name} is not allowed: the check sets it in each scenario");
    }
    Ok((name.to_owned(), value.to_owned()))
}

pub(crate) fn run_check(arguments: Check) -> Result<ExitCode> {
    let usual = check::Options::default();
    let sources = match (arguments.scenarios.is_empty(), arguments.seed) {
        (false, _) => arguments.scenarios,
        (true, Some(_)) => vec![check::Source::Histories],
        (true, None) => usual.sources,
    };
    let histories = match arguments.seed {
        Some(_) => 1,
        None => usual.histories,
    };
    let options = check::Options {
        only: arguments.only,
        sources,
        operations: usual.operations,
        histories: arguments.histories.unwrap_or(histories),
        seed: arguments.seed.unwrap_or(usual.seed),
        simplify: true,
    };
    let path = arguments.component.display();
    let wasm = std::fs::read(&arguments.component).with_context(|| {
        format!("cannot read the component {path} (`cargo xtask build` builds it)")
    })?;
    let pooling = Allocation::Pooling {
        instances: POOLED_INSTANCES,
    };
    let loading = Loading {
        allocation: match arguments.reused {
            true => pooling,
            false => Allocation::OnDemand,
        },
        ..loading()
    };
    let loaded = Plugin::compile_with(&wasm, &loading);
    let report = match loaded {
        Err(error) => check::not_loaded(&error, &options),
        Ok(plugin) => {
            let subject = Subject {
                plugin,
                environment: arguments.environment,
                is_reused: arguments.reused,
            };
            check::check(&subject, &options)?
        }
    };
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("{report}"),
    }
    Ok(match report.passed() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
