//! Pauses of a workflow, which outlive the engine. An operator who cancels one ends it early, which
//! does no harm.

use crate::bindings::obelisk::types::time::{Datetime, Duration, ScheduleAt};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::pace::Pauses;

/// The number of attempts of a read: with their pauses, half a minute.
const TRIES: u32 = 6;

/// 9999-01-01T00:00:00Z, before the end of the engine's calendar.
const END_MS: u64 = 253_370_764_800_000;

pub(crate) fn after(ms: u64) -> ScheduleAt {
    ScheduleAt::In(Duration::Milliseconds(ms))
}

pub(crate) fn sleep(ms: u64) {
    let _ = engine::sleep(after(ms), None);
}

/// Sleeps until a moment, in milliseconds since 1970-01-01T00:00:00Z.
pub(crate) fn sleep_until(unix_ms: u64) {
    let _ = engine::sleep(ScheduleAt::At(at(unix_ms)), None);
}

/// Returns the current time, which the engine reports when a sleep ends.
pub(crate) fn now_ms() -> u64 {
    loop {
        // One that is cancelled reports nothing.
        if let Ok(now) = engine::sleep(ScheduleAt::Now, None) {
            return now.seconds * 1_000 + u64::from(now.nanoseconds) / 1_000_000;
        }
    }
}

/// Adds up to half of the pause, so that the runs of a campaign do not return all at once.
pub(crate) fn with_jitter(pause_ms: u64) -> u64 {
    pause_ms + engine::random_u64_inclusive(0, pause_ms / 2)
}

/// Repeats a read, which is always safe, while its failure `may_pass`, in addition to the component's
/// own retries.
pub(crate) fn retried<T, E>(
    mut read: impl FnMut() -> Result<T, E>,
    may_pass: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut pauses = Pauses::new(1_000, 30_000);
    for _ in 1..TRIES {
        match read() {
            Err(error) if may_pass(&error) => {}
            answer => return answer,
        }
        sleep(pauses.next_ms());
    }
    read()
}

/// Converts Unix milliseconds, up to [`END_MS`], to the engine's type.
fn at(unix_ms: u64) -> Datetime {
    let unix_ms = unix_ms.min(END_MS);
    Datetime {
        seconds: unix_ms / 1_000,
        nanoseconds: (unix_ms % 1_000) as u32 * 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_milliseconds() {
        let moment = at(1_700_000_000_123);
        assert_eq!(
            (moment.seconds, moment.nanoseconds),
            (1_700_000_000, 123_000_000)
        );
        assert_eq!(at(u64::MAX).seconds, END_MS / 1_000);
    }
}
