//! What is measured, line by line of the table.

use super::Options;
use super::crowd::{self, Crowd, Gathering, Who};
use super::figure::{self, Figure, Goal};
use super::load::{self, Caller, Load, Taken};
use super::report::{Built, Growth, Measure, Report};
use super::service::Service;
use super::situation::{self, Outcome, Situation};
use super::subject::{self, Connections, Shape, Subjects, docket};
use anyhow::{Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use voice_calling_host::load::plugin::{Instance, Plugin};
use voice_calling_host::{Allocation, GuestKind, Outgoing, PooledNetwork, Reach};
use voice_calling_host::{InstanceSettings, Loading};

/// How many calls are in flight where nothing else is said.
const IN_FLIGHT: usize = 64;

/// How long the service takes where it takes time.
const DELAY_MS: u64 = 20;

/// How long it takes in each situation.
const SITUATION_DELAYS_MS: [u64; 3] = [0, DELAY_MS, 1_000];

/// How long it takes where all calls are to be open at once: longer than anybody needs to open
/// thousands of them.
const ALL_OPEN_DELAY_MS: u64 = 5_000;

/// How long it takes for each docket of a batch.
const BATCH_DELAY_MS: u64 = 50;

/// Who calls, and who answers.
pub(super) struct Stage {
    pub(super) subjects: Subjects,
    pub(super) service: Service,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) rounds: usize,
    /// Calls are divided by this.
    pub(super) divisor: usize,
    /// How many calls may be in flight at the most.
    pub(super) crowd: usize,
    /// How many there are in the situations.
    pub(super) in_flight: &'static [usize],
}

impl Extent {
    fn calls(self, calls: usize) -> usize {
        (calls / self.divisor).max(2)
    }

    fn calls_of_situation(self, in_flight: usize, delay_ms: u64) -> usize {
        match self.divisor {
            1 => situation::calls(in_flight, delay_ms),
            _ => in_flight,
        }
    }

    fn load(self, calls: usize, in_flight: usize) -> Load {
        Load {
            calls: self.calls(calls),
            in_flight,
        }
    }
}

/// Puts loads on two callers in turn, round by round, after some calls that do not count.
async fn compare<A: Caller, B: Caller>(
    extent: Extent,
    (a, a_load): (&A, Load),
    (b, b_load): (&B, Load),
) -> Result<(Vec<Taken>, Vec<Taken>)> {
    warm_up(a, a_load).await?;
    warm_up(b, b_load).await?;
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        of_a.push(a_load.put_on(a).await?);
        of_b.push(b_load.put_on(b).await?);
    }
    Ok((of_a, of_b))
}

/// Opens the connections, and makes the instances that will be used again.
async fn warm_up(caller: &impl Caller, load: Load) -> Result<()> {
    let calls = (load.calls / 10).max(load.in_flight);
    Load { calls, ..load }.put_on(caller).await?;
    Ok(())
}

/// Puts a load on a caller several times, after some calls that do not count.
async fn repeat(caller: &impl Caller, load: Load, rounds: usize) -> Result<Vec<Taken>> {
    warm_up(caller, load).await?;
    let mut taken = Vec::new();
    for _ in 0..rounds {
        taken.push(load.put_on(caller).await?);
    }
    Ok(taken)
}

fn ratios(of: &[Taken], to: &[Taken], value: fn(&Taken) -> f64) -> Vec<f64> {
    let pairs = of.iter().zip(to);
    pairs.map(|(of, to)| value(of) / value(to)).collect()
}

