//! When the next call may begin.

use crate::hours::{Hours, Window};
use crate::pace::Pace;

const MINUTE_MS: u64 = 60_000;

/// What is left of a grant when it is given: less is over before anything is sent.
const LEAST_MS: u64 = 1_000;

/// 9999-01-01T00:00:00Z: nothing is granted from then on.
const END_MS: u64 = 253_370_764_800_000;

/// When one call may begin, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Not before.
    pub not_before_ms: u64,
    /// Before this moment.
    pub not_after_ms: u64,
}

/// What has been given: all that another `Grants` needs to know to go on within the pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The minute of the last grant, in minutes since 1970-01-01T00:00:00Z.
    pub minute: u64,
    /// How many of its turns were given, or are over.
    pub count: u32,
}

/// Gives grants: each once, none outside the hours, and in no minute of the clock more than the
/// pace allows.
#[derive(Clone, Debug)]
pub struct Grants {
    hours: Option<Hours>,
    pace: Pace,
    given: Given,
}

impl Grants {
    /// `given`: what was given under the same pace before; `Given::default()` where nothing was.
    pub fn new(hours: Option<Hours>, pace: Pace, given: Given) -> Self {
        Self { hours, pace, given }
    }

    /// What has been given.
    pub fn given(&self) -> Given {
        self.given
    }

    /// Gives the next grant.
    ///
    /// With a pace it is the first that is left in its minute, and no minute is returned to. It has
    /// a second left at `now_ms`, or all of its time where that is less. Without hours and pace it
    /// is for any time.
    pub fn next(&mut self, now_ms: u64) -> Grant {
        let (grant, given) = self.find(now_ms);
        self.given = given;
        grant
    }

    /// What `next` would return; nothing is given.
    pub fn peek(&self, now_ms: u64) -> Grant {
        self.find(now_ms).0
    }

    fn find(&self, now_ms: u64) -> (Grant, Given) {
        if self.hours.is_none() && self.pace.per_minute.is_none() {
            return (Grant::ANY_TIME, self.given);
        }
        let mut from_ms = now_ms;
        while from_ms < END_MS {
            let Some(window) = self.window(from_ms) else {
                break;
            };
            from_ms = from_ms.max(window.opens_ms);
            let (turn, given) = self.turn(from_ms);
            if turn.not_before_ms >= END_MS {
                break;
            }
            let grant = Grant {
                not_before_ms: turn.not_before_ms.max(window.opens_ms),
                not_after_ms: turn.not_after_ms.min(window.closes_ms),
            };
            let turn_ms = turn.not_after_ms - turn.not_before_ms;
            if grant.left_ms(now_ms) >= turn_ms.clamp(1, LEAST_MS) {
                return (grant, given);
            }
            from_ms = grant.not_after_ms;
        }
        (Grant::NEVER, self.given)
    }

    /// The next turn by the pace alone that is not over at `from_ms`, and what is given with it.
    fn turn(&self, from_ms: u64) -> (Grant, Given) {
        let Some(per_minute) = self.pace.per_minute else {
            return (Grant::ANY_TIME, self.given);
        };
        let mut minute = from_ms / MINUTE_MS;
        let mut before = 0;
        if minute <= self.given.minute {
            Given {
                minute,
                count: before,
            } = self.given;
        }
        // Turns that were not taken are lost: given late, they would come together.
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
        let turn = Grant {
            not_before_ms: minute_ms.saturating_add(first_ms),
            not_after_ms: minute_ms.saturating_add(MINUTE_MS),
        };
        let count = before + 1;
        (turn, Given { minute, count })
    }

    fn window(&self, at_ms: u64) -> Option<Window> {
        match &self.hours {
            Some(hours) => hours.next(at_ms),
            None => Some(Window {
                opens_ms: 0,
                closes_ms: u64::MAX,
            }),
        }
    }
}

impl Grant {
    const ANY_TIME: Self = Self {
        not_before_ms: 0,
        not_after_ms: u64::MAX,
    };
    const NEVER: Self = Self {
        not_before_ms: u64::MAX,
        not_after_ms: u64::MAX,
    };

