//! Many calls in flight, in a process of their own: what that process grows by is theirs,
//! and its descriptors are.

use super::load::{Caller, Load, Taken};
use super::subject::{Shape, Subjects};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::Trust;
use voice_calling_host::load::cache::CompiledCache;

/// For connections, there are two ends of each, in two processes; for the rest.
const OTHER_DESCRIPTORS: u64 = 256;

/// macOS refuses a higher limit of open files (`OPEN_MAX` of its `setrlimit`).
const MAX_DESCRIPTORS: Option<u64> = match cfg!(target_os = "macos") {
    true => Some(10_240),
    false => None,
};

/// Why memory is not measured, where it is not.
pub(super) const NO_MEMORY: &str = "not measured on this system: it takes Linux's /proc";

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The native client.
    Native,
    /// The component for WASI 0.2, instances that are used again, one for each call in flight.
    Reused,
    /// The same, an instance for each call.
    Fresh,
    /// The component for WASI 0.3, one instance for all calls.
    Shared,
    /// A client on the component for steps.
    Steps,
}

impl Who {
    /// Everyone, the baseline first.
    pub const ALL: [Self; 5] = [
        Self::Native,
        Self::Steps,
        Self::Reused,
        Self::Fresh,
        Self::Shared,
    ];
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Who::Native => "native",
            Who::Reused => "reused",
            Who::Fresh => "fresh",
            Who::Shared => "shared",
            Who::Steps => "steps",
        })
    }
}

/// What a crowd is to do.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Gathering {
    /// Who makes its calls.
    pub who: Who,
    /// The component for WASI 0.2; the others lie beside it.
    pub component: PathBuf,
    /// The folder with what was compiled.
    pub cache: PathBuf,
    /// The service.
    pub base_url: String,
    /// Who vouches for it over TLS, where HTTP/2 is spoken and one connection is enough for all;
    /// otherwise each call in flight has its own. Base64 of DER.
    pub authority: Option<String>,
    /// How many calls are measured; before them as many as are in flight open the
    /// connections.
    pub calls: usize,
    /// How many at once.
    pub in_flight: usize,
}

/// What came of a crowd, all of whose calls were answered: one that fails ends the bench.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Crowd {
    /// By how much the memory of the process grew that it shares with nothing, not even
    /// twice with itself (as instances share what nobody has changed in a component's
    /// data), divided by the calls. The kernel's own, for connections, is not in it. It is
    /// measured on Linux alone.
    pub memory_bytes_per_call: Option<f64>,
    /// By how much the linear memory of the one instance grew, divided by the calls in flight.
    pub linear_memory_bytes_per_call: Option<f64>,
    /// How long the calls took that opened the connections, all in flight at once. Unit: seconds.
    pub opening_s: f64,
    /// How many calls there were in each second.
    pub calls_per_s: f64,
    /// What a call computed in this process, in the kernel too.
    pub cpu_us_per_call: f64,
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
        who,
        component,
        cache,
        base_url,
        authority,
        calls,
        in_flight,
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
        component,
        cache: CompiledCache::in_folder(&cache)?,
        trust,
    };
    let load = Load { calls, in_flight };
    let instances = u32::try_from(in_flight)?;
    let harness = |shape| subjects.harness_with(shape, &base_url, &PATIENT);
    match who {
        Who::Native => watch(&subjects.native(&base_url)?, load).await,
        Who::Reused => watch(&harness(Shape::reused(instances))?, load).await,
        Who::Fresh => watch(&harness(Shape::fresh(instances))?, load).await,
        Who::Steps => {
            let steps = subjects.steps(in_flight, &base_url, &PATIENT)?;
            steps.call().await?;
            let before = steps.client.memory_bytes();
            let crowd = watch(&steps, load).await?;
            let grown = steps.client.memory_bytes() - before;
            Ok(Crowd {
                linear_memory_bytes_per_call: Some(grown as f64 / in_flight as f64),
                ..crowd
            })
        }
        Who::Shared => {
            let shared = subjects.shared(in_flight, &base_url, &PATIENT).await?;
            shared.call().await?;
            let before = shared.instance.memory_bytes();
            let crowd = watch(&shared, load).await?;
            let grown = shared.instance.memory_bytes() - before;
            Ok(Crowd {
                linear_memory_bytes_per_call: Some(grown as f64 / in_flight as f64),
                ..crowd
            })
        }
    }
}

async fn watch(caller: &impl Caller, load: Load) -> Result<Crowd> {
    caller.call().await?;
    let before = memory_bytes()?;
    let opening = Load {
        calls: load.in_flight,
        ..load
    };
    let (opened, most_at_first) = with_memory(caller, opening).await?;
    let (taken, most) = with_memory(caller, load).await?;
    let grown = before.zip(most_at_first.max(most)).map(|(before, most)| {
        let grown = most.saturating_sub(before);
        grown as f64 / load.in_flight as f64
    });
    Ok(Crowd {
        memory_bytes_per_call: grown,
        linear_memory_bytes_per_call: None,
        opening_s: opened.wall.as_secs_f64(),
        calls_per_s: taken.calls_per_s(),
        cpu_us_per_call: taken.cpu_us_per_call(),
    })
}

/// What a load takes, and the most memory that was seen meanwhile, where it can be measured.
/// Unit: bytes.
async fn with_memory(caller: &impl Caller, load: Load) -> Result<(Taken, Option<u64>)> {
    let mut most = memory_bytes()?;
    let mut load = pin!(load.put_on(caller));
    loop {
        match timeout(SAMPLE_EVERY, &mut load).await {
            Ok(taken) => return Ok((taken?, most)),
            Err(_) => most = most.max(memory_bytes()?),
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
    serde_json::from_slice(&output.stdout).context("the crowd tells no figures")
}

/// How much memory this process has that it shares with no other, where it can be measured.
#[cfg(target_os = "linux")]
fn memory_bytes() -> Result<Option<u64>> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("cannot read /proc/self/status, which has the memory of this process")?;
    let anonymous = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.strip_suffix("kB"));
    let kib: u64 = anonymous
        .context("no RssAnon in /proc/self/status")?
        .trim()
        .parse()?;
    Ok(Some(kib * 1024))
}

#[cfg(not(target_os = "linux"))]
fn memory_bytes() -> Result<Option<u64>> {
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
