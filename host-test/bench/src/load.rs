//! A load: the calls of one subject, in a process of their own, so that its CPU time, its memory
//! and its descriptors are theirs.

use super::native::NativeClient;
use super::subject::{self, Subject};
use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The descriptors besides those of connections, which take one in each of two processes.
const OTHER_DESCRIPTORS: u64 = 256;

/// The interval at which the size of the process is measured.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// The calls to make, and the subject that makes them.
#[derive(Debug, Deserialize, Serialize)]
pub struct Load {
    /// The subject.
    pub subject: Subject,
    /// The component for WASI 0.2; the others are beside it.
    pub component: PathBuf,
    /// The folder of compiled components.
    pub cache: PathBuf,
    /// The URL of the service.
    pub base_url: String,
    /// The number of calls in flight, each on a connection of its own.
    pub in_flight: usize,
    /// The calls that are measured.
    pub calls: Calls,
}

/// The calls that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// This many calls, after as many as are in flight, which open the connections.
    Many(usize),
    /// The calls that open the connections, all of them open before the first is answered.
    AllOpen,
    /// A batch of this many dockets, after one that opens the connections.
    Batch(usize),
}

/// The cost of a load, all of whose calls were answered: one that fails ends the bench.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Measurement {
    /// The number of calls per second.
    pub calls_per_s: f64,
    /// The CPU time of a call in this process, including the kernel's.
    pub cpu_us_per_call: f64,
    /// The median of the calls' durations.
    pub latency_us_p50: f64,
    /// The 99th percentile of the calls' durations.
    pub latency_us_p99: f64,
    /// The total duration.
    pub wall_ms: f64,
    /// The growth of the process's private memory, divided by the calls in flight. Pages that
    /// instances share (those of a component's data that none has changed) count once, and the
    /// kernel's memory for connections does not count. Measured only on Linux.
    pub memory_kib_per_call: Option<f64>,
}

/// A client that makes calls.
pub(super) trait Caller: Clone + Send + Sync + 'static {
    /// Creates a docket, or as many as given in a batch.
    fn call(&self, batch: Option<usize>) -> impl Future<Output = Result<()>> + Send;
}

/// Raises the limit of descriptors to the system's maximum, and returns the number of calls in
/// flight that it allows. Child processes inherit the limit.
pub(super) fn allow_connections() -> Result<usize> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")?;
    let most = maximum.unwrap_or(u64::MAX);
    Ok(usize::try_from(most.saturating_sub(OTHER_DESCRIPTORS)).unwrap_or(usize::MAX))
}

/// Makes the calls of a load in this process, and measures them.
pub async fn measure(load: &Load) -> Result<Measurement> {
    match load.subject {
        Subject::Native => measure_calls(&NativeClient::new(&load.base_url)?, load).await,
        Subject::Rust => measure_calls(&subject::rust(load)?, load).await,
        _ => measure_calls(&subject::component(load)?, load).await,
    }
}

async fn measure_calls(caller: &impl Caller, load: &Load) -> Result<Measurement> {
    let in_flight = load.in_flight;
    // The first call alone pays for what all calls share.
    caller.call(None).await?;
    let before = memory_kib();
    let all = make_calls(caller, in_flight, in_flight, None);
    let (cost, most) = match load.calls {
        Calls::AllOpen => with_memory(all).await?,
        Calls::Many(calls) => {
            all.await?;
            with_memory(make_calls(caller, calls, in_flight, None)).await?
        }
        Calls::Batch(size) => {
            make_calls(caller, 1, 1, Some(in_flight)).await?;
            with_memory(make_calls(caller, 1, 1, Some(size))).await?
        }
    };
    let grown = before.zip(most).map(|(before, most)| {
        let grown = most.saturating_sub(before);
        grown as f64 / in_flight as f64
    });
    let (wall_s, cpu_s) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
    Ok(Measurement {
        calls_per_s: cost.calls as f64 / wall_s,
        cpu_us_per_call: cpu_s * 1e6 / cost.calls as f64,
        latency_us_p50: percentile_us(&cost.latencies, 50),
        latency_us_p99: percentile_us(&cost.latencies, 99),
        wall_ms: wall_s * 1e3,
        memory_kib_per_call: grown,
    })
}

/// The cost of some calls.
struct Cost {
    /// The number of calls; each docket of a batch counts.
    calls: usize,
    wall: Duration,
    /// The CPU time of all threads of this process.
    cpu: Duration,
    /// The duration of each call, in order.
    latencies: Vec<Duration>,
}

/// Makes `calls` calls, `in_flight` at a time, each for a docket or for a batch. The first that
/// fails ends it.
async fn make_calls(
    caller: &impl Caller,
    calls: usize,
    in_flight: usize,
    batch: Option<usize>,
) -> Result<Cost> {
    let left = Arc::new(AtomicUsize::new(calls));
    let (began, cpu_before) = (Instant::now(), cpu_time());
    let mut callers = JoinSet::new();
    for _ in 0..in_flight.min(calls) {
        let (caller, left) = (caller.clone(), left.clone());
        callers.spawn(async move {
            let mut latencies = Vec::new();
            let take = |left: usize| left.checked_sub(1);
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
            {
                let began = Instant::now();
                caller.call(batch).await?;
                latencies.push(began.elapsed());
            }
            anyhow::Ok(latencies)
        });
    }
    let mut latencies = Vec::with_capacity(calls);
    while let Some(ended) = callers.join_next().await {
        latencies.extend(ended.context("a caller panicked")??);
    }
    let (wall, cpu) = (began.elapsed(), cpu_time().saturating_sub(cpu_before));
    latencies.sort();
    Ok(Cost {
        calls: calls * batch.unwrap_or(1),
        wall,
        cpu,
        latencies,
    })
}

/// Returns a percentile of the durations, in microseconds.
fn percentile_us(latencies: &[Duration], percent: usize) -> f64 {
    let last = latencies.len().saturating_sub(1);
    let latency = latencies.get((latencies.len() * percent / 100).min(last));
    latency.map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
}

/// Returns the cost, with the peak of memory if that can be measured.
async fn with_memory(calls: impl Future<Output = Result<Cost>>) -> Result<(Cost, Option<u64>)> {
    let mut most = memory_kib();
    let mut calls = pin!(calls);
    loop {
        let ended = timeout(SAMPLE_EVERY, &mut calls).await;
        most = most.max(memory_kib());
        if let Ok(cost) = ended {
            return Ok((cost?, most));
        }
    }
}

/// Has another process of this program make the calls; it prints the result of [`measure`].
pub(super) fn in_own_process(load: &Load) -> Result<Measurement> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench-load", &serde_json::to_string(load)?])
        .output()
        .context("cannot start the load")?;
    ensure!(
        output.status.success(),
        "the load fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the load printed no figures")
}

/// Returns this process's private memory, on Linux.
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let anonymous = lines.find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"))?;
    anonymous.trim().parse().ok()
}

/// Returns the CPU time of this process so far, of all threads and including the kernel's.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_were_seen() {
        let latencies = [1, 2, 3, 9].map(Duration::from_micros);
        let percentiles = [50, 99].map(|percent| percentile_us(&latencies, percent));
        assert_eq!(percentiles, [3.0, 9.0]);
    }
}
