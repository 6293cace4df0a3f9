//! Grants: the times at which calls may begin.

use std::collections::{BTreeMap, VecDeque};

use voice_calling_core::types::Problem;
use voice_calling_rules::{Hours, Window, zone};

use voice_calling_obelisk_guest::campaign::{Contact, Given};

use crate::bindings::voice_calling::workflows::campaign_types::CallingHours;
use crate::error::problem;

const MINUTE_MS: u64 = 60_000;

/// The shortest time that a grant leaves: a shorter one would expire before anything is sent.
const LEAST_MS: u64 = 1_000;

const MOST_PER_MINUTE: u32 = 6_000;

const ANY_TIME: Window = Window {
    opens_ms: 0,
    closes_ms: u64::MAX,
};
const NEVER: Window = Window {
    opens_ms: u64::MAX,
    closes_ms: u64::MAX,
};

/// Grants each call a time: each turn once, none outside the hours, and in no minute of the clock
/// more than the pace allows.
#[derive(Clone, Debug)]
pub(crate) struct Grants {
    hours: Option<Hours>,
    per_minute: Option<u32>,
    given: Given,
}

/// When a contact may be called, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// From this moment on, perhaps already now.
    Granted(u64),
    /// Not before this moment, when it is to be asked for again.
    NotBefore(u64),
}

impl Turn {
    pub(crate) fn ms(self) -> u64 {
        match self {
            Self::Granted(ms) | Self::NotBefore(ms) => ms,
        }
    }
}

impl Grants {
    /// Reads `options.hours` and `options.per-minute`. `given` is the state of an earlier instance
    /// with the same options.
    pub(crate) fn read(
        hours: Option<&CallingHours>,
        per_minute: Option<u32>,
        given: Given,
    ) -> Result<Self, Problem> {
        let read = |it: &CallingHours| {
            let week = ("options.hours.week", &*it.week);
            Hours::of_line(week, ("options.hours.time-zone", &it.time_zone))
        };
        let hours = hours.map(read).transpose()?;
        match per_minute {
            Some(found) if !(1..=MOST_PER_MINUTE).contains(&found) => Err(problem(
                "options.per-minute",
                &found.to_string(),
                &format!("1 to {MOST_PER_MINUTE}, or none for no limit"),
            )),
            per_minute => Ok(Self {
                hours,
                per_minute,
                given,
            }),
        }
    }

    /// Returns the state from which another instance continues.
    pub(crate) fn given(&self) -> Given {
        self.given
    }

    /// Returns `true` if the time decides nothing: there are no hours and no pace, and no contact
    /// waits for a moment.
    pub(crate) fn are_for_any_time(&self, queue: &VecDeque<Contact>) -> bool {
        self.hours.is_none()
            && self.per_minute.is_none()
            && queue.iter().all(|it| it.not_before_ms == 0)
    }

    /// Returns the position of the contact that may be called first, and when.
    pub(crate) fn first(&self, queue: &VecDeque<Contact>, now_ms: u64) -> Option<(usize, Turn)> {
        let mut of_zones: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        let mut first: Option<(usize, Turn)> = None;
        for (position, contact) in queue.iter().enumerate() {
            let turn = match contact {
                it if it.not_before_ms > now_ms => Turn::NotBefore(it.not_before_ms),
                it => {
                    let time_zone = it.time_zone.as_deref();
                    let opens_ms = of_zones
                        .entry(time_zone)
                        .or_insert_with(|| self.peek(time_zone, now_ms).opens_ms);
                    Turn::Granted(now_ms.max(*opens_ms))
                }
            };
            if first.is_none_or(|(_, earliest)| turn.ms() < earliest.ms()) {
                first = Some((position, turn));
            }
            // The other time zones need not be looked at.
            if turn.ms() <= now_ms {
                break;
            }
        }
        first
    }

    /// Grants the next time to a contact: in its own time zone, if it has one.
    ///
    /// With a pace, this is the first free turn of its minute, and earlier minutes are not
    /// revisited. At least a second of it is left at `now_ms`, or all of it if it is shorter.
    /// Without hours and a pace, the grant is unlimited.
    pub(crate) fn next(&mut self, time_zone: Option<&str>, now_ms: u64) -> Window {
        let (grant, given) = self.find(time_zone, now_ms);
        self.given = given;
        grant
    }

