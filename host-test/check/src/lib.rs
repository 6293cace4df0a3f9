//! Checks for authors and judges of components with this project's WIT: whatever the service and
//! the network do, a create is never sent twice unless the settings allow it, no answer is lost,
//! and the token stays in its header.
//!
//! A check needs only the component's file: the service is in memory ([`script`]), and the clock is
//! virtual.

// Support of tests, which print none of it.
#![expect(missing_debug_implementations)]

mod checks;
pub mod error_codes;
mod faults;
pub mod history;
mod limits;
pub mod operation;
mod properties;
pub mod report;
pub mod scenario;
pub mod script;
mod trace;

use self::report::{Example, Report, Row};
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
    /// Plays answers and batches that are too large, and calls that must be refused.
    Limits,
    /// Plays random histories: any status, rate limits, late services, redirects, services that echo
    /// the token, and batches.
    Histories,
}

/// The extent of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checks to run; all of them if empty.
    pub only: Vec<Check>,
    /// The sources of the scenarios to play.
    pub sources: Vec<Source>,
    /// The functions to call.
    pub operations: Vec<Operation>,
    /// The number of random histories.
    pub histories: u64,
    /// The seed of the first history; the others follow it.
    pub seed: u64,
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
    tally.add(Check::Imports, None);
    play(subject, &tally, options)?;
    Ok(tally.into_report(options))
}

/// Returns the report of a component that could not be loaded, with the loader's error: it fails
/// [`Check::Imports`], and nothing else is tried.
pub fn not_loaded(error: &Error, options: &Options) -> Report {
    let tally = Tally::default();
    let example = Example {
        scenario: "the component".to_owned(),
        found: format!("{error:#}"),
        returned: String::new(),
        requests: Vec::new(),
    };
    tally.add(Check::Imports, Some(example));
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
        let mut joined = workers.into_iter().map(|worker| worker.join());
        joined.try_for_each(|ended| ended.expect("no check panics"))
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
type Play<'a> = Box<dyn Fn() -> Vec<Scenario> + Sync + 'a>;

impl Options {
    fn plays(&self) -> Vec<Play<'_>> {
        let mut plays: Vec<Play<'_>> = Vec::new();
        for source in &self.sources {
            let of_operation = match source {
                Source::Faults => faults::scenarios,
                Source::Limits => limits::scenarios,
                Source::Histories => {
                    let seeds = self.seed..self.seed.saturating_add(self.histories);
                    plays.extend(seeds.map(|seed| -> Play<'_> {
                        Box::new(move || vec![history::of_seed(seed, &self.operations)])
                    }));
                    continue;
                }
            };
            let operations = self.operations.iter().copied();
            plays.extend(
                operations
                    .map(|operation| -> Play<'_> { Box::new(move || of_operation(operation)) }),
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
            name, operation, ..
        } = &run.scenario;
        for (check, findings) in properties::judge(run).0 {
            let example = findings.into_iter().next().map(|found| Example {
                scenario: format!("{operation}, {name}"),
                found,
                returned: properties::returned(run),
                requests: run.sent.iter().map(properties::describe).collect(),
            });
            let failed = self.add(check, example);
            if check == Check::Returns && failed >= MAX_FAILURES {
                self.gave_up.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of scenarios in which the component has failed the check.
    fn add(&self, check: Check, failure: Option<Example>) -> u64 {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.entry(check).or_insert_with(|| Row::of(check));
        row.add(failure.is_some());
        if row.examples.len() < EXAMPLES {
            row.examples.extend(failure);
        }
        row.failed
    }

    fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    fn into_report(self, options: &Options) -> Report {
        let given_up = self.gave_up().then(|| {
            format!(
                "the host had to end {MAX_FAILURES} calls, for the reasons below `returns`; \
                 until that is passed, other checks cannot be judged"
            )
        });
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
            given_up,
            memory_bytes: self.memory_bytes.into_inner(),
        }
    }
}
