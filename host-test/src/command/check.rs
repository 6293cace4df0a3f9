//! The command `check`.

use crate::command::component::{DEFAULT, loading};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use voice_calling_check as check;
use voice_calling_check::scenario::Subject;
use voice_calling_core::settings::PREFIX;
use voice_calling_host::Plugin;

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
    /// Prints and plays only the history of this seed; with --histories, plays that many from it
    #[arg(long)]
    seed: Option<u64>,
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
    };
    if let (Some(seed), None) = (arguments.seed, arguments.histories) {
        eprintln!("{:#?}", check::history::of_seed(seed, &options.operations));
    }
    let path = arguments.component.display();
    let wasm = std::fs::read(&arguments.component).with_context(|| {
        format!("cannot read the component {path} (`cargo xtask build` builds it)")
    })?;
    let report = match Plugin::compile_with(&wasm, &loading()) {
        Err(error) => check::not_loaded(&error, &options),
        Ok(plugin) => {
            let subject = Subject {
                environment: arguments.environment,
                ..plugin.into()
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
