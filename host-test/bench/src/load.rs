//! So many calls, so many of them at once.

use super::figure::median;
use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Whatever makes a call.
pub(super) trait Caller: Clone + Send + Sync + 'static {
    fn call(&self) -> impl Future<Output = Result<()>> + Send;
}

/// How many calls, and how many of them at once.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) calls: usize,
    pub(super) in_flight: usize,
}

/// What it took.
pub(super) struct Taken {
    pub(super) calls: usize,
    pub(super) wall: Duration,
    /// Of all threads of this process.
    pub(super) cpu: Duration,
    /// One for each call.
    pub(super) latencies: Vec<Duration>,
}

impl Taken {
    pub(super) fn calls_per_s(&self) -> f64 {
        self.calls as f64 / self.wall.as_secs_f64()
    }

    pub(super) fn cpu_us_per_call(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }

    pub(super) fn median_latency_us(&self) -> f64 {
        let latencies = self.latencies.iter();
        median(
            &latencies
                .map(|it| it.as_secs_f64() * 1e6)
                .collect::<Vec<_>>(),
        )
    }
}

impl Load {
    /// Puts the load on a caller. The first call that fails ends it.
    pub(super) async fn put_on(self, caller: &impl Caller) -> Result<Taken> {
        let left = Arc::new(AtomicUsize::new(self.calls));
        let (began, cpu_before) = (Instant::now(), cpu_time());
        let mut callers = JoinSet::new();
        for _ in 0..self.in_flight.min(self.calls) {
            let (caller, left) = (caller.clone(), left.clone());
            callers.spawn(async move {
                let mut latencies = Vec::new();
                let take = |left: usize| left.checked_sub(1);
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                    .is_ok()
                {
                    let began = Instant::now();
                    caller.call().await?;
                    latencies.push(began.elapsed());
                }
                anyhow::Ok(latencies)
            });
        }
        let mut latencies = Vec::with_capacity(self.calls);
        while let Some(ended) = callers.join_next().await {
            latencies.extend(ended.context("a caller panicked")??);
        }
        Ok(Taken {
            calls: self.calls,
            wall: began.elapsed(),
            cpu: cpu_time().saturating_sub(cpu_before),
            latencies,
        })
    }
}

/// What this process has computed so far, on all its threads, in the kernel too.
pub(super) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