    fn left_ms(&self, now_ms: u64) -> u64 {
        self.not_after_ms
            .saturating_sub(self.not_before_ms.max(now_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::week::Weekday::{self, Friday, Monday, Thursday, Tuesday, Wednesday};
    use crate::week::{CallingHours, CallingTime};

    const HOUR_MS: u64 = 60 * MINUTE_MS;
    const DAY_MS: u64 = 24 * HOUR_MS;

    /// 2026-01-05T00:00:00Z, a Monday.
    const MONDAY_MS: u64 = 1_767_571_200_000;

    fn hours(time_zone: &str, week: &[(&[Weekday], &str, &str)]) -> Hours {
        let time = |(days, from, to): &(&[Weekday], &str, &str)| CallingTime {
            days: days.to_vec(),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        };
        let week = week.iter().map(time).collect();
        let time_zone = time_zone.to_owned();
        Hours::read(&CallingHours { time_zone, week }).unwrap()
    }

    fn grants(hours: Option<Hours>, per_minute: Option<u32>) -> Grants {
        let pace = Pace::read(per_minute).unwrap();
        Grants::new(hours, pace, Given::default())
    }

    /// The next grant, as milliseconds since that Monday.
    fn next(grants: &mut Grants, now_ms: u64) -> (u64, u64) {
        let grant = grants.next(MONDAY_MS + now_ms);
        (
            grant.not_before_ms - MONDAY_MS,
            grant.not_after_ms - MONDAY_MS,
        )
    }

    #[test]
    fn without_hours_and_pace_any_time_is_granted() {
        let mut grants = grants(None, None);
        for now_ms in [0, MONDAY_MS, u64::MAX] {
            assert_eq!(grants.next(now_ms), Grant::ANY_TIME);
        }
    }

    #[test]
    fn with_a_pace_the_starts_are_spread_over_the_minute_and_go_on_in_the_next() {
        let mut grants = grants(None, Some(4));
        let given: Vec<_> = (0..6).map(|_| next(&mut grants, 0)).collect();
        let expected = [
            (0, 60_000),
            (15_000, 60_000),
            (30_000, 60_000),
            (45_000, 60_000),
            (60_000, 120_000),
            (75_000, 120_000),
        ];
        assert_eq!(given, expected);
    }

    #[test]
    fn a_grant_that_is_not_asked_for_in_time_is_lost() {
        let mut grants = grants(None, Some(2));
        assert_eq!(next(&mut grants, 10), (0, 60_000));
        assert_eq!(next(&mut grants, 200_000), (180_000, 240_000));
        assert_eq!(next(&mut grants, 210_000), (210_000, 240_000));
        assert_eq!(next(&mut grants, 220_000), (240_000, 300_000));
    }

    #[test]
    fn turns_that_were_not_taken_do_not_come_together() {
        let mut grants = grants(None, Some(60));
        let given: Vec<_> = (0..3).map(|_| next(&mut grants, 45_500).0).collect();
        assert_eq!(given, [45_000, 46_000, 47_000]);
    }

    #[test]
    fn a_clock_that_goes_back_is_not_followed() {
        let mut grants = grants(None, Some(2));
        assert_eq!(next(&mut grants, 60_000), (60_000, 120_000));
        assert_eq!(next(&mut grants, 0), (90_000, 120_000));
        assert_eq!(next(&mut grants, 0), (120_000, 180_000));
    }

    #[test]
    fn a_grant_has_a_second_left_or_all_of_its_time_where_that_is_less() {
        let cases = [
            (1, 0, 59_000, (0, 60_000)),
            (1, 0, 59_001, (60_000, 120_000)),
            // The last of 100 begins 600 ms before the end of the minute.
            (100, 99, 59_400, (59_400, 60_000)),
            (100, 99, 59_401, (60_000, 120_000)),
            (6_000, 5_999, 59_990, (59_990, 60_000)),
            (6_000, 5_999, 59_991, (60_000, 120_000)),
        ];
        for (per_minute, count, now_ms, expected) in cases {
            let pace = Pace::read(Some(per_minute)).unwrap();
            let minute = MONDAY_MS / MINUTE_MS;
            let mut grants = Grants::new(None, pace, Given { minute, count });
            let case = (per_minute, count, now_ms);
            assert_eq!(next(&mut grants, now_ms), expected, "{case:?}");
        }
    }

    #[test]
    fn with_hours_alone_the_rest_of_the_window_is_granted_again_and_again() {
        let days = [Monday, Tuesday];
        let mut grants = grants(Some(hours("UTC", &[(&days, "09:00", "17:00")])), None);
        let today = (9 * HOUR_MS, 17 * HOUR_MS);
        let tomorrow = (33 * HOUR_MS, 41 * HOUR_MS);
        assert_eq!(next(&mut grants, 0), today);
        assert_eq!(next(&mut grants, 0), today);
        assert_eq!(next(&mut grants, 16 * HOUR_MS), today);
        assert_eq!(next(&mut grants, 17 * HOUR_MS - 1_000), today);
        assert_eq!(next(&mut grants, 17 * HOUR_MS - 999), tomorrow);
        assert_eq!(next(&mut grants, 17 * HOUR_MS), tomorrow);
    }

    #[test]
    fn a_turn_is_cut_by_the_hours() {
        let week: [(&[Weekday], &str, &str); 2] = [
            (&[Monday], "09:00:30", "09:01:20"),
            (&[Tuesday], "09:00", "10:00"),
        ];
        let mut grants = grants(Some(hours("UTC", &week)), Some(3));
        let nine_ms = 9 * HOUR_MS;
        let given: Vec<_> = (0..5).map(|_| next(&mut grants, 0)).collect();
        let expected = [
            // The second turn of that minute: the first is over when the window opens.
            (nine_ms + 30_000, nine_ms + 60_000),
            (nine_ms + 40_000, nine_ms + 60_000),
            (nine_ms + 60_000, nine_ms + 80_000),
            // The third turn of that minute begins when the window is closed.
            (DAY_MS + nine_ms, DAY_MS + nine_ms + 60_000),
            (DAY_MS + nine_ms + 20_000, DAY_MS + nine_ms + 60_000),
        ];
        assert_eq!(given, expected);
    }

    #[test]
    fn two_windows_of_one_minute_share_its_pace() {
        let week: [(&[Weekday], &str, &str); 2] = [
            (&[Monday], "09:00:00", "09:00:10"),
            (&[Monday], "09:00:40", "09:00:50"),
        ];
        let mut grants = grants(Some(hours("UTC", &week)), Some(6));
        let nine_ms = 9 * HOUR_MS;
        assert_eq!(next(&mut grants, 0), (nine_ms, nine_ms + 10_000));
        let second = (nine_ms + 40_000, nine_ms + 50_000);
        assert_eq!(next(&mut grants, nine_ms), second);
        let week_later_ms = 7 * DAY_MS + nine_ms;
        let next_week = (week_later_ms, week_later_ms + 10_000);
        assert_eq!(next(&mut grants, nine_ms), next_week);
    }

    #[test]
    fn the_second_window_of_a_minute_is_granted_where_the_first_is_nearly_over() {
        let week: [(&[Weekday], &str, &str); 2] = [
            (&[Monday], "09:00:00", "09:00:10"),
            (&[Monday], "09:00:40", "09:00:50"),
        ];
        let mut grants = grants(Some(hours("UTC", &week)), Some(6));
        let nine_ms = 9 * HOUR_MS;
        let second = (nine_ms + 40_000, nine_ms + 50_000);
        assert_eq!(next(&mut grants, nine_ms + 9_001), second);
    }

    #[test]
    fn peeking_gives_nothing() {
        let mut grants = grants(None, Some(2));
        let seen = grants.peek(MONDAY_MS);
        assert_eq!(grants.given(), Given::default());
        assert_eq!(grants.peek(MONDAY_MS), seen);
        assert_eq!(grants.next(MONDAY_MS), seen);
        assert_ne!(grants.next(MONDAY_MS), seen);
    }

    #[test]
    fn after_the_last_year_nothing_is_granted() {
        let monday = || hours("Europe/Berlin", &[(&[Monday], "09:00", "17:00")]);
        for (hours, per_minute) in [
            (Some(monday()), None),
            (None, Some(1)),
            (Some(monday()), Some(1)),
        ] {
            let mut grants = grants(hours, per_minute);
            for now_ms in [END_MS, u64::MAX] {
                assert_eq!(grants.next(now_ms), Grant::NEVER);
            }
            assert_eq!(grants.given(), Given::default());
        }
        let given = Given {
            minute: u64::MAX,
            count: 1,
        };
        let mut grants = Grants::new(Some(monday()), Pace::read(Some(1)).unwrap(), given);
        assert_eq!(grants.next(MONDAY_MS), Grant::NEVER);
    }

    /// The same numbers in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }

        /// How long until the next question: often no time, sometimes days.
        fn pause_ms(&mut self) -> u64 {
            match self.below(100) {
                0 => self.below(3 * DAY_MS),
                1..3 => self.below(HOUR_MS),
                3..20 => self.below(2 * MINUTE_MS),
                20..40 => self.below(2_000),
                _ => 0,
            }
        }
    }

    fn weeks() -> Vec<Option<Hours>> {
        let working = [Monday, Tuesday, Wednesday, Thursday, Friday];
        vec![
            None,
            Some(hours("Asia/Kolkata", &[(&working, "09:30:10", "17:45:20")])),
            Some(hours(
                "Australia/Lord_Howe",
                &[(&working, "22:00", "02:00")],
            )),
            Some(hours(
                "Europe/Berlin",
                &[
                    (&working, "09:00:58", "09:01:01"),
                    (&working, "09:01:02", "09:01:03"),
                    (&[Monday], "12:00", "12:00:31"),
                ],
            )),
        ]
    }

    #[test]
    fn no_minute_has_more_than_its_pace_and_every_grant_is_within_the_hours() {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        for hours in weeks() {
            for per_minute in [1, 2, 7, 60, 61, 600, 6_000] {
                let mut grants = grants(hours.clone(), Some(per_minute));
                let mut now_ms = MONDAY_MS;
                let mut last = (Grant::ANY_TIME, 0);
                for _ in 0..200 {
                    now_ms += numbers.pause_ms();
                    // Another segment continues with what this one hands over.
                    if numbers.below(10) == 0 {
                        let pace = Pace::read(Some(per_minute)).unwrap();
                        grants = Grants::new(hours.clone(), pace, grants.given());
                    }
                    let grant = grants.next(now_ms);
                    let of = |time_ms: u64| time_ms / MINUTE_MS;
                    let minute = of(grant.not_before_ms);
                    assert_eq!(of(grant.not_after_ms - 1), minute, "{grant:?}");
                    let (before, before_count) = last;
                    let count = match of(before.not_before_ms) == minute {
                        true => before_count + 1,
                        false => 1,
                    };
                    assert!(count <= per_minute, "{grant:?}");
                    assert!(before.not_before_ms <= grant.not_before_ms, "{grant:?}");
                    // With the turns that were not taken.
                    let given = grants.given();
                    assert_eq!(given.minute, minute);
                    assert!((count..=per_minute).contains(&given.count), "{given:?}");
                    assert!(now_ms.max(grant.not_before_ms) < grant.not_after_ms);
                    if let Some(hours) = &hours {
                        let window = hours.next(grant.not_before_ms).unwrap();
                        assert!(window.opens_ms <= grant.not_before_ms, "{grant:?}");
                        assert!(grant.not_after_ms <= window.closes_ms, "{grant:?}");
                    }
                    last = (grant, count);
                }
            }
        }
    }

    #[test]
    fn a_minute_that_is_open_has_all_of_its_pace() {
        for per_minute in [1, 7, 60, 61, 6_000] {
            let mut grants = grants(None, Some(per_minute));
            for minute in 0..3 {
                for _ in 0..per_minute {
                    let (not_before_ms, not_after_ms) = next(&mut grants, 0);
                    assert_eq!(not_before_ms / MINUTE_MS, minute);
                    assert_eq!(not_after_ms, (minute + 1) * MINUTE_MS);
                }
            }
        }
    }
}
