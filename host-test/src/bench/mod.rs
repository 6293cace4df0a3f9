//! How fast the component is in the harness, beside a native client and beside engines that
//! pool nothing, in one run against one service on loopback.
//!
//! Every round measures each subject once, one after the other, and a ratio is made of what
//! belongs to the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

mod crowd;
mod figure;
mod identity;
mod load;
mod machine;
mod measure;
mod native;
mod plot;
mod report;
mod sender;
mod service;
mod subject;

pub use crowd::{Crowd, Who};
pub use figure::{Figure, Goal};
pub use machine::Machine;
pub use report::{Growth, Measure, Report};
pub use service::{Service, serve};

use crate::Trust;
use crate::cache::CompiledCache;
use anyhow::{Context, Result};
use measure::{Extent, Stage};
use std::path::{Path, PathBuf};
use std::process::Command;
use subject::Subjects;

/// What a bench needs.
pub struct Options {
    /// The component's file.
    pub component: PathBuf,
    /// The short form proves that the bench works. Its figures say nothing.
    pub is_short: bool,
    /// This program with the arguments of a command that calls [`serve`].
    pub serving: fn() -> Result<Command>,
    /// This program with the arguments of a command that calls [`gather`].
    pub gathering: fn(Who, &Path, &Path, &str, usize) -> Result<Command>,
}

/// Measures everything, and says from time to time what it is at.
pub async fn run(options: &Options, at: impl Fn(&str)) -> Result<Report> {
    let extent = match options.is_short {
        true => Extent {
            rounds: 1,
            divisor: 250,
            crowd: 100,
        },
        false => Extent {
            rounds: 7,
            divisor: 1,
            crowd: 10_000,
        },
    };
    crowd::allow_connections(extent.crowd)?;
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    let service = Service::start((options.serving)()?)?;
    let stage = Stage {
        subjects: Subjects {
            component: options.component.clone(),
            cache: CompiledCache::in_folder(folder.path())?,
            trust: Trust::Only(vec![service.authority().clone()]),
        },
        service,
    };
    let mut report = Report {
        machine: Machine::here(),
        is_short: options.is_short,
        figures: Vec::new(),
        measures: Vec::new(),
        in_flight: Vec::new(),
        batches: Vec::new(),
    };
    at("64 calls in flight");
    measure::throughput(&stage, extent, &mut report).await?;
    at("one call after another");
    measure::latency(&stage, extent, &mut report).await?;
    at("pooled connections");
    measure::connections(&stage, extent, &mut report).await?;
    at("instances");
    measure::instances(&stage, extent, &mut report).await?;
    at("batches");
    measure::batches(&stage, extent, &mut report).await?;
    at("the start");
    measure::start(&stage, extent, &mut report).await?;
    at("thousands of calls in flight");
    measure::crowd(&stage, options, folder.path(), extent, &mut report)?;
    measure::growth(&stage, extent, &mut report).await?;
    measure::size(&stage, &mut report)?;
    Ok(report)
}

/// Makes the calls of a crowd, in a process that does nothing else.
pub async fn gather(
    who: Who,
    component: &Path,
    cache: &Path,
    base_url: &str,
    calls: usize,
) -> Result<Crowd> {
    let subjects = Subjects {
        component: component.to_owned(),
        cache: CompiledCache::in_folder(cache)?,
        trust: Trust::Public,
    };
    crowd::gather(&subjects, who, base_url, calls).await
}
