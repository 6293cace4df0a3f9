//! The cost of the component: its speed in its host, compared with a native client, with a
//! component that was written with wstd, and with engines without pools, in one run against one
//! service on loopback.
//!
//! Every round measures each subject once, one after another, each in its own process. Ratios
//! compare results of the same round: a machine that is slow for a while is slow for all. A figure
//! is the median over the rounds.

#[cfg(not(unix))]
compile_error!("the bench needs Unix: limits of open files, CPU clocks of processes");

mod component;
mod crowd;
mod figure;
mod native;
mod report;
mod sender;
mod service;
mod situation;
mod subject;

pub use crowd::{Crowd, Gathering, What, gather};
pub use report::{Built, Report};
pub use situation::{Measured, Situation};
pub use subject::Subject;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use report::median;
use service::Service;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use subject::{beside, loading};
use voice_calling_host::{Allocation, CompiledCache, Loading, Plugin, Sandbox};

/// Measures everything and reports its progress to `at`. The file is the component for WASI 0.2;
/// the others are beside it, with a suffix to its name. The short form proves that the bench works;
/// its figures mean nothing.
///
/// Must be called within a multi-threaded runtime, of which it blocks one thread, and by a program
/// whose command `bench-crowd` calls [`gather`] with its argument and prints the result, both as
/// JSON.
pub fn run(component: &Path, is_short: bool, at: impl Fn(&str)) -> Result<Report> {
    let most = crowd::allow_connections()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the cache")?;
    let cache = CompiledCache::in_folder(folder.path())?;
    at("compiling");
    subject::compile(component, &cache)?;
    let service = Service::start()?;
    let mut situations = Vec::new();
    for mut situation in situation::ALL {
        at(situation.name);
        if is_short {
            situation = situation.shortened();
        }
        // Over TLS all calls share a connection.
        let left_out = (situation.in_flight > most && !situation.is_over_tls)
            .then(|| format!("left out: the limit of open files allows {most} calls"));
        situations.push(Measured {
            situation,
            crowds: match left_out {
                Some(_) => Vec::new(),
                None => crowds(component, folder.path(), &service, &situation, is_short)?,
            },
            left_out,
        });
    }
    at("the files");
    Ok(Report {
        machine: report::machine(),
        is_short,
        files: built(component, &cache, is_short)?,
        situations,
    })
}

/// Measures every subject in a situation, round by round.
fn crowds(
    component: &Path,
    cache: &Path,
    service: &Service,
    situation: &Situation,
    is_short: bool,
) -> Result<Vec<(Subject, Vec<Crowd>)>> {
    let subjects = situation.subjects.iter();
    let mut crowds: Vec<_> = subjects.map(|subject| (*subject, Vec::new())).collect();
    for _ in 0..situation.rounds {
        for (subject, crowds) in &mut crowds {
            let (base_url, authority) = match situation.is_over_tls {
                true => (
                    service.tls_base_url(situation.delay_ms),
                    Some(service.authority.clone()),
                ),
                false => (service.base_url(situation.delay_ms), None),
            };
            let crowd = crowd::gathered_by(&Gathering {
                subject: *subject,
                component: component.to_owned(),
                cache: cache.to_owned(),
                base_url,
                authority,
                in_flight: situation.in_flight,
                what: situation.what,
            })?;
            // The last call must be open before the first is answered.
            let all_open = crowd.wall_ms < 2.0 * situation.delay_ms as f64;
            ensure!(
                situation.what != What::AllOpen || is_short || all_open,
                "{subject}, {}: the first call was answered before the last was open",
                situation.name
            );
            crowds.push(crowd);
        }
    }
    Ok(crowds)
}

/// Measures the files: their sizes, and the times to compile and to load them.
fn built(component: &Path, cache: &CompiledCache, is_short: bool) -> Result<Vec<Built>> {
    let rounds = if is_short { 1 } else { 3 };
    type Load = fn(&Path, &Loading) -> Result<()>;
    let plugin: Load = |path, loading| Plugin::load_with(path, loading).map(drop);
    let sandbox: Load = |path, loading| Sandbox::load(path, loading).map(drop);
    let mut all = Vec::new();
    for (path, load) in [
        (component.to_owned(), Some(plugin)),
        (beside(component, "-p3"), Some(plugin)),
        (beside(component, "-sans-io"), None),
        (beside(component, "-peer"), Some(sandbox)),
    ] {
        let wasm = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&wasm)?;
        let time_ms = |loading: Loading| -> Result<Option<f64>> {
            let Some(load) = load else {
                return Ok(None);
            };
            let mut times = Vec::new();
            for _ in 0..rounds {
                let began = Instant::now();
                load(&path, &loading)?;
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
            Ok(Some(median(&times)))
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        all.push(Built {
            name: name.into_owned(),
            kb: wasm.len() as f64 / 1e3,
            gzip_kb: gzip.finish()?.len() as f64 / 1e3,
            compile_ms: time_ms(Loading::default())?,
            load_ms: time_ms(loading(Allocation::OnDemand, cache))?,
        });
    }
    Ok(all)
}
