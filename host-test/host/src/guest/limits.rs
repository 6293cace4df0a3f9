//! What a guest may use up: memory, and time to compute. One that loops or allocates
//! without end is stopped, and the error says so.

use anyhow::Result;
use cpu_time::ThreadTime;
use std::future::{Future, poll_fn};
use std::mem;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
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
/// needs some ten for each, an instance with 10,000 calls some for each.
pub(crate) const RESOURCES: usize = 262_144;

/// How many handles a guest may hold that wasmtime keeps for it, those of streams, futures and
/// tasks among them: a call on WASI 0.3 needs some eight.
pub(crate) const HANDLES: usize = 1_000_000;

/// How large the headers of a guest's request may be, all together.
pub(crate) const HEADER_BYTES: usize = 32_768;

/// What an instance may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For all its linear memories together. Unit: bytes.
    pub memory_bytes: usize,
    /// For one call; where many calls share an instance, for as long as it neither waits nor
    /// ends a call. Only the processor's time counts in which the guest computes: not that
    /// in which it waits, nor that in which the machine does something else. Each poll of a
    /// wait computes for a fraction of a millisecond: a wait of days with pauses of seconds may
    /// need more than the default.
    pub computing: Duration,
    /// For a shared instance: how many calls are in flight on it at once. The others wait
    /// outside, where they take no memory of the guest, and their deadlines do not run yet. A
    /// call that was dropped in a pause counts until the pause ends.
    pub calls: NonZeroUsize,
}

/// As many as the handles and resources of an instance suffice for, with room to spare, if
/// each call has one request open; a batch has many.
const CALLS: NonZeroUsize = NonZeroUsize::new(16_384).unwrap();

impl Default for Limits {
    /// 1 GiB, which is some hundred of the largest answers at once, 30 seconds, and 16,384 calls.
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            computing: Duration::from_secs(30),
            calls: CALLS,
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
    /// What the last growth added, which the engine may still refuse.
    added_bytes: usize,
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
            added_bytes: 0,
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
        self.added_bytes = desired - current;
        Ok(true)
    }

    /// wasmtime 48 calls it just after it was notified that the memory may grow, and only then,
    /// unless a memory has pages of one byte, which `Sandbox` does not allow.
    fn memory_grow_failed(&mut self, _: WasmtimeError) -> WasmtimeResult<()> {
        let added_bytes = mem::take(&mut self.added_bytes);
        self.bytes.0.fetch_sub(added_bytes, Ordering::Relaxed);
        Ok(())
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

/// The calls of a guest, and the time that it has computed in the present one.
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
    /// Whether it only lets others have their turn and goes on then.
    gave_way: AtomicBool,
    /// Whether it has many calls at the same time.
    is_shared: AtomicBool,
    /// How many calls began.
    begun: AtomicU32,
    /// How many of them returned: neither trapped nor were dropped in the middle.
    returned: AtomicU32,
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
            let during = match self.spent.is_shared.load(Ordering::Relaxed) {
                true => "without waiting or ending a call",
                false => "in one call",
            };
            bail!("the guest was stopped: it computed for longer than {limit_ms} ms {during}");
        }
        Ok(match spent > TURN {
            true => {
                self.spent.gave_way.store(true, Ordering::Relaxed);
                UpdateDeadline::Yield(1)
            }
            false => UpdateDeadline::Continue(1),
        })
    }

    /// A call that counts. A guest runs just while its call is polled, and on the thread
    /// that polls: when it waits, the poll has returned.
    pub(crate) async fn count<T>(
        &self,
        call: impl Future<Output = WasmtimeResult<T>>,
    ) -> WasmtimeResult<T> {
        let spent = &self.spent;
        spent.begun.fetch_add(1, Ordering::Relaxed);
        spent.before_ns.store(0, Ordering::Relaxed);
        let mut call = pin!(call);
        let result = poll_fn(|context| self.measure(|| call.as_mut().poll(context))).await?;
        spent.returned.fetch_add(1, Ordering::Relaxed);
        Ok(result)
    }

    /// Many calls at the same time, which never end as long as others come: what counts is
    /// each stretch in which the guest computes without waiting for anything and without
    /// ending a call.
    #[cfg(any(test, feature = "wasi-0-3"))]
    pub(crate) async fn count_each_stretch<T>(
        &self,
        calls: impl Future<Output = WasmtimeResult<T>>,
    ) -> WasmtimeResult<T> {
        let spent = &self.spent;
        spent.is_shared.store(true, Ordering::Relaxed);
        let mut calls = pin!(calls);
        poll_fn(|context| {
            if !spent.gave_way.swap(false, Ordering::Relaxed) {
                spent.before_ns.store(0, Ordering::Relaxed);
            }
            self.measure(|| calls.as_mut().poll(context))
        })
        .await
    }

    /// A call has ended: a guest that never waits because there is always another call is
    /// busy, and does not loop.
    #[cfg(any(test, feature = "wasi-0-3"))]
    pub(crate) fn begin_stretch(&self) {
        self.spent.before_ns.store(0, Ordering::Relaxed);
        self.spent.resumed_ns.store(thread_ns(), Ordering::Relaxed);
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

    /// How many calls began, instantiation included.
    pub(crate) fn calls(&self) -> u32 {
        self.spent.begun.load(Ordering::Relaxed)
    }

    /// Whether all of them returned.
    pub(crate) fn all_returned(&self) -> bool {
        self.spent.returned.load(Ordering::Relaxed) == self.calls()
    }

    fn spent(&self) -> Duration {
        let resumed_ns = self.spent.resumed_ns.load(Ordering::Relaxed);
        let before_ns = self.spent.before_ns.load(Ordering::Relaxed);
        Duration::from_nanos(before_ns + thread_ns().saturating_sub(resumed_ns))
    }
}

