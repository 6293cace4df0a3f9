//! The cost of the component: its speed in its host, compared with a native client and with the
//! client for Rust, in one run against one service on loopback.
//!
//! Every round measures each subject once, one after another, each in its own process. Ratios
//! compare results of the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

#[cfg(not(unix))]
compile_error!("the bench needs Unix: CPU clocks of processes");

mod component;
mod load;
mod native;
mod report;
mod service;
mod subject;

pub use load::{Load, Measurement, measure};
pub use subject::Subject;

use anyhow::{Context, Result};
use report::{Results, table};
use service::Service;
use std::path::Path;
use std::time::Duration;
use strum::VariantArray;

/// The number of rounds.
const ROUNDS: usize = 5;

/// A kind of calls.
struct Situation {
    name: &'static str,
    in_flight: usize,
    /// The time that the service takes for each call.
    delay: Duration,
    /// The number of calls that are measured.
    calls: usize,
}

const SITUATIONS: [Situation; 3] = [
    Situation {
        name: "one call after another",
        in_flight: 1,
        delay: Duration::ZERO,
        calls: 2_000,
    },
    Situation {
        name: "64 in flight",
        in_flight: 64,
        delay: Duration::ZERO,
        calls: 10_000,
    },
    Situation {
        name: "64 in flight, 20 ms",
        in_flight: 64,
        delay: Duration::from_millis(20),
        calls: 3_200,
    },
];

/// Measures everything, reports its progress to `at`, and returns the tables of docs/speed.md. The
/// file is the component for WASI 0.2; the one for WASI 0.3 is beside it, with `-p3` behind its
/// name. The short form proves that the bench works; its figures mean nothing.
///
/// Must be called within a multi-threaded runtime, of which it blocks one thread. The calling
/// program needs a command `bench-load`, which passes its argument to [`measure`] and prints the
/// result, both as JSON.
pub fn run(component: &Path, is_short: bool, at: impl Fn(&str)) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    // wasmtime's cache has to be alone in its folder.
    let cache = folder.path().join("compiled");
    at("compiling");
    subject::compile(component, &cache)?;
    let mut tables = match is_short {
        true => "short form: these figures are not meaningful\n\n".to_owned(),
        false => String::new(),
    };
    for situation in &SITUATIONS {
        at(situation.name);
        let mut results: Vec<_> = Subject::VARIANTS.iter().map(|it| (*it, vec![])).collect();
        for _ in 0..if is_short { 1 } else { ROUNDS } {
            for (subject, rounds) in &mut results {
                let service = Service::start(situation.delay)?;
                rounds.push(load::in_own_process(&Load {
                    subject: *subject,
                    component: component.to_owned(),
                    cache: cache.clone(),
                    base_url: service.base_url(),
                    in_flight: situation.in_flight,
                    calls: if is_short { 100 } else { situation.calls },
                })?);
            }
        }
        tables.push_str(&table(situation.name, &Results(results)));
    }
    Ok(tables)
}
