//! What a guest may use up: memory, and time to compute. One that loops or allocates
//! without end is stopped, and the error says so.

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

/// How often the engine looks after its guests.
const TICK: Duration = Duration::from_millis(10);

/// Who computes for longer lets others on the same thread have their turn. A shorter
/// stretch is never interrupted, so that with a virtual clock everything happens in the
/// same order every time.
const TURN: Duration = Duration::from_millis(250);

/// How many elements a table may have; ours has some hundred.
const TABLE_ELEMENTS: usize = 10_000;

/// How many instances, tables and memories a component may have within; ours has some.
const PARTS: usize = 64;

/// How many resources of the host a guest may hold: a batch with 1000 requests in flight
/// needs some ten for each.
pub(crate) const RESOURCES: usize = 262_144;

/// How many handles a guest may hold that wasmtime keeps for it, those of streams, futures and
/// tasks among them: a batch with 1000 requests in flight needs some eight for each.
pub(crate) const HANDLES: usize = 1_000_000;

/// How large the headers of a guest's request may be, all together.
pub(crate) const HEADER_BYTES: usize = 32_768;

/// What an instance may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For all its linear memories together. Unit: bytes.
    pub memory_bytes: usize,
    /// For one call. Only the processor's time counts in which the guest computes: not that
    /// in which it waits, nor that in which the machine does something else. Each poll of a
    /// wait computes for a fraction of a millisecond: a wait of days with pauses of seconds may
    /// need more than the default.
    pub computing: Duration,
}

impl Default for Limits {
    /// 1 GiB, which is some hundred of the largest answers at once, and 30 seconds.
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            computing: Duration::from_secs(30),
        }
    }
}

/// Lets an engine look after its guests for as long as it lives. A thread of its own
/// does it: a guest that loops holds up the thread that it runs on.
pub(crate) fn look_after_guests(engine: &Engine) -> Result<()> {
    let engine = engine.weak();
    thread::Builder::new()
        .name("host-test epochs".to_owned())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })?;
    Ok(())
}

/// The memory of an instance.
#[derive(Debug)]
pub(crate) struct Memory {
    limit_bytes: usize,
    bytes: MemoryBytes,
}

/// How large all linear memories of an instance are, which is also the largest they ever were:
/// they do not shrink. Clones are of the same instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryBytes(Arc<AtomicUsize>);

impl MemoryBytes {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Memory {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit_bytes: limits.memory_bytes,
            bytes: MemoryBytes::default(),
        }
    }

    pub(crate) fn bytes(&self) -> &MemoryBytes {
        &self.bytes
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
            // The engine would ask first and refuse it then.
            return Ok(false);
        }
        let grown = (self.bytes.get() - current).saturating_add(desired);
        if grown > self.limit_bytes {
            bail!(
                "the guest was stopped: it asked for {grown} bytes of memory; the limit is {}",
                self.limit_bytes
            );
        }
        self.bytes.0.store(grown, Ordering::Relaxed);
        Ok(true)
    }

    /// The machine has no more: a guest could not go on without what it asked for.
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
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }
}

/// The time that a guest has computed in its present call.
#[derive(Debug, Clone)]
pub(crate) struct Computing {
    limit: Duration,
    spent: Arc<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// How long it had run before it began to run this time.
    before_ns: AtomicU64,
    /// When it did, by the clock of the thread on which it runs.
    resumed_ns: AtomicU64,
}

impl Computing {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit: limits.computing,
            spent: Arc::default(),
        }
    }

    /// Asked on every tick in which the guest computes.
    pub(crate) fn go_on(&self) -> WasmtimeResult<UpdateDeadline> {
        let spent = self.spent();
        if spent > self.limit {
            let limit_ms = self.limit.as_millis();
            bail!("the guest was stopped: it computed for longer than {limit_ms} ms in one call");
        }
        Ok(match spent > TURN {
            true => UpdateDeadline::Yield(1),
            false => UpdateDeadline::Continue(1),
        })
    }

    /// A call that counts. A guest runs just while its call is polled, and on the thread
    /// that polls: when it waits, the poll has returned.
    pub(crate) async fn count<T>(
        &self,
        call: impl Future<Output = WasmtimeResult<T>>,
    ) -> WasmtimeResult<T> {
        self.spent.before_ns.store(0, Ordering::Relaxed);
        let mut call = pin!(call);
        poll_fn(|context| self.measure(|| call.as_mut().poll(context))).await
    }

    /// Adds what the guest computes in one poll.
    fn measure<T>(&self, poll: impl FnOnce() -> T) -> T {
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

/// For how long the present thread has computed. A call that goes on later may do so on
/// another thread: only differences within a poll mean anything.
fn thread_ns() -> u64 {
    let time = ThreadTime::now().as_duration();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
