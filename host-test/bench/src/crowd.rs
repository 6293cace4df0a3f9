//! The calls of one subject, in a process of their own: what that process computes and grows by is
//! theirs, and its descriptors are.

use super::load::{self, Caller, Load, Taken};
use super::subject::{Files, Isolation, Subject, Subjects};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::{CompiledCache, Trust};

/// For connections, there are two ends of each, in two processes; for the rest.
const OTHER_DESCRIPTORS: u64 = 256;

/// macOS refuses a higher limit of open files (`OPEN_MAX` of its `setrlimit`).
const MAX_DESCRIPTORS: Option<u64> = match cfg!(target_os = "macos") {
    true => Some(10_240),
    false => None,
};

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
    /// otherwise each call in flight has its own. Base64 of DER.
    pub authority: Option<String>,
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

/// Takes as many descriptors as the system lets this process have, and says for how many
/// calls in flight they suffice. Processes that it begins inherit them.
pub(super) fn allow_connections() -> Result<usize> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = match (maximum, MAX_DESCRIPTORS) {
        (Some(maximum), Some(most)) => Some(maximum.min(most)),
        (maximum, most) => maximum.or(most),
    };
    let raised = Rlimit {
        current: all,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")?;
    let most = all.unwrap_or(u64::MAX).saturating_sub(OTHER_DESCRIPTORS);
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
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

/// Why so many calls cannot be in flight, if they cannot.
pub(super) fn why_not(in_flight: usize, most: usize) -> Option<String> {
    (in_flight > most).then(|| format!("left out: the limit of open files allows {most} calls"))
}

/// Makes the calls, in this process.
pub async fn gather(gathering: Gathering) -> Result<Crowd> {
    let Gathering {
        subject,
        component,
        cache,
        base_url,
        authority,
        in_flight,
        what,
    } = gathering;
    let trust = match authority {
        Some(authority) => {
            allow_one_connection()?;
            Trust::Only(vec![BASE64.decode(authority)?.into()])
        }
        None => {
            if let Some(reason) = why_not(in_flight, allow_connections()?) {
                bail!("{in_flight} calls in flight: {reason}");
            }
            Trust::Public
        }
    };
    let subjects = Subjects {
        files: Files { component },
        cache: CompiledCache::in_folder(&cache)?,
        base_url,
        trust,
        in_flight: u32::try_from(in_flight)?,
    };
    match subject {
        Subject::Native => watch(&subjects.native()?, in_flight, what).await,
        Subject::Rust => watch(&subjects.rust()?, in_flight, what).await,
        Subject::Reused => watch(&subjects.pool(Isolation::Reused)?, in_flight, what).await,
        Subject::Fresh => watch(&subjects.pool(Isolation::EachCall)?, in_flight, what).await,
        Subject::ReusedP3 => watch(&subjects.pool_p3()?, in_flight, what).await,
        Subject::PeerReused => watch(&subjects.peer(Isolation::Reused)?, in_flight, what).await,
        Subject::PeerFresh => watch(&subjects.peer(Isolation::EachCall)?, in_flight, what).await,
        Subject::Engine => watch(&subjects.engine()?, in_flight, what).await,
    }
}

async fn watch(caller: &impl Caller, in_flight: usize, what: What) -> Result<Crowd> {
    // What the first call alone needs is not of each call.
    caller.call().await?;
    let before = memory_kib()?;
    let opening = Load {
        calls: in_flight,
        in_flight,
    };
    let (taken, most) = match what {
        What::Calls(calls) => {
            opening.put_on(caller).await?;
            let load = Load { calls, in_flight };
            with_memory(load.put_on(caller)).await?
        }
        What::AllOpen => with_memory(opening.put_on(caller)).await?,
        What::Batch(size) => {
            load::batch(caller, in_flight).await?;
            with_memory(load::batch(caller, size)).await?
        }
    };
    let grown = before.zip(most).map(|(before, most)| {
        let grown = most.saturating_sub(before);
        grown as f64 / in_flight as f64
    });
    Ok(Crowd {
        calls_per_s: taken.calls_per_s(),
        cpu_us_per_call: taken.cpu_us_per_call(),
        latency_us_p50: taken.latency_us(50),
        latency_us_p99: taken.latency_us(99),
        wall_ms: taken.wall.as_secs_f64() * 1e3,
        memory_kib_per_call: grown,
    })
}

/// What it takes, and the most memory that was seen meanwhile, where it can be measured.
async fn with_memory(taking: impl Future<Output = Result<Taken>>) -> Result<(Taken, Option<u64>)> {
    let mut most = memory_kib()?;
    let mut taking = pin!(taking);
    loop {
        match timeout(SAMPLE_EVERY, &mut taking).await {
            Ok(taken) => return Ok((taken?, most.max(memory_kib()?))),
            Err(_) => most = most.max(memory_kib()?),
        }
    }
}

/// Lets another process make the calls, which is to print what [`gather`] returns as JSON.
pub(super) fn gathered_by(mut process: Command) -> Result<Crowd> {
    let output = process.output().context("cannot start the crowd")?;
    ensure!(
        output.status.success(),
        "the crowd fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the crowd printed no figures")
}

/// How much memory this process has that it shares with no other, where it can be measured.
#[cfg(target_os = "linux")]
fn memory_kib() -> Result<Option<u64>> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("cannot read /proc/self/status, which has the memory of this process")?;
    let anonymous = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"));
    let kib = anonymous.context("no RssAnon in /proc/self/status")?;
    Ok(Some(kib.trim().parse()?))
}

#[cfg(not(target_os = "linux"))]
fn memory_kib() -> Result<Option<u64>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_calls_than_descriptors_are_left_out_with_the_reason() {
        assert_eq!(why_not(10_000, 10_000), None);
        let reason = why_not(10_000, 3_840).unwrap();
        assert!(
            reason.contains("limit of open files allows 3840 calls"),
            "{reason}"
        );
    }
}