pub(super) async fn throughput(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let base_url = stage.service.base_url(0);
    let native = stage.subjects.native(&base_url)?;
    let reused = stage
        .subjects
        .harness(Shape::reused(IN_FLIGHT as u32), &base_url)?;
    let fresh = stage
        .subjects
        .harness(Shape::fresh(IN_FLIGHT as u32), &base_url)?;
    let native_load = extent.load(40_000, IN_FLIGHT);
    let reused_load = extent.load(15_000, IN_FLIGHT);
    let fresh_load = extent.load(10_000, IN_FLIGHT);
    warm_up(&native, native_load).await?;
    warm_up(&reused, reused_load).await?;
    warm_up(&fresh, fresh_load).await?;
    let (mut natives, mut reuseds, mut freshes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        natives.push(native_load.put_on(&native).await?);
        reuseds.push(reused_load.put_on(&reused).await?);
        freshes.push(fresh_load.put_on(&fresh).await?);
    }
    let rate: fn(&Taken) -> f64 = Taken::calls_per_s;
    let cpu: fn(&Taken) -> f64 = Taken::cpu_us_per_call;
    report.figures.extend([
        Figure::new(
            "calls/s, 64 in flight, no delay: reused",
            "native client",
            ratios(&reuseds, &natives, rate),
        )
        .with_goal(Goal::AtLeast(0.80)),
        Figure::new(
            "calls/s, 64 in flight, no delay: fresh",
            "native client",
            ratios(&freshes, &natives, rate),
        )
        .with_goal(Goal::AtLeast(0.50)),
        Figure::new(
            "CPU per call, 64 in flight, no delay: reused",
            "native client",
            ratios(&reuseds, &natives, cpu),
        ),
        Figure::new(
            "CPU per call, 64 in flight, no delay: fresh",
            "native client",
            ratios(&freshes, &natives, cpu),
        )
        .with_goal(Goal::AtMost(5.0)),
    ]);
    report.measures.extend([
        Measure::new("native, 64 in flight", &natives),
        Measure::new("reused, 64 in flight", &reuseds),
        Measure::new("fresh, 64 in flight", &freshes),
    ]);

    let base_url = stage.service.base_url(DELAY_MS);
    let native = stage.subjects.native(&base_url)?;
    let fresh = stage
        .subjects
        .harness(Shape::fresh(IN_FLIGHT as u32), &base_url)?;
    let load = extent.load(3_000, IN_FLIGHT);
    let (natives, freshes) = compare(extent, (&native, load), (&fresh, load)).await?;
    report.figures.push(
        Figure::new(
            "calls/s, 64 in flight, 20 ms delay: fresh",
            "native client",
            ratios(&freshes, &natives, rate),
        )
        .with_goal(Goal::AtLeast(0.97)),
    );
    report.measures.extend([
        Measure::new("native, 64 in flight, 20 ms", &natives),
        Measure::new("fresh, 64 in flight, 20 ms", &freshes),
    ]);
    Ok(())
}

pub(super) async fn latency(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    for (delay_ms, calls, title, subjects) in [
        (
            0,
            4_000,
            "latency, one call after another, no delay: fresh",
            ["native, one by one", "fresh, one by one"],
        ),
        (
            DELAY_MS,
            50,
            "latency, one call after another, 20 ms delay: fresh",
            ["native, one by one, 20 ms", "fresh, one by one, 20 ms"],
        ),
    ] {
        let base_url = stage.service.base_url(delay_ms);
        let native = stage.subjects.native(&base_url)?;
        let fresh = stage.subjects.harness(Shape::fresh(1), &base_url)?;
        let load = extent.load(calls, 1);
        let (natives, freshes) = compare(extent, (&native, load), (&fresh, load)).await?;
        let latencies = ratios(&freshes, &natives, Taken::median_latency_us);
        report
            .figures
            .push(Figure::new(title, "native client", latencies).with_goal(Goal::AtMost(1.10)));
        report.measures.extend([
            Measure::new(subjects[0], &natives),
            Measure::new(subjects[1], &freshes),
        ]);
    }
    Ok(())
}

pub(super) async fn connections(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let instances = IN_FLIGHT as u32;
    for (base_url, sender, title, baseline, goal, subjects) in [
        (
            stage.service.base_url(0),
            Connections::DefaultSender,
            "calls/s over http: pooled, fresh",
            "default sender, instances on demand",
            3.0,
            ["default sender", "pooled"],
        ),
        (
            stage.service.tls_base_url(0),
            Connections::New,
            "calls/s over TLS: pooled, fresh",
            "the default sender's steps, instances on demand",
            8.0,
            ["a new connection for each call, TLS", "pooled, TLS"],
        ),
    ] {
        let pooled = stage.subjects.harness(Shape::fresh(instances), &base_url)?;
        let engine = stage
            .subjects
            .harness(Shape::engine(instances, sender), &base_url)?;
        let (pooleds, engines) = compare(
            extent,
            (&pooled, extent.load(6_000, IN_FLIGHT)),
            (&engine, extent.load(1_000, IN_FLIGHT)),
        )
        .await?;
        let rates = ratios(&pooleds, &engines, Taken::calls_per_s);
        report
            .figures
            .push(Figure::new(title, baseline, rates).with_goal(Goal::AtLeast(goal)));
        report.measures.extend([
            Measure::new(subjects[0], &engines),
            Measure::new(subjects[1], &pooleds),
        ]);
    }
    Ok(())
}

