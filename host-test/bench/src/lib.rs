//! The cost of the component: its speed in its host, compared with a native client, with the client
//! for Rust, and with a component that was written with wstd, in one run against one service on
//! loopback.
//!
//! Every round measures each subject once, one after another, each in its own process. Ratios
//! compare results of the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

#[cfg(not(unix))]
compile_error!("the bench needs Unix: limits of open files, CPU clocks of processes");

mod component;
mod load;
mod native;
mod report;
mod service;
mod situation;
mod subject;

pub use load::{Calls, Load, Measurement, measure};
pub use subject::Subject;

use anyhow::{Context, Result, ensure};
use report::Report;
use service::Service;
use situation::{Results, Situation};
use std::path::Path;

/// Measures everything, reports its progress to `at`, and returns the tables of docs/speed.md. The
/// file is the component for WASI 0.2; the others are beside it, with a suffix to its name. The
/// short form proves that the bench works; its figures mean nothing.
///
/// Must be called within a multi-threaded runtime, of which it blocks one thread. The calling
/// program needs a command `bench-load`, which passes its argument to [`measure`] and prints the
/// result, both as JSON.
pub fn run(component: &Path, is_short: bool, at: impl Fn(&str)) -> Result<String> {
    let most = load::allow_connections()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    // wasmtime's cache has to be alone in its folder.
    let cache = folder.path().join("compiled");
    at("compiling");
    subject::compile(component, &cache)?;
    let mut results = Vec::new();
    for situation in situation::ALL {
        at(situation.name);
        let situation = match is_short {
            true => situation.shortened(),
            false => situation,
        };
        let in_flight = situation.in_flight;
        ensure!(
            in_flight <= most,
            "{in_flight} calls in flight: the limit of open files allows {most}"
        );
        results.push(measured(component, &cache, situation, is_short)?);
    }
    Ok(Report { is_short, results }.to_string())
}

/// Measures every subject in a situation, round by round.
fn measured(
    component: &Path,
    cache: &Path,
    situation: Situation,
    is_short: bool,
) -> Result<Results> {
    let mut subjects: Vec<_> = situation.subjects.iter().map(|it| (*it, vec![])).collect();
    for _ in 0..situation.rounds {
        for (subject, rounds) in &mut subjects {
            let service = Service::start(situation.delay)?;
            let measured = load::in_own_process(&Load {
                subject: *subject,
                component: component.to_owned(),
                cache: cache.to_owned(),
                base_url: service.base_url(),
                in_flight: situation.in_flight,
                calls: situation.calls,
            })?;
            // The last call must be open before the first is answered.
            let all_open = measured.wall_ms < 2e3 * situation.delay.as_secs_f64();
            ensure!(
                situation.calls != Calls::AllOpen || is_short || all_open,
                "{subject}, {}: the first call was answered before the last was open",
                situation.name
            );
            rounds.push(measured);
        }
    }
    Ok(Results {
        situation,
        subjects,
    })
}
