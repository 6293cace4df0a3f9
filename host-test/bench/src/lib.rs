//! For those who ask what the component costs: its speed in its host, beside a native client and
//! beside engines that pool nothing, in one run against one service on loopback.
//!
//! Every round measures each subject once, one after the other, and a ratio is made of what
//! belongs to the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

#[cfg(not(unix))]
compile_error!("the bench needs Unix: limits of open files, CPU clocks of processes");

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
mod situation;
mod subject;

pub use crowd::{Crowd, Gathering, Who, gather};
pub use figure::{Figure, Goal};
pub use machine::Machine;
pub use report::{Built, Growth, Measure, Report};
pub use service::{Service, serve};
pub use situation::{Outcome, Situation};

use anyhow::{Context, Result, ensure};
use measure::{Extent, Stage};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use subject::Subjects;
use voice_calling_host::load::cache::CompiledCache;
use voice_calling_host::{GuestKind, Trust};

/// What a bench needs.
pub struct Options {
    /// The component's file, for WASI 0.2. Those for WASI 0.3 and for steps lie beside it, `-p3`
    /// and `-steps` behind their names.
    pub component: PathBuf,
    /// The short form proves that the bench works. Its figures say nothing.
    pub is_short: bool,
    /// This program with the arguments of a command that calls [`serve`].
    pub serving: fn() -> Result<Command>,
    /// This program with the arguments of a command that calls [`gather`].
    pub gathering: fn(&Gathering) -> Result<Command>,
}

/// Measures everything, and says from time to time what it is at.
pub async fn run(options: &Options, at: impl Fn(&str)) -> Result<Report> {
    let most = crowd::allow_connections()?;
    let extent = match options.is_short {
        true => Extent {
            rounds: 1,
            divisor: 250,
            crowd: most.min(100),
            in_flight: &[100],
        },
        false => Extent {
            rounds: 7,
            divisor: 1,
            crowd: most.min(10_000),
            in_flight: &[64, 1_000, 10_000],
        },
    };
    for (component, kind) in [
        (&options.component, GuestKind::V0_2),
        (
            &subject::beside(&options.component, subject::CONCURRENT),
            GuestKind::V0_3,
        ),
        (
            &subject::beside(&options.component, subject::STEPS),
            GuestKind::Steps,
        ),
    ] {
        check_component(component, kind)?;
    }
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
        left_out: Vec::new(),
        measures: Vec::new(),
        in_flight: Vec::new(),
        batches: Vec::new(),
        situations: Vec::new(),
        components: Vec::new(),
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
    at("the costs of calls in flight");
    measure::growth(&stage, extent, &mut report).await?;
    at("thousands of calls in flight, on an instance each and on one");
    let crowds = measure::Crowds {
        stage: &stage,
        options,
        cache: folder.path(),
        extent,
    };
    measure::situations(&crowds, &mut report)?;
    at("the memory of thousands of calls");
    measure::memory(&crowds, &mut report)?;
    at("both components");
    measure::components(&stage, extent, &mut report).await?;
    Ok(report)
}

fn check_component(component: &Path, kind: GuestKind) -> Result<()> {
    let wasm = fs::read(component).with_context(|| {
        format!(
            "cannot read {}, the component for {kind} (`cargo xtask build` makes all, and the bench \
             needs each, one beside the other)",
            component.display()
        )
    })?;
    let found = GuestKind::of(&wasm);
    ensure!(
        found == kind,
        "{} is a component for {found}, and must be one for {kind}: the bench is given that \
         for WASI 0.2, and finds the others beside it",
        component.display()
    );
    Ok(())
}
