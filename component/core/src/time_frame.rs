//! When an operation may begin an attempt, and when it must end.

use crate::settings::AccountSettings;
use crate::transport::Timeouts;

/// The time that an operation, an item of a batch or a poll of a wait has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeFrame {
    pub(crate) began_ms: u64,
    /// Until when a rate limit of others may hold it back: there is time left for an attempt, and
    /// for another where the first meets the limit, too.
    pub(crate) patience_ms: u64,
    /// No attempt begins later: it would make a phone ring, and not hear of it.
    pub(crate) latest_start_ms: u64,
    deadline_ms: u64,
}

impl TimeFrame {
    /// A frame from now on. An attempt needs its timeout, or half of the frame where that is less.
    pub(crate) fn new(settings: &AccountSettings, now_ms: u64, duration_ms: u64) -> Self {
        let needed_ms = settings.attempt_timeout_ms.min(duration_ms / 2);
        Self::until(now_ms, now_ms.saturating_add(duration_ms), needed_ms)
    }

    /// A frame in which something must begin, however long it takes.
    pub(crate) fn to_begin(now_ms: u64, duration_ms: u64) -> Self {
        Self::until(now_ms, now_ms.saturating_add(duration_ms), 0)
    }

    fn until(began_ms: u64, deadline_ms: u64, needed_ms: u64) -> Self {
        let latest_start_ms = deadline_ms - needed_ms;
        Self {
            began_ms,
            patience_ms: latest_start_ms - (latest_start_ms - began_ms) / 4,
            latest_start_ms,
            deadline_ms,
        }
    }

    /// Whether an attempt may begin at this moment.
    pub(crate) fn may_begin(&self, moment_ms: u64) -> bool {
        moment_ms <= self.latest_start_ms && moment_ms < self.deadline_ms
    }

    /// The timeouts of an attempt that begins now. A connection gets three quarters of it at the
    /// most, so that the host can say that there was none before the attempt's time is up.
    pub(crate) fn timeouts(&self, settings: &AccountSettings, now_ms: u64) -> Timeouts {
        let left_ms = self.deadline_ms.saturating_sub(now_ms);
        let attempt_ms = settings.attempt_timeout_ms.min(left_ms);
        Timeouts {
            connect_ms: settings.connect_timeout_ms.min(attempt_ms - attempt_ms / 4),
            attempt_ms,
        }
    }
}
