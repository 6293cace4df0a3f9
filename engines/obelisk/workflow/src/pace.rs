//! Time limits and poll intervals: a caller's options, checked and completed.

use voice_calling_core::types::Problem;

use crate::bindings::voice_calling::workflows::types::RunOptions;
use crate::error::problem;

pub(crate) const CREATE_WITHIN_MS: u64 = 600_000;
const FIRST_POLL_MS: u64 = 60_000;
const LONGEST_POLL_MS: u64 = 3_600_000;
const INSIGHTS_WITHIN_MS: u64 = 10_000;

/// Each poll lengthens the history, which the engine replays whenever the run resumes.
const MOST_POLLS: u64 = 500;

/// A century: more overflows the engine's calendar.
const LONGEST_MS: u64 = 100 * 365 * 24 * 3_600_000;

/// The options with their defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub create_within_ms: u64,
    /// The time until each poll, of which the last one is when the run's time is over. Each time
    /// begins when the one before it has passed.
    pub polls: LimitedPauses,
    pub insights_within_ms: u64,
}

impl Pace {
    pub(crate) fn read(options: &RunOptions) -> Result<Self, Problem> {
        let timeout_ms = options.timeout_ms;
        check("options.timeout-ms", timeout_ms, 1)?;
        let first_poll_ms = options.first_poll_ms.unwrap_or(FIRST_POLL_MS);
        check("options.first-poll-ms", first_poll_ms, 1)?;
        // A longer first pause or timeout raises the default of the longest pause with it.
        let least_longest_ms = first_poll_ms.max(timeout_ms / MOST_POLLS);
        let longest_poll_ms = options.longest_poll_ms;
        let longest_poll_ms = longest_poll_ms.unwrap_or(LONGEST_POLL_MS.max(least_longest_ms));
        check("options.longest-poll-ms", longest_poll_ms, least_longest_ms)?;
        let create_within_ms = options.create_within_ms.unwrap_or(CREATE_WITHIN_MS);
        check("options.create-within-ms", create_within_ms, 0)?;
        let insights_within_ms = options.insights_within_ms.unwrap_or(INSIGHTS_WITHIN_MS);
        check("options.insights-within-ms", insights_within_ms, 0)?;
        Ok(Self {
            create_within_ms,
            polls: LimitedPauses::new(first_poll_ms, longest_poll_ms, timeout_ms),
            insights_within_ms,
        })
    }
}

fn check(subject: &str, found: u64, least: u64) -> Result<(), Problem> {
    if (least..=LONGEST_MS).contains(&found) {
        return Ok(());
    }
    let allowed = format!("{least} to {LONGEST_MS} milliseconds");
    Err(problem(subject, &found.to_string(), &allowed))
}

/// Pauses, each twice as long as the one before, up to the longest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pauses {
    next_ms: u64,
    longest_ms: u64,
}

impl Pauses {
    pub(crate) fn new(first_ms: u64, longest_ms: u64) -> Self {
        Self {
            next_ms: first_ms,
            longest_ms,
        }
    }

    pub(crate) fn next_ms(&mut self) -> u64 {
        let pause_ms = self.next_ms.min(self.longest_ms);
        self.next_ms = pause_ms.saturating_mul(2);
        pause_ms
    }
}

/// Pauses that end when they have taken `left_ms` together; the last one is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LimitedPauses {
    pauses: Pauses,
    left_ms: u64,
}

impl LimitedPauses {
    pub(crate) fn new(first_ms: u64, longest_ms: u64, left_ms: u64) -> Self {
        Self {
            pauses: Pauses::new(first_ms, longest_ms),
            left_ms,
        }
    }

    pub(crate) fn next_ms(&mut self) -> Option<u64> {
        let ms = self.pauses.next_ms().min(self.left_ms);
        self.left_ms -= ms;
        (ms > 0).then_some(ms)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn options() -> RunOptions {
        RunOptions {
            timeout_ms: 1,
            create_within_ms: None,
            first_poll_ms: None,
            longest_poll_ms: None,
            insights_within_ms: None,
            hand_off: None,
            opt_out: None,
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut pauses = Pauses::new(3, 10);
        let seen: Vec<_> = (0..5).map(|_| pauses.next_ms()).collect();
        assert_eq!(seen, [3, 6, 10, 10, 10]);
        let mut large = Pauses::new(LONGEST_MS, LONGEST_MS);
        assert_eq!([large.next_ms(), large.next_ms()], [LONGEST_MS; 2]);
    }

    #[test]
    fn the_last_poll_is_at_the_end_of_the_time() {
        let with = |timeout_ms| RunOptions {
            timeout_ms,
            first_poll_ms: Some(3),
            longest_poll_ms: Some(10),
            ..options()
        };
        for (timeout_ms, polls) in [
            (1, vec![1]),
            (3, vec![3]),
            (20, vec![3, 6, 10, 1]),
            (29, vec![3, 6, 10, 10]),
        ] {
            let mut pace = Pace::read(&with(timeout_ms)).unwrap();
            let seen: Vec<_> = std::iter::from_fn(|| pace.polls.next_ms()).collect();
            assert_eq!(seen, polls, "{timeout_ms}");
        }
    }

    #[test]
    fn what_is_left_out_has_the_documented_value() {
        let pace = Pace::read(&options()).unwrap();
        assert_eq!(pace.create_within_ms, 600_000);
        assert_eq!(pace.polls.pauses, Pauses::new(60_000, 3_600_000));
        assert_eq!(pace.insights_within_ms, 10_000);
        let long = RunOptions {
            timeout_ms: 1_000 * 3_600_000,
            ..options()
        };
        let polls = Pace::read(&long).unwrap().polls.pauses;
        assert_eq!(polls, Pauses::new(60_000, 2 * 3_600_000));
        let day = RunOptions {
            first_poll_ms: Some(86_400_000),
            ..options()
        };
        let polls = Pace::read(&day).unwrap().polls.pauses;
        assert_eq!(polls, Pauses::new(86_400_000, 86_400_000));
    }

    #[test]
    fn an_option_out_of_range_is_named() {
        let with = |timeout_ms, first_poll_ms, longest_poll_ms| RunOptions {
            timeout_ms,
            first_poll_ms,
            longest_poll_ms,
            ..options()
        };
        let create = RunOptions {
            create_within_ms: Some(u64::MAX),
            ..options()
        };
        let insights = RunOptions {
            insights_within_ms: Some(u64::MAX),
            ..options()
        };
        let cases = [
            (with(0, None, None), "timeout-ms"),
            (with(u64::MAX, None, None), "timeout-ms"),
            (with(1, Some(0), None), "first-poll-ms"),
            (with(1, Some(5), Some(4)), "longest-poll-ms"),
            (with(60_000, Some(1), Some(119)), "longest-poll-ms"),
            (create, "create-within-ms"),
            (insights, "insights-within-ms"),
        ];
        for (options, field) in cases {
            let problem = Pace::read(&options).unwrap_err();
            assert_eq!(problem.subject, format!("options.{field}"));
        }
    }
}
