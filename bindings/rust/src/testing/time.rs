//! Time that passes when all operations wait for it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};
use std::{fmt, mem};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::yield_now;

/// The number of turns that the other tasks of a runtime get before time passes: they may begin
/// further operations.
const QUIET_TURNS: usize = 3;

tokio::task_local! {
    /// The time of the operation that is being polled.
    static OF_OPERATION: Time;
}

/// The time of a service and its clients. Clones are the same time.
#[derive(Clone)]
pub(crate) struct Time(Arc<Shared>);

struct Shared {
    began: SystemTime,
    state: Mutex<State>,
    /// Notified when no operation is busy.
    idle: Notify,
}

#[derive(Default)]
struct State {
    now: Duration,
    /// Those that sleep, by the end of their sleep, and by age among equals.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    sleeps: u64,
    /// The number of operations that run, or wait for something that is not in this time.
    busy: usize,
    holds: usize,
    /// Whether a task is about to let time pass.
    is_passing: bool,
}

impl Time {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            began: SystemTime::now(),
            state: Mutex::default(),
            idle: Notify::new(),
        }))
    }

    /// Returns the time of the operation that is being polled, if it is a scripted one.
    pub(crate) fn of_operation() -> Option<Self> {
        OF_OPERATION.try_with(Self::clone).ok()
    }

    /// Returns the time since the service was created.
    pub(crate) fn now(&self) -> Duration {
        self.lock().now
    }

    pub(crate) fn date(&self) -> SystemTime {
        self.0.began + self.now()
    }

    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        let mut state = self.lock();
        state.sleeps += 1;
        Sleep {
            time: self.clone(),
            until: (state.now.saturating_add(duration), state.sleeps),
        }
    }

    /// Lets time stand still until the guard is dropped.
    pub(crate) fn busy(&self) -> Busy {
        self.lock().busy += 1;
        Busy(self.clone())
    }

    /// Lets time pass only by `advance` until the guard is dropped.
    pub(super) fn hold(&self) -> TimeHold {
        self.lock().holds += 1;
        TimeHold(self.clone())
    }

    pub(super) async fn advance(&self, duration: Duration) {
        let end = self.now().saturating_add(duration);
        loop {
            self.quiet().await;
            if !self.pass_to_next(end) {
                break;
            }
        }
        let mut state = self.lock();
        state.now = state.now.max(end);
    }

    /// Waits until no operation is busy.
    async fn quiet(&self) {
        for _ in 0..QUIET_TURNS {
            yield_now().await;
        }
        loop {
            let idle = self.0.idle.notified();
            if self.lock().busy == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Goes on to the end of the next sleep, unless that is after `end`.
    fn pass_to_next(&self, end: Duration) -> bool {
        let mut state = self.lock();
        let Some(sleeper) = state.sleepers.first_entry() else {
            return false;
        };
        let (until, _) = *sleeper.key();
        if until > end {
            return false;
        }
        let waker = sleeper.remove();
        state.now = state.now.max(until);
        drop(state);
        let _busy = self.busy();
        waker.wake();
        true
    }

    /// Lets time pass soon if nothing else goes on.
    fn on_idle(&self, mut state: MutexGuard<'_, State>) {
        if state.busy > 0 {
            return;
        }
        self.0.idle.notify_waiters();
        if state.holds > 0 || state.sleepers.is_empty() || state.is_passing {
            return;
        }
        state.is_passing = true;
        drop(state);
        let passing = Passing(self.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                for _ in 0..QUIET_TURNS {
                    yield_now().await;
                }
                drop(passing);
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets time pass once it is dropped, by its task or with its runtime.
struct Passing(Time);

impl Drop for Passing {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_passing = false;
        let may_pass = state.busy == 0 && state.holds == 0;
        drop(state);
        if may_pass {
            self.0.pass_to_next(Duration::MAX);
        }
    }
}

/// A sleep, which ends when time has passed.
pub(crate) struct Sleep {
    time: Time,
    until: (Duration, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.time.lock();
        if self.until.0 <= state.now {
            return Poll::Ready(());
        }
        let _before = state.sleepers.insert(self.until, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let _waker = self.time.lock().sleepers.remove(&self.until);
    }
}

/// Something during which time stands still.
pub(crate) struct Busy(Time);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        self.0.on_idle(state);
    }
}

/// While it exists, the time of a [`ScriptedService`](super::ScriptedService) passes only by
/// [`advance`](super::ScriptedService::advance).
#[must_use]
pub struct TimeHold(Time);

impl fmt::Debug for TimeHold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TimeHold")
    }
}

impl Drop for TimeHold {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.holds -= 1;
        self.0.on_idle(state);
    }
}

/// Runs an operation during whose steps time stands still: from when it is woken until it waits.
pub(crate) async fn watched<F: Future>(time: Time, operation: F) -> F::Output {
    let steps = Steps(Arc::new(Step {
        time,
        state: Mutex::default(),
    }));
    let step = &steps.0;
    let waker = Waker::from(step.clone());
    // Its sleeps end before its steps.
    let mut operation = pin!(operation);
    poll_fn(|context| {
        step.begin(context.waker());
        let mut context = Context::from_waker(&waker);
        let poll = || operation.as_mut().poll(&mut context);
        let polled = OF_OPERATION.sync_scope(step.time.clone(), poll);
        if polled.is_pending() {
            step.end();
        }
        polled
    })
    .await
}

/// The steps of an operation.
struct Steps(Arc<Step>);

/// Wakers of an operation that is gone may be left.
impl Drop for Steps {
    fn drop(&mut self) {
        let ended = mem::take(&mut *self.0.lock());
        drop(ended);
    }
}

/// A step of an operation.
struct Step {
    time: Time,
    state: Mutex<StepState>,
}

#[derive(Default)]
struct StepState {
    busy: Option<Busy>,
    /// Whether another step is to follow at once.
    is_woken: bool,
    /// Wakes the task; `None` if the operation is gone.
    waker: Option<Waker>,
}

impl Step {
    fn begin(&self, waker: &Waker) {
        let mut state = self.lock();
        state.is_woken = false;
        state.busy.get_or_insert_with(|| self.time.busy());
        state.waker = Some(waker.clone());
    }

    fn end(&self) {
        let mut state = self.lock();
        let busy = match state.is_woken {
            true => None,
            false => state.busy.take(),
        };
        // Time may pass now, and wake this operation.
        drop(state);
        drop(busy);
    }

    fn lock(&self) -> MutexGuard<'_, StepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Step {
    fn wake(self: Arc<Self>) {
        let mut state = self.lock();
        let Some(waker) = state.waker.clone() else {
            return;
        };
        state.is_woken = true;
        state.busy.get_or_insert_with(|| self.time.busy());
        drop(state);
        waker.wake();
    }
}
