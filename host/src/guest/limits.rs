//! Limits on a guest's memory and computing time. A guest that loops or allocates without end is
//! stopped with an error that says so.

use anyhow::Result;
use cpu_time::ThreadTime;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use wasmtime::{
    Engine, Error as WasmtimeError, ResourceLimiter, Result as WasmtimeResult, UpdateDeadline, bail,
};

/// The interval at which the engine checks its guests.
const TICK: Duration = Duration::from_millis(10);

/// The time after which a guest lets others on the same thread compute. Shorter computations are
/// never interrupted, so that with a virtual clock everything happens in the same order every time.
const TIME_SLICE: Duration = Duration::from_millis(250);

/// The maximum number of elements in a table; ours has some hundred.
const TABLE_ELEMENTS: usize = 10_000;

/// The maximum number of instances, of tables and of memories within a component; ours has a few.
const MAX_PARTS: usize = 64;

/// The maximum number of host resources that a guest may hold: a batch with 1000 requests in flight
/// needs some ten for each.
pub(crate) const RESOURCES: usize = 262_144;

/// The maximum number of handles that wasmtime keeps for a guest, including those of streams,
/// futures and tasks: a batch with 1000 requests in flight needs some eight for each.
pub(crate) const HANDLES: usize = 1_000_000;

/// The maximum total size of the headers of a guest's request, in bytes.
pub(crate) const HEADER_BYTES: usize = 32_768;

/// The limits of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The limit of all its linear memories together, in bytes.
    pub memory_bytes: usize,
    /// The limit of the processor time of one call. Only the time that the guest uses counts,
    /// not the time in which it waits or the machine does something else. Each poll of a wait
    /// computes for a fraction of a millisecond: a wait of days with pauses of seconds may need
    /// more than the default.
    pub cpu_time: Duration,
}

impl Default for Limits {
    /// Returns 1 GiB, which is some hundred of the largest answers at once, and 30 seconds.
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            cpu_time: Duration::from_secs(30),
        }
    }
}

/// Increments the epoch of an engine in a thread, for as long as the engine lives: a guest that
/// loops blocks the thread that it runs on.
pub(crate) fn spawn_epoch_ticker(engine: &Engine) -> Result<()> {
    let engine = engine.weak();
    thread::Builder::new()
        .name("wasm epochs".to_owned())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })?;
    Ok(())
}

/// The linear memories of an instance.
#[derive(Debug)]
pub(crate) struct Memory {
    limit_bytes: usize,
    /// Their total size, which never shrinks.
    pub(crate) bytes: Arc<AtomicUsize>,
}

impl Memory {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit_bytes: limits.memory_bytes,
            bytes: Arc::default(),
        }
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> WasmtimeResult<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            // The engine refuses this growth itself.
            return Ok(false);
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        let grown = (bytes - current).saturating_add(desired);
        if grown > self.limit_bytes {
            bail!(
                "the guest was stopped: it asked for {grown} bytes of memory; the limit is {}",
                self.limit_bytes
            );
        }
        self.bytes.store(grown, Ordering::Relaxed);
        Ok(true)
    }

    /// Stops the guest, which cannot continue without memory that the machine does not have.
    fn memory_grow_failed(&mut self, error: WasmtimeError) -> WasmtimeResult<()> {
        Err(error.context("the guest was stopped: it got no more memory"))
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> WasmtimeResult<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        if desired > TABLE_ELEMENTS {
            bail!(
                "the guest was stopped: it asked for a table of {desired} elements; the limit is {TABLE_ELEMENTS}"
            );
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_PARTS
    }

    fn tables(&self) -> usize {
        MAX_PARTS
    }

    fn memories(&self) -> usize {
        MAX_PARTS
    }
}

/// The processor time of a guest in its current call, and its limit.
#[derive(Debug, Clone)]
pub(crate) struct CpuBudget {
    limit: Duration,
    spent: Arc<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// The time that it had computed before it last resumed.
    before_ns: AtomicU64,
    /// When it last resumed, by the clock of the thread on which it runs.
    resumed_ns: AtomicU64,
}

impl CpuBudget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit: limits.cpu_time,
            spent: Arc::default(),
        }
    }

    /// Stops the guest if it has used up its time, and lets it yield after its time slice. It is
    /// called on every tick in which the guest runs.
    pub(crate) fn on_epoch(&self) -> WasmtimeResult<UpdateDeadline> {
        let spent = self.spent();
        if spent > self.limit {
            let limit_ms = self.limit.as_millis();
            bail!("the guest was stopped: it computed for longer than {limit_ms} ms in one call");
        }
        Ok(match spent > TIME_SLICE {
            true => UpdateDeadline::Yield(1),
            false => UpdateDeadline::Continue(1),
        })
    }

    /// Counts the time of a call. A guest runs only while its call is polled, and on the thread
    /// that polls: when it waits, the poll has returned.
    pub(crate) async fn measure<T>(
        &self,
        call: impl Future<Output = WasmtimeResult<T>>,
    ) -> WasmtimeResult<T> {
        self.spent.before_ns.store(0, Ordering::Relaxed);
        let mut call = pin!(call);
        poll_fn(|context| self.measure_poll(|| call.as_mut().poll(context))).await
    }

    /// Adds the computing time of one poll.
    fn measure_poll<T>(&self, poll: impl FnOnce() -> T) -> T {
        let spent = &self.spent;
        spent.resumed_ns.store(thread_ns(), Ordering::Relaxed);
        let polled = poll();
        let resumed_ns = spent.resumed_ns.load(Ordering::Relaxed);
        let ran_ns = thread_ns().saturating_sub(resumed_ns);
        spent.before_ns.fetch_add(ran_ns, Ordering::Relaxed);
        polled
    }

    fn spent(&self) -> Duration {
        let resumed_ns = self.spent.resumed_ns.load(Ordering::Relaxed);
        let before_ns = self.spent.before_ns.load(Ordering::Relaxed);
        Duration::from_nanos(before_ns + thread_ns().saturating_sub(resumed_ns))
    }
}

/// Returns the computing time of the current thread. A call may continue on another thread: only
/// differences within a poll are meaningful.
fn thread_ns() -> u64 {
    let time = ThreadTime::now().as_duration();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
