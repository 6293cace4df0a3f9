//! So many calls, so many of them at once.

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Whatever makes a call.
pub(super) trait Caller: Clone + Send + Sync + 'static {
    fn call(&self) -> impl Future<Output = Result<()>> + Send;

    /// So many dockets by one call.
    fn call_batch(&self, _size: usize) -> impl Future<Output = Result<()>> + Send {
        async { bail!("not available: it has no batches") }
    }
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
    /// One for each call, in order.
    pub(super) latencies: Vec<Duration>,
}

impl Taken {
    pub(super) fn calls_per_s(&self) -> f64 {
        self.calls as f64 / self.wall.as_secs_f64()
    }

    pub(super) fn cpu_us_per_call(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }

    /// So many of 100 calls took so long or less. Unit: microseconds.
    pub(super) fn latency_us(&self, percent: usize) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let index = (self.latencies.len() * percent / 100).min(last);
        let latency = self.latencies.get(index);
        latency.map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
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
        let (wall, cpu) = (began.elapsed(), cpu_time().saturating_sub(cpu_before));
        latencies.sort();
        Ok(Taken {
            calls: self.calls,
            wall,
            cpu,
            latencies,
        })
    }
}

/// All of a load's calls as one batch.
pub(super) async fn batch(caller: &impl Caller, size: usize) -> Result<Taken> {
    let (began, cpu_before) = (Instant::now(), cpu_time());
    caller.call_batch(size).await?;
    let wall = began.elapsed();
    Ok(Taken {
        calls: size,
        wall,
        cpu: cpu_time().saturating_sub(cpu_before),
        latencies: vec![wall],
    })
}

/// What this process has computed so far, on all its threads, in the kernel too.
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
        let taken = Taken {
            calls: 4,
            wall: Duration::from_secs(2),
            cpu: Duration::from_micros(8),
            latencies: [1, 2, 3, 9].map(Duration::from_micros).into(),
        };
        assert_eq!((taken.latency_us(50), taken.latency_us(99)), (3.0, 9.0));
        assert_eq!((taken.calls_per_s(), taken.cpu_us_per_call()), (2.0, 2.0));
    }
}
