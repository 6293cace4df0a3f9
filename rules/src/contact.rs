//! Whether a number may be called: not if its person said so, too often, too soon, or too late in
//! the day.

use std::collections::HashSet;

use crate::Hours;

/// Numbers that must not be called, in the service's form.
#[derive(Clone, Debug, Default)]
pub struct DoNotCall(HashSet<u64>);

impl DoNotCall {
    /// Adds a number. Returns `false` if it was there, or is not in the service's form.
    pub fn insert(&mut self, number: &str) -> bool {
        number.parse().is_ok_and(|number| self.0.insert(number))
    }

    /// Returns `true` if the number must not be called.
    pub fn contains(&self, number: &str) -> bool {
        number.parse().is_ok_and(|number| self.0.contains(&number))
    }
}

/// How often and how soon a number may be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of calls.
    pub max_calls: usize,
    /// The shortest time between the beginnings of two calls.
    pub gap_ms: u64,
}

impl Limits {
    /// Decides whether a number may be called at `at_ms`, if it was called at `earlier_ms` before.
    ///
    /// # Errors
    /// Returns [`Refusal::TooOften`] or [`Refusal::TooSoon`].
    pub fn check(self, at_ms: u64, earlier_ms: &[u64]) -> Result<(), Refusal> {
        if earlier_ms.len() >= self.max_calls {
            return Err(Refusal::TooOften);
        }
        let latest_ms = earlier_ms.iter().max();
        let gap_ends_ms = latest_ms.map_or(0, |latest| latest.saturating_add(self.gap_ms));
        match at_ms < gap_ends_ms {
            true => Err(Refusal::TooSoon(gap_ends_ms)),
            false => Ok(()),
        }
    }
}

/// Why a number may not be called, or not now. Times are milliseconds since
/// 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is on a list of numbers that must not be called.
    DoNotCall,
    /// It was called as often as allowed.
    TooOften,
    /// The gap since its latest call ends then.
    TooSoon(u64),
    /// The next calling hours begin then; `None` if there are none.
    Closed(Option<u64>),
}

/// Decides whether a number may be called at `at_ms`, if it was called at `earlier_ms` before.
///
/// # Errors
/// Returns the first reason against it, those that last longest first.
pub fn may_call(
    number: &str,
    at_ms: u64,
    do_not_call: &DoNotCall,
    limits: Limits,
    earlier_ms: &[u64],
    hours: Option<&Hours>,
) -> Result<(), Refusal> {
    if do_not_call.contains(number) {
        return Err(Refusal::DoNotCall);
    }
    limits.check(at_ms, earlier_ms)?;
    let Some(hours) = hours else {
        return Ok(());
    };
    match hours.next(at_ms) {
        Some(window) if window.opens_ms <= at_ms => Ok(()),
        window => Err(Refusal::Closed(window.map(|window| window.opens_ms))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallingHours, calling_times};

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn the_reason_that_lasts_longest_comes_first() {
        let mut do_not_call = DoNotCall::default();
        assert!(do_not_call.insert("919876543210") && !do_not_call.insert("919876543210"));
        let hours = CallingHours {
            time_zone: "UTC".to_owned(),
            week: calling_times("hours", "thu 09:00-17:00").unwrap(),
        };
        let hours = Hours::read("hours", &hours).unwrap();
        let limits = Limits {
            max_calls: 2,
            gap_ms: DAY_MS,
        };
        // 1970-01-01 was a Thursday.
        let (nine_ms, five_ms) = (9 * 3_600_000, 17 * 3_600_000);
        let week_ms = 7 * DAY_MS;
        let closed = |opens_ms| Err(Refusal::Closed(Some(opens_ms)));
        type Case = (&'static str, &'static [u64], u64, Result<(), Refusal>);
        let cases: [Case; 8] = [
            ("919876543210", &[0, 0], 0, Err(Refusal::DoNotCall)),
            ("919876543211", &[0, 0], 0, Err(Refusal::TooOften)),
            ("919876543211", &[5], 6, Err(Refusal::TooSoon(DAY_MS + 5))),
            ("919876543211", &[5], DAY_MS + 5, closed(week_ms + nine_ms)),
            ("919876543211", &[], nine_ms - 1, closed(nine_ms)),
            ("919876543211", &[], five_ms, closed(week_ms + nine_ms)),
            ("919876543211", &[], five_ms - 1, Ok(())),
            ("919876543211", &[5], week_ms + nine_ms, Ok(())),
        ];
        for (number, earlier_ms, at_ms, expected) in cases {
            let found = may_call(
                number,
                at_ms,
                &do_not_call,
                limits,
                earlier_ms,
                Some(&hours),
            );
            assert_eq!(found, expected, "{number} {earlier_ms:?} at {at_ms}");
        }
        assert_eq!(may_call("1", 0, &do_not_call, limits, &[], None), Ok(()));
    }
}