/// Instances that are made, with all that belongs to them, and go again.
pub(super) async fn instances(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let base_url = stage.service.base_url(0);
    let environment = subject::environment(&base_url);
    let outgoing = Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?);
    let settings = || InstanceSettings::new(environment.clone(), outgoing.clone());
    let pooling = stage
        .subjects
        .plugin(Allocation::Pooling { instances: 8 })?;
    let on_demand = stage.subjects.plugin(Allocation::OnDemand)?;
    let (mut ratios, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..=extent.rounds {
        let [pooling_s, on_demand_s] = [
            instantiations(&pooling, extent.calls(5_000), settings).await?,
            instantiations(&on_demand, extent.calls(5_000), settings).await?,
        ];
        ratios.push(pooling_s / on_demand_s);
        costs.push(pooling_s * 1e6);
    }
    // The first round does not count.
    report.figures.extend([
        Figure::new(
            "instantiation with its store: pooling",
            "on demand",
            ratios.split_off(1),
        )
        .with_goal(Goal::AtMost(0.40)),
        Figure::new(
            "instantiation with its store, pooling",
            "µs",
            costs.split_off(1),
        ),
    ]);
    Ok(())
}

/// How long one takes. Unit: seconds.
async fn instantiations(
    plugin: &Plugin,
    count: usize,
    settings: impl Fn() -> InstanceSettings,
) -> Result<f64> {
    let began = Instant::now();
    for _ in 0..count {
        plugin.instantiate(settings()).await?;
    }
    Ok(began.elapsed().as_secs_f64() / count as f64)
}

pub(super) async fn batches(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let base_url = stage.service.base_url(BATCH_DELAY_MS);
    let in_flight = IN_FLIGHT.to_string();
    let settings = [("MAX_IN_FLIGHT", in_flight.as_str())];
    let harness = stage
        .subjects
        .harness_with(Shape::fresh(1), &base_url, &settings)?;
    for size in [1_usize, 10, 100, 1_000] {
        if extent.divisor > 1 && size > 100 {
            continue;
        }
        let floor_s = size.div_ceil(IN_FLIGHT) as f64 * BATCH_DELAY_MS as f64 / 1e3;
        let (mut ratios, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..=extent.rounds.min(3) {
            let cpu_before = load::cpu_time();
            let began = Instant::now();
            create_batch(&mut *harness.pool.instance().await?, size).await?;
            ratios.push(began.elapsed().as_secs_f64() / floor_s);
            let cpu = load::cpu_time().saturating_sub(cpu_before);
            costs.push(cpu.as_secs_f64() * 1e6 / size as f64);
        }
        let (ratios, costs) = (ratios.split_off(1), costs.split_off(1));
        report.batches.push(Growth {
            size,
            cpu_us: figure::median(&costs),
            native_cpu_us: None,
            times_the_floor: figure::median(&ratios),
        });
        if size == 1_000 {
            // The last wave is not full, and what it lacks is not made a part of the floor.
            let waves = size as f64 / IN_FLIGHT as f64;
            let part = size.div_ceil(IN_FLIGHT) as f64 / waves;
            let figure = Figure::new(
                "batch of 1000 dockets, 64 in flight, 50 ms delay",
                "1000/64 × 50 ms",
                ratios.iter().map(|ratio| ratio * part).collect(),
            );
            report.figures.push(figure.with_goal(Goal::AtMost(1.10)));
        }
    }
    Ok(())
}

async fn create_batch(instance: &mut Instance, size: usize) -> Result<()> {
    let dockets = vec![docket(); size];
    match instance.create_dockets_v2(&dockets, 60_000, None).await? {
        Ok(created) => {
            let succeeded = created.iter().filter(|docket| docket.is_ok()).count();
            ensure!(
                succeeded == size,
                "{succeeded} of {size} dockets were created"
            );
            Ok(())
        }
        Err(error) => bail!("the component fails: {error:?}"),
    }
}

/// From a file to the first answer.
pub(super) async fn start(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let base_url = stage.service.base_url(0);
    let from = async |loading: &Loading| -> Result<f64> {
        let began = Instant::now();
        let plugin = Plugin::load_with(&stage.subjects.component, loading)?;
        let outgoing = Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?);
        let settings = InstanceSettings::new(subject::environment(&base_url), outgoing);
        let created = plugin
            .instantiate(settings)
            .await?
            .create_docket_v2(&docket(), None)
            .await?;
        ensure!(created.is_ok(), "the component fails: {created:?}");
        Ok(began.elapsed().as_secs_f64())
    };
    let compiled = Loading {
        cache: Some(stage.subjects.cache.clone()),
        ..Loading::default()
    };
    from(&compiled).await?;
    let (mut ratios, mut times_ms) = (Vec::new(), Vec::new());
    for _ in 0..extent.rounds.min(3) {
        let (compiled_s, wasm_s) = (from(&compiled).await?, from(&Loading::default()).await?);
        ratios.push(compiled_s / wasm_s);
        times_ms.push(compiled_s * 1e3);
    }
    report.figures.extend([
        Figure::new(
            "start to the first answer: from the compiled component",
            "from wasm",
            ratios,
        )
        .with_goal(Goal::AtMost(0.05)),
        Figure::new(
            "start to the first answer, from the compiled component",
            "ms",
            times_ms,
        ),
    ]);
    Ok(())
}