/// The time that a guest has computed in the present call, where a call is one that neither waits
/// nor moves to another thread.
#[derive(Debug, Clone)]
pub(crate) struct StepComputing {
    limit: Duration,
    /// When the first tick of the present call came, by the clock of its thread; 0 before it.
    since_ns: Arc<AtomicU64>,
}

impl StepComputing {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limit: limits.computing,
            since_ns: Arc::default(),
        }
    }

    /// A call begins. Asking the clock costs as much as a tenth of a usual call, so that it is not
    /// asked before the first tick.
    pub(crate) fn begin(&self) {
        self.since_ns.store(0, Ordering::Relaxed);
    }

    /// Asked on every tick in which the guest computes.
    pub(crate) fn go_on(&self) -> WasmtimeResult<UpdateDeadline> {
        let now_ns = thread_ns();
        match self.since_ns.load(Ordering::Relaxed) {
            0 => self.since_ns.store(now_ns.max(1), Ordering::Relaxed),
            since_ns if Duration::from_nanos(now_ns.saturating_sub(since_ns)) > self.limit => {
                let limit_ms = self.limit.as_millis();
                bail!(
                    "the guest was stopped: it computed for longer than {limit_ms} ms in one step"
                );
            }
            _ => {}
        }
        Ok(UpdateDeadline::Continue(1))
    }
}

/// For how long the present thread has computed. A call that goes on later may do so on
/// another thread: only differences within a poll mean anything.
fn thread_ns() -> u64 {
    let time = ThreadTime::now().as_duration();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    /// Computes for 15 ms three times without waiting, as one poll of a shared instance.
    async fn compute_thrice(between: impl Fn(&Computing)) -> WasmtimeResult<()> {
        let computing = Computing::new(Limits {
            computing: LIMIT,
            ..Limits::default()
        });
        let within = computing.clone();
        let stretches = async move {
            for _ in 0..3 {
                let until_ns = thread_ns() + 15_000_000;
                while thread_ns() < until_ns {}
                within.go_on()?;
                between(&within);
            }
            Ok(())
        };
        computing.count_each_stretch(stretches).await
    }

    #[tokio::test]
    async fn a_guest_that_ends_call_after_call_is_not_stopped_however_long_it_is_busy() {
        compute_thrice(Computing::begin_stretch).await.unwrap();
    }

    #[tokio::test]
    async fn a_guest_that_computes_without_ending_a_call_is_stopped() {
        let error = compute_thrice(|_| {}).await.unwrap_err();
        assert!(
            error.to_string().contains("computed for longer than 20 ms"),
            "{error}"
        );
    }
}
