//! The calls of one subject, in a process of their own: what that process computes and grows by is
//! theirs, and its descriptors are.

use super::subject::{Setup, Subject};
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
use voice_calling_host::Trust;

/// For what is no connection; of these each end has a descriptor, in two processes.
const OTHER_DESCRIPTORS: u64 = 256;

/// How often the size of the process is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// What a crowd is to do.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gathering {
    /// Who makes its calls.
    pub subject: Subject,
    /// The component for WASI 0.2; the others lie beside it.
    pub component: PathBuf,
    /// The folder with what was compiled.
    pub cache: PathBuf,
    /// The service.
    pub base_url: String,
    /// Who vouches for it over TLS, where HTTP/2 is spoken and one connection is enough for all;
    /// otherwise each call in flight has its own. A certificate as DER.
    pub authority: Option<Vec<u8>>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// What is measured.
    pub what: What,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// So many calls, after as many as are in flight, which open the connections.
    Calls(usize),
    /// Those that open the connections, all open before the first is answered.
    AllOpen,
    /// A batch of so many dockets, after one that opens the connections.
    Batch(usize),
}

/// What came of a crowd, all of whose calls were answered: one that fails ends the bench.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Crowd {
    /// How many calls there were in each second.
    pub calls_per_s: f64,
    /// What a call computed in this process, in the kernel too.
    pub cpu_us_per_call: f64,
    /// Half of the calls took so long or less.
    pub latency_us_p50: f64,
    /// 99 of 100 calls.
    pub latency_us_p99: f64,
    /// How long all took.
    pub wall_ms: f64,
    /// By how much the memory of the process grew that it shares with nothing, not even twice with
    /// itself (as instances share what nobody has changed in a component's data), divided by the
    /// calls in flight. The kernel's own, for connections, is not in it. It is measured on Linux
    /// alone.
    pub memory_kib_per_call: Option<f64>,
}

/// Whatever makes a call.
pub(super) trait Caller: Clone + Send + Sync + 'static {
    /// Creates a docket, or so many in a batch.
    fn call(&self, batch: Option<usize>) -> impl Future<Output = Result<()>> + Send;
}

/// Takes as many descriptors as the system lets this process have, and returns for how many
/// calls in flight they suffice. Processes that it begins inherit them.
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

/// Leaves this process too few descriptors for thousands of connections: calls that need one
/// each fail, instead of being measured as if they had shared one.
fn allow_one_connection() -> Result<()> {
    let few = Rlimit {
        current: Some(OTHER_DESCRIPTORS),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, few).context("cannot lower the limit of open files")
}

/// Makes the calls, in this process.
pub async fn gather(gathering: Gathering) -> Result<Crowd> {
    let trust = match &gathering.authority {
        Some(authority) => {
            allow_one_connection()?;
            Trust::Only(vec![authority.clone().into()])
        }
        None => {
            allow_connections()?;
            Trust::Public
        }
    };
    Setup::new(&gathering, trust)?
        .watch(gathering.subject, gathering.what)
        .await
}

/// Makes the calls of a crowd, and measures them.
pub(super) async fn watch(caller: &impl Caller, in_flight: usize, what: What) -> Result<Crowd> {
    // What the first call alone needs is not of each call.
    caller.call(None).await?;
    let before = memory_kib();
    let all = load(caller, in_flight, in_flight, None);
    let (taken, most) = match what {
        What::AllOpen => with_memory(all).await?,
        What::Calls(calls) => {
            all.await?;
            with_memory(load(caller, calls, in_flight, None)).await?
        }
        What::Batch(size) => {
            load(caller, 1, 1, Some(in_flight)).await?;
            with_memory(load(caller, 1, 1, Some(size))).await?
        }
    };
    let grown = before.zip(most).map(|(before, most)| {
        let grown = most.saturating_sub(before);
        grown as f64 / in_flight as f64
    });
    let (wall_s, cpu_s) = (taken.wall.as_secs_f64(), taken.cpu.as_secs_f64());
    Ok(Crowd {
        calls_per_s: taken.calls as f64 / wall_s,
        cpu_us_per_call: cpu_s * 1e6 / taken.calls as f64,
        latency_us_p50: percentile_us(&taken.latencies, 50),
        latency_us_p99: percentile_us(&taken.latencies, 99),
        wall_ms: wall_s * 1e3,
        memory_kib_per_call: grown,
    })
}

/// The cost of some calls.
struct Taken {
    /// Each docket of a batch counts.
    calls: usize,
    wall: Duration,
    /// Of all threads of this process.
    cpu: Duration,
    /// One for each call, in order.
    latencies: Vec<Duration>,
}

/// So many calls, so many of them at once, for a docket each or for a batch. The first that fails
/// ends it.
async fn load(
    caller: &impl Caller,
    calls: usize,
    in_flight: usize,
    batch: Option<usize>,
) -> Result<Taken> {
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
    Ok(Taken {
        calls: calls * batch.unwrap_or(1),
        wall,
        cpu,
        latencies,
    })
}

/// So many of 100 calls took so long or less. Unit: microseconds.
fn percentile_us(latencies: &[Duration], percent: usize) -> f64 {
    let last = latencies.len().saturating_sub(1);
    let latency = latencies.get((latencies.len() * percent / 100).min(last));
    latency.map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
}

/// What it takes, and the most memory that was seen meanwhile, where it can be measured.
async fn with_memory(taking: impl Future<Output = Result<Taken>>) -> Result<(Taken, Option<u64>)> {
    let mut most = memory_kib();
    let mut taking = pin!(taking);
    loop {
        let taken = timeout(SAMPLE_EVERY, &mut taking).await;
        most = most.max(memory_kib());
        if let Ok(taken) = taken {
            return Ok((taken?, most));
        }
    }
}

/// Lets another process of this program make the calls, which is to print what [`gather`] returns.
pub(super) fn gathered_by(gathering: &Gathering) -> Result<Crowd> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench-crowd", &serde_json::to_string(gathering)?])
        .output()
        .context("cannot start the crowd")?;
    ensure!(
        output.status.success(),
        "the crowd fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the crowd printed no figures")
}

/// How much memory this process has that it shares with no other, on Linux.
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let anonymous = lines.find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"))?;
    anonymous.trim().parse().ok()
}

/// Returns the CPU time of this process so far, of all its threads, in the kernel too.
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