/// The crowds of a bench, each in a process of its own.
pub(super) struct Crowds<'a> {
    pub(super) stage: &'a Stage,
    pub(super) options: &'a Options,
    pub(super) cache: &'a Path,
    pub(super) extent: Extent,
}

impl Crowds<'_> {
    fn gather(&self, who: Who, delay_ms: u64, in_flight: usize) -> Result<Crowd> {
        self.begin(self.gathering(who, delay_ms, in_flight))
    }

    /// Each place in flight is taken twice: to open its connection, and once more.
    fn gather_once(&self, who: Who, delay_ms: u64, in_flight: usize) -> Result<Crowd> {
        self.begin(Gathering {
            calls: in_flight,
            ..self.gathering(who, delay_ms, in_flight)
        })
    }

    /// The same with all calls on one connection.
    fn gather_once_over_http2(&self, who: Who, delay_ms: u64, in_flight: usize) -> Result<Crowd> {
        let service = &self.stage.service;
        self.begin(Gathering {
            base_url: service.tls_base_url(delay_ms),
            authority: Some(BASE64.encode(service.authority())),
            calls: in_flight,
            ..self.gathering(who, delay_ms, in_flight)
        })
    }

    fn gathering(&self, who: Who, delay_ms: u64, in_flight: usize) -> Gathering {
        let Stage { subjects, service } = self.stage;
        Gathering {
            who,
            component: subjects.component.clone(),
            cache: self.cache.to_owned(),
            base_url: service.base_url(delay_ms),
            authority: None,
            calls: self.extent.calls_of_situation(in_flight, delay_ms),
            in_flight,
        }
    }

    fn begin(&self, gathering: Gathering) -> Result<Crowd> {
        crowd::gathered_by((self.options.gathering)(&gathering)?)
    }

    /// Compiles what is not: a process that does needs memory for that as well.
    fn compile(&self) -> Result<()> {
        let subjects = &self.stage.subjects;
        subjects.plugin(Allocation::Pooling { instances: 1 })?;
        subjects.concurrent_plugin()?;
        subjects.steps_plugin()?;
        Ok(())
    }

    fn rounds(&self) -> usize {
        self.extent.rounds.min(3)
    }
}