    /// Returns what `next` would return, without granting it.
    fn peek(&self, time_zone: Option<&str>, now_ms: u64) -> Window {
        self.find(time_zone, now_ms).0
    }

    fn find(&self, time_zone: Option<&str>, now_ms: u64) -> (Window, Given) {
        // The name of the zone was checked with the contact.
        let own_zone = time_zone.and_then(|name| zone("time-zone", name).ok());
        let own = own_zone.zip(self.hours.as_ref());
        let own = own.map(|(zone, hours)| hours.in_zone(zone));
        let hours = own.as_ref().or(self.hours.as_ref());
        if hours.is_none() && self.per_minute.is_none() {
            return (ANY_TIME, self.given);
        }
        let mut from_ms = now_ms;
        // None is after the year 9999.
        while let Some(window) = hours.map_or(Some(ANY_TIME), |hours| hours.next(from_ms)) {
            from_ms = from_ms.max(window.opens_ms);
            let (turn, given) = self.turn(from_ms);
            let grant = Window {
                opens_ms: turn.opens_ms.max(window.opens_ms),
                closes_ms: turn.closes_ms.min(window.closes_ms),
            };
            let turn_ms = turn.closes_ms - turn.opens_ms;
            let left_ms = grant.closes_ms.saturating_sub(grant.opens_ms.max(now_ms));
            if left_ms >= turn_ms.clamp(1, LEAST_MS) {
                return (grant, given);
            }
            from_ms = grant.closes_ms;
        }
        (NEVER, self.given)
    }

