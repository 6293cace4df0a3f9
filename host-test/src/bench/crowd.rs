//! Thousands of calls in flight, each with an instance of its own, in a process of their
//! own: what that process grows by is theirs.

use super::load::{Caller, Load};
use super::subject::{Shape, Subjects};
use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::fs;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;
use tokio::time::timeout;

/// For connections, there are two ends of each, in two processes; for the rest.
const OTHER_DESCRIPTORS: u64 = 256;

/// How often the size of the process is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// Settings for thousands of connections that are opened at once: a machine needs time for
/// that, and an attempt that is repeated would not be a call like the others.
pub(super) const PATIENT: [(&str, &str); 3] = [
    ("DEADLINE_MS", "120000"),
    ("ATTEMPT_TIMEOUT_MS", "60000"),
    ("CONNECT_TIMEOUT_MS", "45000"),
];

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The component, an instance for each call.
    Component,
    /// The native client.
    Native,
}

/// What came of a crowd, all of whose calls were answered: one that fails ends the bench.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Crowd {
    /// By how much the memory of the process grew that it shares with nothing, not even
    /// twice with itself (as instances share what nobody has changed in a component's
    /// data), divided by the calls. The kernel's own, for connections, is not in it.
    pub memory_bytes_per_call: f64,
}

/// Takes as many descriptors as the system lets this process have, which must suffice for so
/// many calls in flight. Processes that it begins inherit them.
pub(super) fn allow_connections(calls: usize) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, all).context("cannot raise the limit of open files")?;
    let most = limit
        .maximum
        .unwrap_or(u64::MAX)
        .saturating_sub(OTHER_DESCRIPTORS);
    ensure!(
        calls as u64 <= most,
        "{calls} calls cannot be in flight: the limit of open files allows {most}"
    );
    Ok(())
}

/// Makes the calls, in this process.
pub(super) async fn gather(
    subjects: &Subjects,
    who: Who,
    base_url: &str,
    calls: usize,
) -> Result<Crowd> {
    allow_connections(calls)?;
    match who {
        Who::Component => {
            let shape = Shape::fresh(u32::try_from(calls)?);
            let harness = subjects.harness_with(shape, base_url, &PATIENT)?;
            watch(&harness, calls).await
        }
        Who::Native => watch(&subjects.native(base_url)?, calls).await,
    }
}

async fn watch(caller: &impl Caller, calls: usize) -> Result<Crowd> {
    let one = Load {
        calls: 1,
        in_flight: 1,
    };
    one.put_on(caller).await?;
    let all = Load {
        calls,
        in_flight: calls,
    };
    let before = memory_bytes()?;
    let mut most = before;
    let mut load = pin!(all.put_on(caller));
    loop {
        match timeout(SAMPLE_EVERY, &mut load).await {
            Ok(ended) => {
                ended?;
                break;
            }
            Err(_) => most = most.max(memory_bytes()?),
        }
    }
    Ok(Crowd {
        memory_bytes_per_call: (most - before) as f64 / calls as f64,
    })
}

/// Lets another process make the calls, which is to print what [`gather`] returns as JSON.
pub(super) fn gathered_by(mut process: Command) -> Result<Crowd> {
    let output = process.output().context("cannot start the crowd")?;
    ensure!(
        output.status.success(),
        "the crowd fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the crowd tells no figures")
}

/// How much memory this process has that is nobody else's.
fn memory_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("needs Linux's /proc")?;
    let anonymous = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"));
    let kib: u64 = anonymous
        .context("no RssAnon in /proc/self/status")?
        .trim()
        .parse()?;
    Ok(kib * 1024)
}