/// Every subject in every situation.
pub(super) fn situations(crowds: &Crowds, report: &mut Report) -> Result<()> {
    let extent = crowds.extent;
    crowds.compile()?;
    for delay_ms in SITUATION_DELAYS_MS {
        for &in_flight in extent.in_flight {
            let outcomes = match crowd::why_not(in_flight, extent.crowd) {
                Some(reason) => Who::ALL
                    .map(|who| (who, Outcome::LeftOut(reason.clone())))
                    .into(),
                None => {
                    let mut measured = Who::ALL.map(|who| (who, Vec::new()));
                    for _ in 0..crowds.rounds() {
                        for (who, measured) in &mut measured {
                            measured.push(crowds.gather(*who, delay_ms, in_flight)?);
                        }
                    }
                    measured
                        .map(|(who, measured)| (who, Outcome::Measured(measured)))
                        .into()
                }
            };
            report.situations.push(Situation {
                delay_ms,
                in_flight,
                outcomes,
            });
        }
    }
    Ok(())
}

/// What a call in flight needs, all of them open at once.
pub(super) fn memory(crowds: &Crowds, report: &mut Report) -> Result<()> {
    let extent = crowds.extent;
    let Some(&in_flight) = extent.in_flight.last() else {
        return Ok(());
    };
    let delay_ms = match extent.divisor {
        1 => ALL_OPEN_DELAY_MS,
        _ => DELAY_MS,
    };
    let measured = |crowd: Crowd| -> Result<Crowd> {
        let all_open = crowd.opening_s * 1e3 < 2.0 * delay_ms as f64;
        ensure!(
            all_open || extent.divisor > 1,
            "the first of {in_flight} calls was answered before the last was open"
        );
        Ok(crowd)
    };
    let kib = |bytes: f64| bytes / 1024.0;
    let [mut fresh, mut native, mut shared, mut linear] = [const { Vec::new() }; 4];
    let [mut native_http2, mut shared_http2] = [const { Vec::new() }; 2];
    for _ in 0..crowds.rounds() {
        if crowd::why_not(in_flight, extent.crowd).is_none() {
            let of = |who| measured(crowds.gather_once(who, delay_ms, in_flight)?);
            fresh.extend(of(Who::Fresh)?.memory_bytes_per_call.map(kib));
            native.extend(of(Who::Native)?.memory_bytes_per_call.map(kib));
            let crowd = of(Who::Shared)?;
            shared.extend(crowd.memory_bytes_per_call.map(kib));
            linear.extend(crowd.linear_memory_bytes_per_call.map(kib));
        }
        let of = |who| measured(crowds.gather_once_over_http2(who, delay_ms, in_flight)?);
        native_http2.extend(of(Who::Native)?.memory_bytes_per_call.map(kib));
        shared_http2.extend(of(Who::Shared)?.memory_bytes_per_call.map(kib));
    }
    let pairs = shared.iter().zip(&native);
    let beyond = pairs.map(|(of, to)| of - to).collect();
    let at_most = |kib| Some(Goal::AtMost(kib));
    let reason = crowd::why_not(in_flight, extent.crowd);
    let reason = reason.unwrap_or_else(|| crowd::NO_MEMORY.to_owned());
    for (title, values, goal) in [
        (
            "10,000 calls open at once, an instance each: memory per call",
            fresh,
            at_most(64.0),
        ),
        (
            "10,000 calls open at once, native client: memory per call",
            native,
            None,
        ),
        (
            "10,000 calls open at once, one instance for all: memory per call",
            shared,
            at_most(24.0),
        ),
        (
            "10,000 calls open at once, one for all, beyond the native client: memory per call",
            beyond,
            None,
        ),
        (
            "10,000 calls open at once, one for all, its linear memory alone: memory per call",
            linear,
            None,
        ),
        (
            "10,000 calls open at once, HTTP/2, native client: memory per call",
            native_http2,
            None,
        ),
        (
            "10,000 calls open at once, HTTP/2, one instance for all: memory per call",
            shared_http2,
            at_most(24.0),
        ),
    ] {
        let figure = Figure::new(title, "KiB, all answered", values);
        let figure = match goal {
            Some(goal) => figure.with_goal(goal),
            None => figure,
        };
        report.add_or_leave_out(figure, &reason);
    }
    Ok(())
}

