//! A load: the calls of one subject, in a process of their own, so that its CPU time is theirs.

use super::native::NativeClient;
use super::subject::{self, Keyed, Subject};
use super::with_reqwest::ReqwestClient;
use anyhow::{Context, Result, ensure};
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// The calls to make, and the subject that makes them.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Load {
    pub(super) subject: Subject,
    /// The component for WASI 0.2; the others are beside it.
    pub(super) component: PathBuf,
    /// The folder of compiled components.
    pub(super) cache: PathBuf,
    pub(super) base_url: String,
    /// The number of calls in flight, each on a connection of its own.
    pub(super) in_flight: usize,
    /// The number of calls that are measured, after those that open the connections.
    pub(super) calls: usize,
}

/// The cost of a load, all of whose calls were answered: one that fails ends the bench.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Measurement {
    pub(super) calls_per_s: f64,
    /// The CPU time of a call in this process, of all threads and including the kernel's.
    pub(super) cpu_us_per_call: f64,
}

/// A client that makes calls.
pub(super) trait Caller: Clone + Send + Sync + 'static {
    /// Creates a docket.
    fn call(&self) -> impl Future<Output = Result<()>> + Send;
}

/// Makes the calls of a load in this process, and measures them.
pub(super) async fn measure(load: &Load) -> Result<Measurement> {
    match load.subject {
        Subject::Native => measure_calls(&NativeClient::new(&load.base_url)?, load).await,
        Subject::Reqwest => measure_calls(&ReqwestClient::new(&load.base_url)?, load).await,
        Subject::Rust => measure_calls(&subject::rust(load).build()?, load).await,
        Subject::RustKeyed => measure_calls(&Keyed::new(subject::rust(load))?, load).await,
        _ => measure_calls(&subject::component(load)?, load).await,
    }
}

async fn measure_calls(caller: &impl Caller, load: &Load) -> Result<Measurement> {
    make_calls(caller, load.in_flight, load.in_flight).await?;
    let (began, cpu) = (Instant::now(), ProcessTime::now());
    make_calls(caller, load.calls, load.in_flight).await?;
    let (wall, cpu, calls) = (began.elapsed(), cpu.elapsed(), load.calls as f64);
    Ok(Measurement {
        calls_per_s: calls / wall.as_secs_f64(),
        cpu_us_per_call: cpu.as_secs_f64() * 1e6 / calls,
    })
}

/// Makes `calls` calls, `in_flight` at a time. Each caller ends at its first that fails.
async fn make_calls(caller: &impl Caller, calls: usize, in_flight: usize) -> Result<()> {
    let left = Arc::new(AtomicUsize::new(calls));
    let mut callers = JoinSet::new();
    for _ in 0..in_flight {
        let (caller, left) = (caller.clone(), left.clone());
        let take = |left: usize| left.checked_sub(1);
        callers.spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
            {
                caller.call().await?;
            }
            Ok(())
        });
    }
    callers.join_all().await.into_iter().collect()
}

/// Has another process of this program make the calls; it prints the result of [`measure`].
pub(super) fn in_own_process(load: &Load) -> Result<Measurement> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--load", &serde_json::to_string(load)?])
        .output()
        .context("cannot start the load")?;
    ensure!(
        output.status.success(),
        "the load fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the load printed no figures")
}
