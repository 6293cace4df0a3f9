//! Steps when the guest asks for it.

use super::driver::Driver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

/// Never.
const NEVER: u64 = u64::MAX;

/// Goes off once, when a step is due. A task sleeps until then; it is not woken where the next
/// step becomes due later than it thinks, which is so with nearly every call.
#[derive(Default)]
pub(super) struct Alarm(Arc<Shared>);

#[derive(Default)]
struct Shared {
    times: Mutex<Times>,
    is_earlier: Notify,
}

struct Times {
    /// When the next step is due.
    due_ms: u64,
    /// Until when the task sleeps.
    asleep_until_ms: u64,
    task: Option<JoinHandle<()>>,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            due_ms: NEVER,
            asleep_until_ms: NEVER,
            task: None,
        }
    }
}

impl Shared {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes to sleep; until when.
    fn lie_down(&self) -> u64 {
        let mut times = self.times();
        times.asleep_until_ms = times.due_ms;
        times.due_ms
    }

    /// Whether it goes off at this time, which it does once.
    fn goes_off(&self, now_ms: u64) -> bool {
        let mut times = self.times();
        let goes_off = times.due_ms <= now_ms;
        if goes_off {
            times.due_ms = NEVER;
        }
        goes_off
    }
}

impl Alarm {
    /// A step is due then, and not before.
    pub(super) fn set(&self, due_ms: Option<u64>, driver: &Arc<Driver>, runtime: &Handle) {
        let mut times = self.0.times();
        times.due_ms = due_ms.unwrap_or(NEVER);
        if times.due_ms == NEVER {
            return;
        }
        if times.task.is_none() {
            times.asleep_until_ms = times.due_ms;
            let watch = Watch {
                driver: Arc::downgrade(driver),
                runtime_number: driver.runtime_number(),
            };
            let sleeping = run(self.0.clone(), watch);
            times.task = Some(runtime.spawn(sleeping));
        } else if times.due_ms < times.asleep_until_ms {
            times.asleep_until_ms = times.due_ms;
            self.0.is_earlier.notify_one();
        }
    }

    /// Its task has gone with its runtime.
    pub(super) fn forget(&self) {
        *self.0.times() = Times::default();
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(task) = self.0.times().task.take() {
            task.abort();
        }
    }
}

/// Tells the driver when the runtime takes the alarm with it.
struct Watch {
    driver: Weak<Driver>,
    runtime_number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.runtime_has_ended(self.runtime_number);
        }
    }
}

async fn run(alarm: Arc<Shared>, watch: Watch) {
    let driver = &watch.driver;
    loop {
        let due_ms = alarm.lie_down();
        // While it sleeps, it does not keep the driver.
        let Some(due) = driver.upgrade().map(|driver| driver.clock.at_ms(due_ms)) else {
            return;
        };
        tokio::select! {
            biased;
            () = alarm.is_earlier.notified() => {}
            () = sleep_until(due), if due_ms != NEVER => {
                let Some(driver) = driver.upgrade() else { return };
                if alarm.goes_off(driver.clock.now_ms()) {
                    driver.wake();
                }
            }
        }
    }
}
