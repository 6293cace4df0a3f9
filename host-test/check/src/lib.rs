//! Checks for authors and judges of components with this project's WIT: whatever the service and
//! the network do, a create is never sent twice unless the settings allow it, no answer is lost,
//! and the token stays in its header.
//!
//! A check needs only the component's file: the service is in memory ([`script`]), and the clock is
//! virtual.

mod batches;
mod bodies;
mod checks;
mod directed;
mod documents;
pub mod error_codes;
pub mod faults;
pub mod history;
pub mod operation;
mod properties;
pub mod report;
pub mod scenario;
pub mod script;
mod trace;

use self::report::{Report, Row};
use self::scenario::{Run, Scenario, Subject};
use crate::operation::Operation;
use anyhow::{Context, Error, Result};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use strum::VariantArray;

pub use self::checks::Check;
pub use self::properties::MEMORY_BYTES;

/// The maximum number of examples per finding.
const EXAMPLES: usize = 3;

/// The number of calls that the host had to end after which the check gives up.
const MAX_FAILURES: u64 = 3;

/// The origins of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, VariantArray)]
pub enum Source {
    /// Plays every error code of wasi:http at every moment.
    Faults,
    /// Plays every status.
    Statuses,
    /// Plays rate limits, late services, redirects, services that echo the token, and batches.
    Directed,
    /// Plays bodies and heads that are too large or malformed.
    Bodies,
    /// Plays random histories.
    Histories,
}

/// The extent of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checks to run; all of them if empty.
    pub only: Vec<Check>,
    /// The sources of the scenarios to play.
    pub sources: Vec<Source>,
    /// The functions to call; random histories use any.
    pub operations: Vec<Operation>,
    /// The number of random histories.
    pub histories: u64,
    /// The seed of the first history; the others follow it.
    pub seed: u64,
    /// Whether to look for a simpler history that fails like the first random one that failed. That
    /// takes as long as some hundred histories for each check that fails.
    pub simplify: bool,
}

impl Default for Options {
    /// Returns options for everything, and 10,000 histories.
    fn default() -> Self {
        Self {
            only: Vec::new(),
            sources: Source::VARIANTS.to_vec(),
            operations: Operation::ALL.to_vec(),
            histories: 10_000,
            seed: 1,
            simplify: true,
        }
    }
}

/// Checks a component that was loaded and therefore passes [`Check::Imports`]. Blocks the thread
/// and uses all processors; must not be called within an asynchronous runtime.
///
/// # Errors
/// Returns the host's errors; the component's errors are in the report.
pub fn check(subject: &Subject, options: &Options) -> Result<Report> {
    let tally = Tally::default();
    tally.add(Check::Imports, "the component", None, &[]);
    play(subject, &tally, options)?;
    let mut report = tally.into_report(options);
    if options.simplify && !report.gave_up {
        // Retrying a call that the host had to end costs too much.
        report.simplify(|check, seed| simplest_failing(subject, check, seed));
    }
    Ok(report)
}

/// Returns the report of a component that could not be loaded, with the loader's error: it fails
/// [`Check::Imports`], and nothing else is tried.
pub fn not_loaded(error: &Error, options: &Options) -> Report {
    let tally = Tally::default();
    let finding = format!("{error:#}");
    tally.add(Check::Imports, "the component", None, &[finding]);
    tally.into_report(options)
}

fn play(subject: &Subject, tally: &Tally, options: &Options) -> Result<()> {
    let plays = options.plays();
    let taken = AtomicUsize::new(0);
    let work = || -> Result<()> {
        let runtime = paused_runtime()?;
        while let Some(play) = plays.get(taken.fetch_add(1, Ordering::Relaxed)) {
            for scenario in play() {
                if tally.gave_up() {
                    return Ok(());
                }
                tally.judge(&runtime.block_on(scenario.run(subject)));
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a check panicked"))??;
        }
        Ok(())
    })
}

/// Returns a runtime in which time passes only while every task waits.
pub fn paused_runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .context("cannot make a runtime")
}

/// A group of scenarios, which are created when they are played, since some are large.
type Play = Box<dyn Fn() -> Vec<Scenario> + Sync>;

impl Options {
    fn plays(&self) -> Vec<Play> {
        let mut plays: Vec<Play> = Vec::new();
        for source in &self.sources {
            let of_operation = match source {
                Source::Faults => faults::scenarios,
                Source::Statuses => directed::statuses,
                Source::Directed => directed::scenarios,
                Source::Bodies => bodies::scenarios,
                Source::Histories => {
                    let seeds = self.seed..self.seed.saturating_add(self.histories);
                    plays
                        .extend(seeds.map(|seed| -> Play {
                            Box::new(move || vec![history::of_seed(seed)])
                        }));
                    continue;
                }
            };
            let operations = self.operations.iter().copied();
            plays.extend(
                operations.map(|operation| -> Play { Box::new(move || of_operation(operation)) }),
            );
        }
        plays
    }
}

/// The findings so far.
#[derive(Default)]
struct Tally {
    rows: Mutex<BTreeMap<Check, Row>>,
    gave_up: AtomicBool,
    memory_bytes: AtomicUsize,
}

impl Tally {
    fn judge(&self, run: &Run) {
        self.memory_bytes
            .fetch_max(run.memory_bytes, Ordering::Relaxed);
        let Scenario {
            name,
            operation,
            seed,
            ..
        } = &run.scenario;
        for (check, findings) in properties::judge(run).0 {
            let failed = self.add(check, &format!("{operation}, {name}"), *seed, &findings);
            if check == Check::Returns && failed >= MAX_FAILURES {
                self.gave_up.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of scenarios in which the component has failed the check.
    fn add(&self, check: Check, scenario: &str, seed: Option<u64>, findings: &[String]) -> u64 {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(check).or_insert_with(|| Row::of(check));
        row.runs += 1;
        if let Some(finding) = findings.first() {
            row.failed += 1;
            if row.examples.len() < EXAMPLES {
                row.examples.push(format!("{scenario}: {finding}"));
            }
            row.seed = [row.seed, seed].into_iter().flatten().min();
        }
        row.failed
    }

    fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    fn into_report(self, options: &Options) -> Report {
        let gave_up = self.gave_up();
        let rows = self.rows.into_inner();
        let mut rows = rows.unwrap_or_else(PoisonError::into_inner);
        let all = Check::VARIANTS.iter().copied();
        let wanted = all.filter(|check| options.only.is_empty() || options.only.contains(check));
        let rows = wanted.map(|check| rows.remove(&check).unwrap_or_else(|| Row::of(check)));
        // If only some sources are played, checks that were never tried are left out.
        let all_played = Source::VARIANTS
            .iter()
            .all(|source| options.sources.contains(source));
        let rows = rows.filter(|row| all_played || row.runs > 0 || !options.only.is_empty());
        Report {
            rows: rows.collect(),
            gave_up,
            memory_bytes: self.memory_bytes.into_inner(),
        }
    }
}

/// Returns the simplest history, derived from the one of this seed, that fails this check.
fn simplest_failing(subject: &Subject, check: Check, seed: u64) -> Result<Scenario> {
    let runtime = paused_runtime()?;
    Ok(history::simplest(seed, |scenario| {
        let judged = properties::judge(&runtime.block_on(scenario.run(subject)));
        judged
            .0
            .get(&check)
            .is_some_and(|findings| !findings.is_empty())
    }))
}
