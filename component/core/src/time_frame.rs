//! When an operation may begin an attempt, and when it must end.

use crate::settings::AccountSettings;
use crate::transport::Limits;

/// The time of an operation, an item of a batch or a poll of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeFrame {
    pub(crate) began_ms: u64,
    /// The latest time until which a rate limit of another request holds it back. It leaves time
    /// for an attempt, and for another one if the first is limited as well.
    pub(crate) latest_hold_ms: u64,
    /// The latest start of an attempt: a later one would make a phone ring without learning of it.
    pub(crate) latest_start_ms: u64,
    deadline_ms: u64,
}

impl TimeFrame {
    /// Creates a frame from now on. An attempt needs its timeout, or half of the frame if that is
    /// less.
    pub(crate) fn new(settings: &AccountSettings, now_ms: u64, duration_ms: u64) -> Self {
        let needed_ms = settings.attempt_timeout_ms.min(duration_ms / 2);
        Self::until(now_ms, now_ms.saturating_add(duration_ms), needed_ms)
    }

    /// Creates a frame in which something must begin, however long it takes.
    pub(crate) fn to_begin(now_ms: u64, duration_ms: u64) -> Self {
        Self::until(now_ms, now_ms.saturating_add(duration_ms), 0)
    }

    fn until(began_ms: u64, deadline_ms: u64, needed_ms: u64) -> Self {
        let latest_start_ms = deadline_ms - needed_ms;
        Self {
            began_ms,
            latest_hold_ms: latest_start_ms - (latest_start_ms - began_ms) / 4,
            latest_start_ms,
            deadline_ms,
        }
    }

    pub(crate) fn may_start(&self, moment_ms: u64) -> bool {
        moment_ms <= self.latest_start_ms && moment_ms < self.deadline_ms
    }

    /// Returns the limits of an attempt that begins now. A connection gets at most three quarters
    /// of its time, so that the host can report its failure before the attempt's time is up.
    pub(crate) fn limits(
        &self,
        settings: &AccountSettings,
        now_ms: u64,
        response_bytes: usize,
    ) -> Limits {
        let left_ms = self.deadline_ms.saturating_sub(now_ms);
        let attempt_ms = settings.attempt_timeout_ms.min(left_ms);
        Limits {
            connect_ms: settings.connect_timeout_ms.min(attempt_ms - attempt_ms / 4),
            attempt_ms,
            response_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::settings;

    #[test]
    fn an_attempt_begins_with_its_timeout_left_or_half_of_the_frame() {
        for (attempt_timeout_ms, now_ms, duration_ms, latest_hold_ms, latest_start_ms) in [
            ("10000", 0, 30_000, 15_000, 20_000),
            ("10000", 100, 30_000, 15_100, 20_100),
            ("10000", 0, 20_000, 7_500, 10_000),
            ("10000", 0, 12_000, 4_500, 6_000),
            ("400", 0, 1_000, 450, 600),
            ("10000", 0, 3, 2, 2),
            ("10000", 5, 1, 6, 6),
            ("10000", 5, 0, 5, 5),
        ] {
            let settings = settings(&[("ATTEMPT_TIMEOUT_MS", attempt_timeout_ms)]);
            let frame = TimeFrame::new(&settings, now_ms, duration_ms);
            let times = (frame.began_ms, frame.latest_hold_ms, frame.latest_start_ms);
            assert_eq!(times, (now_ms, latest_hold_ms, latest_start_ms));
            let end_ms = now_ms + duration_ms;
            for (moment_ms, may_start) in [
                (now_ms, duration_ms > 0),
                (latest_start_ms, latest_start_ms < end_ms),
                (latest_start_ms + 1, false),
                (end_ms, false),
            ] {
                assert_eq!(frame.may_start(moment_ms), may_start, "{duration_ms}");
            }
        }
    }

    #[test]
    fn a_frame_to_begin_in_can_be_used_to_its_end() {
        let frame = TimeFrame::to_begin(100, 1_000);
        assert_eq!((frame.latest_hold_ms, frame.latest_start_ms), (850, 1_100));
        assert!(frame.may_start(1_099) && !frame.may_start(1_100));
    }

    #[test]
    fn an_attempt_ends_with_the_frame_and_a_connection_has_three_quarters_of_it() {
        let settings = settings(&[]);
        let frame = TimeFrame::new(&settings, 0, 12_000);
        for (now_ms, connect_ms, attempt_ms) in [
            (0, 3_000, 10_000),
            (6_000, 3_000, 6_000),
            (9_000, 2_250, 3_000),
            (11_999, 1, 1),
        ] {
            let expected = Limits {
                connect_ms,
                attempt_ms,
                response_bytes: 9,
            };
            assert_eq!(frame.limits(&settings, now_ms, 9), expected, "{now_ms}");
        }
    }
}