    /// Returns the pace's next turn that is not over at `from_ms`, with the state after it.
    fn turn(&self, from_ms: u64) -> (Window, Given) {
        let Some(per_minute) = self.per_minute else {
            return (ANY_TIME, self.given);
        };
        let mut minute = from_ms / MINUTE_MS;
        let mut before = 0;
        if minute <= self.given.minute {
            Given {
                minute,
                count: before,
            } = self.given;
        }
        // Missed turns are lost: granted late, they would come all at once.
        let missed = from_ms.saturating_sub(minute.saturating_mul(MINUTE_MS))
            * u64::from(per_minute)
            / MINUTE_MS;
        before = before.max(u32::try_from(missed).unwrap_or(per_minute));
        if before >= per_minute {
            minute = minute.saturating_add(1);
            before = 0;
        }
        let minute_ms = minute.saturating_mul(MINUTE_MS);
        let first_ms = u64::from(before) * MINUTE_MS / u64::from(per_minute);
        let turn = Window {
            opens_ms: minute_ms.saturating_add(first_ms),
            closes_ms: minute_ms.saturating_add(MINUTE_MS),
        };
        let count = before + 1;
        (turn, Given { minute, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::untried;

    const HOUR_MS: u64 = 60 * MINUTE_MS;
    const DAY_MS: u64 = 24 * HOUR_MS;

    /// 2026-01-05T00:00:00Z, a Monday.
    const MONDAY_MS: u64 = 1_767_571_200_000;

    /// Returns grants within the hours of a week, or at any time if it is empty.
    fn grants(time_zone: &str, week: &str, per_minute: Option<u32>, given: Given) -> Grants {
        let hours = CallingHours {
            time_zone: time_zone.to_owned(),
            week: week.to_owned(),
        };
        Grants::read((!week.is_empty()).then_some(&hours), per_minute, given).unwrap()
    }

    /// Returns the next grant, in milliseconds since that Monday.
    fn next(grants: &mut Grants, now_ms: u64) -> (u64, u64) {
        let grant = grants.next(None, MONDAY_MS + now_ms);
        (grant.opens_ms - MONDAY_MS, grant.closes_ms - MONDAY_MS)
    }

    #[test]
    fn a_pace_is_1_to_6000_or_not_limited() {
        for allowed in [None, Some(1), Some(6_000)] {
            assert!(Grants::read(None, allowed, Given::default()).is_ok());
        }
        for refused in [0, 6_001, u32::MAX] {
            let problem = Grants::read(None, Some(refused), Given::default()).unwrap_err();
            assert_eq!(problem.subject, "options.per-minute");
            assert_eq!(problem.found, refused.to_string());
            assert_eq!(problem.allowed, "1 to 6000, or none for no limit");
        }
    }

    #[test]
    fn without_hours_and_pace_any_time_is_granted() {
        let mut grants = grants("", "", None, Given::default());
        for now_ms in [0, MONDAY_MS, u64::MAX] {
            assert_eq!(grants.next(None, now_ms), ANY_TIME);
        }
    }

    #[test]
    fn times_are_spread_over_the_minute_within_the_hours_and_what_is_lost_stays_lost() {
        // In seconds: each moment, and the grant then.
        for (week, per_minute, course) in [
            (
                "",
                Some(4),
                "0:0-60 0:15-60 0:30-60 0:45-60 0:60-120 0:75-120",
            ),
            // A turn that is not requested in time is lost.
            ("", Some(2), "0.01:0-60 200:180-240 210:210-240 220:240-300"),
            // Missed turns do not come all at once.
            ("", Some(60), "45.5:45-60 45.5:46-60 45.5:47-60"),
            // A clock that goes back is not followed.
            ("", Some(2), "60:60-120 0:90-120 0:120-180"),
            // With hours alone, each grant is the rest of the window.
            (
                "mon,tue 00:00-08:00",
                None,
                "0:0-28800 0:0-28800 28799:0-28800 28799.001:86400-115200 28800:86400-115200",
            ),
            // The first turn of the first minute is over when the window opens, and the third turn of
            // the next one begins when the window is closed.
            (
                "mon 00:00:30-00:01:20, tue 00:00-01:00",
                Some(3),
                "0:30-60 0:40-60 0:60-80 0:86400-86460 0:86420-86460",
            ),
            // Two windows of one minute share its pace.
            (
                "mon 00:00:00-00:00:10 00:00:40-00:00:50",
                Some(6),
                "0:0-10 0:40-50 0:604800-604810",
            ),
            // The first window is nearly over.
            (
                "mon 00:00:00-00:00:10 00:00:40-00:00:50",
                Some(6),
                "9.001:40-50",
            ),
        ] {
            let mut grants = grants("UTC", week, per_minute, Given::default());
            let ms = |seconds: &str| (seconds.parse::<f64>().unwrap() * 1_000.0).round() as u64;
            for step in course.split(' ') {
                let (at, grant) = step.split_once(':').unwrap();
                let (opens, closes) = grant.split_once('-').unwrap();
                let expected = (ms(opens), ms(closes));
                let found = next(&mut grants, ms(at));
                assert_eq!(found, expected, "{week} {per_minute:?}: {step}");
            }
        }
    }

    #[test]
    fn a_grant_has_a_second_left_or_all_of_its_time_where_that_is_less() {
        let cases = [
            (1, 0, 59_000, (0, 60_000)),
            (1, 0, 59_001, (60_000, 120_000)),
            // The last of 100 turns begins 600 ms before the end of the minute.
            (100, 99, 59_400, (59_400, 60_000)),
            (100, 99, 59_401, (60_000, 120_000)),
            (6_000, 5_999, 59_990, (59_990, 60_000)),
            (6_000, 5_999, 59_991, (60_000, 120_000)),
        ];
        for (per_minute, count, now_ms, expected) in cases {
            let minute = MONDAY_MS / MINUTE_MS;
            let mut grants = grants("", "", Some(per_minute), Given { minute, count });
            let case = (per_minute, count, now_ms);
            assert_eq!(next(&mut grants, now_ms), expected, "{case:?}");
        }
    }

    #[test]
    fn the_contact_that_may_be_called_first_is_next_by_the_clock_where_it_is() {
        let mut grants = grants("Asia/Kolkata", "mon 09:00-17:00", None, Given::default());
        let (kolkata, london, new_york) = ("", "Europe/London", "America/New_York");
        let contact = |(time_zone, not_before_ms): &(&str, u64)| Contact {
            time_zone: (!time_zone.is_empty()).then(|| (*time_zone).to_owned()),
            not_before_ms: *not_before_ms,
            ..untried(0)
        };
        let at = |hour: u64| MONDAY_MS + hour * HOUR_MS;
        // 17:30 in Kolkata, noon in London, 7 o'clock in New York.
        let noon = at(12);
        let next_monday = at(7 * 24) + 7 * HOUR_MS / 2;
        for (queue, expected) in [
            (&[][..], None),
            (&[(kolkata, 0)], Some((0, Turn::Granted(next_monday)))),
            (
                &[(kolkata, 0), (new_york, 0)],
                Some((1, Turn::Granted(at(14)))),
            ),
            (
                &[(new_york, 0), (london, 0)],
                Some((1, Turn::Granted(noon))),
            ),
            (
                &[(new_york, 0), (london, at(13))],
                Some((1, Turn::NotBefore(at(13)))),
            ),
            (
                &[(london, at(16)), (new_york, 0)],
                Some((1, Turn::Granted(at(14)))),
            ),
        ] {
            let contacts = queue.iter().map(contact).collect();
            assert_eq!(grants.first(&contacts, noon), expected, "{queue:?}");
        }
        let granted = grants.next(Some(new_york), noon);
        assert_eq!((granted.opens_ms, granted.closes_ms), (at(14), at(22)));
    }

    /// Returns the time until the next request: often none, sometimes days.
    fn pause_ms(numbers: &mut fastrand::Rng) -> u64 {
        match numbers.u8(..100) {
            0 => numbers.u64(..3 * DAY_MS),
            1..3 => numbers.u64(..HOUR_MS),
            3..20 => numbers.u64(..2 * MINUTE_MS),
            20..40 => numbers.u64(..2_000),
            _ => 0,
        }
    }

    #[test]
    fn no_minute_has_more_than_its_pace_and_every_grant_is_within_the_hours() {
        let mut numbers = fastrand::Rng::with_seed(7);
        for (time_zone, week) in [
            ("", ""),
            ("Asia/Kolkata", "mon-fri 09:30:10-17:45:20"),
            ("Australia/Lord_Howe", "mon-fri 22:00-02:00"),
            (
                "Europe/Berlin",
                "mon-fri 09:00:58-09:01:01 09:01:02-09:01:03, mon 12:00-12:00:31",
            ),
        ] {
            for per_minute in [1, 2, 7, 60, 61, 600, 6_000] {
                let continued = |given| grants(time_zone, week, Some(per_minute), given);
                let mut grants = continued(Given::default());
                let mut now_ms = MONDAY_MS;
                let mut last = (ANY_TIME, 0);
                for _ in 0..200 {
                    now_ms += pause_ms(&mut numbers);
                    // Another segment continues with the state that this one hands over.
                    if numbers.u8(..10) == 0 {
                        grants = continued(grants.given());
                    }
                    let grant = grants.next(None, now_ms);
                    let of = |time_ms: u64| time_ms / MINUTE_MS;
                    let minute = of(grant.opens_ms);
                    assert_eq!(of(grant.closes_ms - 1), minute, "{grant:?}");
                    let (before, before_count) = last;
                    let count = match of(before.opens_ms) == minute {
                        true => before_count + 1,
                        false => 1,
                    };
                    assert!(count <= per_minute, "{grant:?}");
                    assert!(before.opens_ms <= grant.opens_ms, "{grant:?}");
                    // The count includes missed turns.
                    let given = grants.given();
                    assert_eq!(given.minute, minute);
                    assert!((count..=per_minute).contains(&given.count), "{given:?}");
                    assert!(now_ms.max(grant.opens_ms) < grant.closes_ms);
                    if let Some(hours) = &grants.hours {
                        let window = hours.next(grant.opens_ms).unwrap();
                        assert!(window.opens_ms <= grant.opens_ms, "{grant:?}");
                        assert!(grant.closes_ms <= window.closes_ms, "{grant:?}");
                    }
                    last = (grant, count);
                }
            }
        }
    }
}
