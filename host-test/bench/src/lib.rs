//! For those who ask what the component costs: its speed in its host, beside a native client,
//! beside a component that somebody else would write, and beside engines that pool nothing, in one
//! run against one service on loopback.
//!
//! Every round measures each subject once, one after the other, each in a process of its own; a
//! ratio is made of what belongs to the same round: a machine that is slow for a while is slow for
//! all. A figure is the median over the rounds.

#[cfg(not(unix))]
compile_error!("the bench needs Unix: limits of open files, CPU clocks of processes");

mod crowd;
mod figure;
mod identity;
mod load;
mod machine;
mod native;
mod peer;
mod report;
mod sender;
mod service;
mod situation;
mod subject;

pub use crowd::{Crowd, Gathering, What, gather};
pub use figure::{Figure, Goal};
pub use machine::Machine;
pub use report::{Built, Report};
pub use service::{Service, serve};
pub use situation::{Measured, Situation};
pub use subject::Subject;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use figure::{CLAIMS, median};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use subject::{Files, Subjects, loading};
use voice_calling_host::{Allocation, CompiledCache, GuestKind, Loading, Plugin, Sandbox};

/// What a bench needs.
pub struct Options {
    /// The component's file, for WASI 0.2. The others lie beside it, an ending behind its name.
    pub component: PathBuf,
    /// The short form proves that the bench works. Its figures say nothing.
    pub is_short: bool,
    /// This program with the arguments of a command that calls [`serve`].
    pub serving: fn() -> Result<Command>,
    /// This program with the arguments of a command that calls [`gather`].
    pub gathering: fn(&Gathering) -> Result<Command>,
}

/// Measures everything, and says from time to time what it is at.
pub fn run(options: &Options, at: impl Fn(&str)) -> Result<Report> {
    let files = Files {
        component: options.component.clone(),
    };
    for (component, kind) in [
        (&files.component, GuestKind::V0_2),
        (&files.concurrent(), GuestKind::V0_3),
        (&files.steps(), GuestKind::Steps),
        (&files.peer(), GuestKind::V0_2),
    ] {
        subject::check(component, kind)?;
    }
    let most = crowd::allow_connections()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    let cache = CompiledCache::in_folder(folder.path())?;
    at("compiling");
    Subjects::compile(&files, &cache)?;
    let service = Service::start((options.serving)()?)?;
    let mut situations = Vec::new();
    for situation in situation::ALL {
        at(situation.name);
        let situation = match options.is_short {
            true => situation.shortened(),
            false => situation,
        };
        let left_out = crowd::why_not(situation.in_flight, most);
        let crowds = match (&left_out, situation.is_over_tls) {
            // Over TLS all share a connection.
            (None, _) | (_, true) => crowds(options, folder.path(), &service, &situation)?,
            (Some(_), false) => Vec::new(),
        };
        situations.push(Measured {
            situation,
            crowds,
            left_out,
        });
    }
    at("the files");
    let files = built(&files, &cache, options.is_short)?;
    let claims = CLAIMS.iter();
    let (measured, left_out): (Vec<_>, Vec<_>) = claims
        .map(|claim| claim.figure(&situations).ok_or(claim.title()))
        .partition(Result::is_ok);
    Ok(Report {
        machine: Machine::here(),
        is_short: options.is_short,
        figures: measured.into_iter().filter_map(Result::ok).collect(),
        left_out: left_out.into_iter().filter_map(Result::err).collect(),
        situations,
        files,
    })
}

/// Every subject in a situation, round by round.
fn crowds(
    options: &Options,
    cache: &Path,
    service: &Service,
    situation: &Situation,
) -> Result<Vec<(Subject, Vec<Crowd>)>> {
    let subjects = situation.subjects.iter();
    let mut crowds: Vec<_> = subjects.map(|subject| (*subject, Vec::new())).collect();
    for _ in 0..situation.rounds {
        for (subject, crowds) in &mut crowds {
            let (base_url, authority) = match situation.is_over_tls {
                true => (
                    service.tls_base_url(situation.delay_ms),
                    Some(BASE64.encode(service.authority())),
                ),
                false => (service.base_url(situation.delay_ms), None),
            };
            let crowd = crowd::gathered_by((options.gathering)(&Gathering {
                subject: *subject,
                component: options.component.clone(),
                cache: cache.to_owned(),
                base_url,
                authority,
                in_flight: situation.in_flight,
                what: situation.what,
            })?)?;
            // The last must be open before the first is answered.
            let all_open = crowd.wall_ms < 2.0 * situation.delay_ms as f64;
            ensure!(
                situation.what != What::AllOpen || options.is_short || all_open,
                "{subject}, {}: the first call was answered before the last was open",
                situation.name
            );
            crowds.push(crowd);
        }
    }
    Ok(crowds)
}

/// The files: how large they are, and how long it takes until there is code.
fn built(files: &Files, cache: &CompiledCache, is_short: bool) -> Result<Vec<Built>> {
    let rounds = if is_short { 1 } else { 3 };
    let time_ms = |load: &dyn Fn() -> Result<()>| -> Result<Option<f64>> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let began = Instant::now();
            load()?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        Ok(Some(median(&times)))
    };
    let of = |path: PathBuf, load: Option<fn(&Path, &Loading) -> Result<()>>| -> Result<Built> {
        let wasm = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&wasm)?;
        let kb = |bytes: &[u8]| bytes.len() as f64 / 1e3;
        let (compile_ms, load_ms) = match load {
            Some(load) => (
                time_ms(&|| load(&path, &Loading::default()))?,
                time_ms(&|| load(&path, &loading(Allocation::OnDemand, cache)))?,
            ),
            None => (None, None),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Built {
            name: name.into_owned(),
            kb: kb(&wasm),
            gzip_kb: kb(&gzip.finish()?),
            compile_ms,
            load_ms,
        })
    };
    let plugin: fn(&Path, &Loading) -> Result<()> = |path, loading| {
        Plugin::load_with(path, loading)?;
        Ok(())
    };
    let sandbox: fn(&Path, &Loading) -> Result<()> = |path, loading| {
        Sandbox::load(path, loading)?;
        Ok(())
    };
    Ok(vec![
        of(files.component.clone(), Some(plugin))?,
        of(files.concurrent(), Some(plugin))?,
        of(files.steps(), Some(plugin))?,
        of(files.sans_io(), None)?,
        of(files.peer(), Some(sandbox))?,
    ])
}
