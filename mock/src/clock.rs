//! The service's time: that of the machine, and by how much it was advanced.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};
use tokio::sync::watch;
use tokio::time::timeout;

/// The most by which a clock is advanced in all: a date keeps its year of four digits.
const MOST_ADVANCED: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A clock that does not go back, whatever the machine's clock does.
pub(super) struct Clock {
    started: (Instant, SystemTime),
    advanced: watch::Sender<Duration>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            started: (Instant::now(), SystemTime::now()),
            advanced: watch::Sender::default(),
        }
    }

    /// Returns the real time since the start.
    pub(super) fn uptime(&self) -> Duration {
        self.started.0.elapsed()
    }

    pub(super) fn now(&self) -> SystemTime {
        self.started.1 + self.uptime() + *self.advanced.borrow()
    }

    /// Advances the clock, and wakes what waits on it.
    pub(super) fn advance(&self, by: Duration) -> Result<()> {
        let is_advanced = self.advanced.send_if_modified(|advanced| {
            let sum = advanced.checked_add(by);
            let sum = sum.filter(|sum| *sum <= MOST_ADVANCED);
            *advanced = sum.unwrap_or(*advanced);
            sum.is_some()
        });
        ensure!(
            is_advanced,
            "the clock is advanced by at most 100 years in all"
        );
        Ok(())
    }

    /// Waits until `time`; `None` is for ever.
    pub(super) async fn sleep_until(&self, time: Option<SystemTime>) {
        let mut advanced = self.advanced.subscribe();
        let Some(time) = time else {
            return std::future::pending().await;
        };
        while let Ok(left) = time.duration_since(self.now())
            && !left.is_zero()
        {
            let _advanced_or_over = timeout(left, advanced.changed()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn those_who_advance_it_at_once_advance_it_by_the_sum() {
        let clock = Clock::new();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        clock.advance(Duration::from_secs(1)).unwrap();
                    }
                });
            }
        });
        assert_eq!(*clock.advanced.borrow(), Duration::from_secs(200_000));
    }
}