pub(super) async fn growth(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    for (in_flight, calls, delay_ms) in [
        (1, 1_000, 1),
        (10, 4_000, 2),
        (100, 8_000, 10),
        (1_000, 8_000, 100),
        (10_000, 20_000, 1_000),
    ] {
        if in_flight > extent.crowd {
            continue;
        }
        let load = extent.load(calls, in_flight);
        let rounds = extent.rounds.min(3);
        // One after the other, since the connections of both would be too many.
        let native = stage.subjects.native(&stage.service.base_url(delay_ms))?;
        let natives = repeat(&native, load, rounds).await?;
        drop(native);
        let shape = Shape::fresh(u32::try_from(in_flight)?);
        let base_url = stage.service.base_url(delay_ms);
        let fresh = stage
            .subjects
            .harness_with(shape, &base_url, &crowd::PATIENT)?;
        let freshes = repeat(&fresh, load, rounds).await?;
        let floor_s = (load.calls as f64 / in_flight as f64) * delay_ms as f64 / 1e3;
        let cost = |taken: &[Taken]| {
            figure::median(&taken.iter().map(Taken::cpu_us_per_call).collect::<Vec<_>>())
        };
        let walls: Vec<_> = freshes
            .iter()
            .map(|taken| taken.wall.as_secs_f64())
            .collect();
        report.in_flight.push(Growth {
            size: in_flight,
            cpu_us: cost(&freshes),
            native_cpu_us: Some(cost(&natives)),
            times_the_floor: figure::median(&walls) / floor_s,
        });
    }
    Ok(())
}

/// The components: how large they are, and what comes before their first answer.
pub(super) async fn components(stage: &Stage, extent: Extent, report: &mut Report) -> Result<()> {
    let base_url = stage.service.base_url(0);
    let component = &stage.subjects.component;
    let others = [subject::STEPS, subject::CONCURRENT];
    let others = others.map(|suffix| subject::beside(component, suffix));
    for component in std::iter::once(component).chain(&others) {
        let wasm = std::fs::read(component)?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&wasm)?;
        let kb = |bytes: &[u8]| bytes.len() as f64 / 1e3;
        let cached = Loading {
            cache: Some(stage.subjects.cache.clone()),
            ..Loading::default()
        };
        Plugin::load_with(component, &cached)?;
        let [mut compile, mut load, mut answer] = [const { Vec::new() }; 3];
        for _ in 0..extent.rounds.min(3) {
            let began = Instant::now();
            Plugin::load_with(component, &Loading::default())?;
            compile.push(began.elapsed().as_secs_f64() * 1e3);
            let began = Instant::now();
            let plugin = Plugin::load_with(component, &cached)?;
            load.push(began.elapsed().as_secs_f64() * 1e3);
            answer.push(first_answer(&plugin, &base_url).await?);
        }
        report.components.push(Built {
            wasi: GuestKind::of(&wasm).to_string(),
            kb: kb(&wasm),
            gzip_kb: kb(&gzip.finish()?),
            compile_ms: figure::median(&compile),
            load_ms: figure::median(&load),
            answer_ms: figure::median(&answer),
        });
    }
    if let [component, _, concurrent] = &report.components[..] {
        report.figures.extend([
            Figure::new("the component", "KB", vec![component.kb]).with_goal(Goal::AtMost(200.0)),
            Figure::new("the component, gzip", "KB", vec![component.gzip_kb])
                .with_goal(Goal::AtMost(70.0)),
            Figure::new(
                "the component for WASI 0.3",
                "that for WASI 0.2",
                vec![concurrent.kb / component.kb],
            )
            .with_goal(Goal::AtMost(1.3)),
        ]);
    }
    Ok(())
}

/// How long it takes to make an instance, as such calls are made, and to get an answer over
/// a new connection. Unit: ms.
async fn first_answer(plugin: &Plugin, base_url: &str) -> Result<f64> {
    let began = Instant::now();
    let outgoing = Outgoing::loopback(PooledNetwork::new(Reach::Loopback)?);
    let settings = InstanceSettings::new(subject::environment(base_url), outgoing);
    let created = match plugin.kind() {
        GuestKind::V0_2 => {
            let mut instance = plugin.instantiate(settings).await?;
            instance.create_docket_v2(&docket(), None).await?
        }
        GuestKind::Steps => {
            let client = plugin.client(settings)?;
            client.create_docket_v2(&docket(), None).await?
        }
        GuestKind::V0_3 => {
            let instance = plugin.share(settings).await?;
            instance.create_docket_v2(&docket(), None).await?
        }
    };
    ensure!(created.is_ok(), "the component fails: {created:?}");
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
