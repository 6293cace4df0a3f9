//! The hours in which calls may begin, by the clock of one time zone.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::week::{CallingTime, DAY_S, Phase, WEEK_S, Week};
use crate::{Problem, calling_times, problem};

/// 1970-01-01 was a Thursday.
const MONDAY_TO_EPOCH_S: i64 = 3 * DAY_S;

/// How far back and ahead a window is followed. More than a week suffices: a window that is cut is
/// then open all week.
const REACH_S: i64 = WEEK_S + DAY_S;

/// The hours in which calls may begin, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallingHours {
    /// A name of the IANA time zone database: `Asia/Kolkata`.
    pub time_zone: String,
    /// One or more times; they may overlap. By the clock on the wall, also on days with a change to
    /// or from daylight-saving time: what the clock skips is not there, and what it repeats is.
    pub week: Vec<CallingTime>,
}

/// The hours in which calls may begin.
#[derive(Clone, Debug)]
pub struct Hours {
    zone: TimeZone,
    week: Week,
}

/// A time in which calls, or one call, may begin, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub opens_ms: u64,
    /// The moment after the last one.
    pub closes_ms: u64,
}

impl Hours {
    /// Reads hours.
    ///
    /// # Errors
    /// Returns an error if a time or the time zone is not allowed: its subject is
    /// `{subject}.week[0].from`, for example.
    pub fn read(subject: &str, hours: &CallingHours) -> Result<Self, Problem> {
        Ok(Self {
            zone: zone(&format!("{subject}.time-zone"), &hours.time_zone)?,
            week: Week::read(&format!("{subject}.week"), &hours.week)?,
        })
    }

    /// Reads hours that are written in a line: see [`calling_times`].
    ///
    /// # Errors
    /// Returns an error if the line or the time zone is not allowed. Its subject is one of these
    /// two names.
    pub fn of_line(
        (hours, line): (&str, &str),
        (time_zone, name): (&str, &str),
    ) -> Result<Self, Problem> {
        Ok(Self {
            zone: zone(time_zone, name)?,
            week: Week::read(hours, &calling_times(hours, line)?)?,
        })
    }

    /// Returns when a call may begin that is due at `at_ms`: then, or when the next window opens.
    /// `None` if there is none.
    pub fn next_call_ms(&self, at_ms: u64) -> Option<u64> {
        Some(self.next(at_ms)?.opens_ms.max(at_ms))
    }

    /// Returns the same hours by the clock of another time zone.
    #[must_use]
    pub fn in_zone(&self, zone: TimeZone) -> Self {
        Self {
            zone,
            week: self.week.clone(),
        }
    }

    /// Returns the window that contains `at_ms` (milliseconds since 1970-01-01T00:00:00Z), or else
    /// the next one; `None` if that is after the year 9999.
    ///
    /// Adjacent times form one window. If a week has no closed second, the window is cut 8 days
    /// before and after `at_ms`.
    pub fn next(&self, at_ms: u64) -> Option<Window> {
        let at_s = i64::try_from(at_ms / 1_000).ok()?;
        let mut opens_s = None;
        let mut from_s = (at_s - REACH_S).max(0);
        loop {
            let phase = self.phase(from_s)?;
            let until_s = from_s + phase.left_s;
            match opens_s {
                Some(opens_s) if !phase.open && at_s < from_s => {
                    return Some(Window::of_seconds(opens_s, from_s));
                }
                _ if !phase.open => opens_s = None,
                _ => {
                    let opens_s = *opens_s.get_or_insert(from_s);
                    let cut_s = opens_s.max(at_s) + REACH_S;
                    if cut_s <= until_s {
                        return Some(Window::of_seconds(opens_s, cut_s));
                    }
                }
            }
            from_s = until_s;
        }
    }

    /// Returns the phase of the local clock at a moment, and the shortest time for which it lasts.
    fn phase(&self, at_s: i64) -> Option<Phase> {
        let at = Timestamp::from_second(at_s).ok()?;
        let offset_s = i64::from(self.zone.to_offset(at).seconds());
        let phase = self.week.phase(MONDAY_TO_EPOCH_S + at_s + offset_s);
        let change = self.zone.following(at).next();
        let until_change_s = change.map(|change| change.timestamp().as_second() - at_s);
        Some(Phase {
            left_s: phase.left_s.min(until_change_s.unwrap_or(i64::MAX)),
            ..phase
        })
    }
}

impl Window {
    /// Converts from seconds, which are not negative.
    fn of_seconds(opens_s: i64, closes_s: i64) -> Self {
        let ms = |seconds: i64| seconds.unsigned_abs() * 1_000;
        Self {
            opens_ms: ms(opens_s),
            closes_ms: ms(closes_s),
        }
    }
}

/// Reads the name of a time zone.
///
/// # Errors
/// Returns an error if the IANA database does not have the name, or does not say what its clock is.
pub fn zone(subject: &str, name: &str) -> Result<TimeZone, Problem> {
    let zone = TimeZoneDatabase::bundled().get(name).ok();
    // The database names zones that are not set; their clock is that of UTC.
    let set = |zone: &TimeZone| !zone.is_unknown() && !name.eq_ignore_ascii_case("Factory");
    zone.filter(set).ok_or_else(|| {
        let allowed = "a name of the IANA time zone database, such as Asia/Kolkata";
        problem(subject, name, allowed)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::civil::Time;
    use jiff::civil::Weekday::{
        self, Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday,
    };

    use super::*;

    const EVERY_DAY: [Weekday; 7] = [
        Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday,
    ];
    const MINUTE_S: i64 = 60;

    type Times = [(&'static [Weekday], &'static str, &'static str)];

    fn calling_hours(time_zone: &str, times: &Times) -> CallingHours {
        let time = |(days, from, to): &(&[Weekday], &str, &str)| CallingTime {
            days: days.to_vec(),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        };
        CallingHours {
            time_zone: time_zone.to_owned(),
            week: times.iter().map(time).collect(),
        }
    }

    fn hours(time_zone: &str, times: &Times) -> Hours {
        Hours::read("hours", &calling_hours(time_zone, times)).unwrap()
    }

    fn ms(time: &str) -> u64 {
        let time: Timestamp = time.parse().unwrap();
        time.as_millisecond().unsigned_abs()
    }

    #[test]
    fn a_week_that_never_closes_is_cut_after_8_days() {
        let hours = hours("America/New_York", &[(&EVERY_DAY, "00:00", "24:00")]);
        let at_ms = ms("2026-03-07T12:00:00Z");
        let reach_ms = 8 * 86_400_000;
        let cut = Window {
            opens_ms: at_ms - reach_ms,
            closes_ms: at_ms + reach_ms,
        };
        assert_eq!(hours.next(at_ms + 999), Some(cut));
        assert_eq!(hours.next(0).unwrap().opens_ms, 0);
    }

    #[test]
    fn there_is_no_window_after_the_calendar() {
        let hours = hours("Europe/Berlin", &[(&[Monday], "09:00", "17:00")]);
        assert_eq!(hours.next(ms("9999-12-30T00:00Z")), None);
        assert_eq!(hours.next(u64::MAX), None);
    }

    #[test]
    fn a_problem_names_the_time_zone_or_the_time() {
        let times: &Times = &[(&[Monday], "09:00", "17:00")];
        for name in [
            "",
            "Mars/Olympus",
            "CEST",
            "+02:00",
            "Etc/Unknown",
            "Factory",
        ] {
            let problem = Hours::read("hours", &calling_hours(name, times)).unwrap_err();
            assert_eq!(problem.subject, "hours.time-zone");
            assert_eq!(problem.found, name);
            assert!(problem.allowed.contains("Asia/Kolkata"));
        }
        let problem = Hours::read("hours", &calling_hours("UTC", &[(&[Monday], "x", "17:00")]));
        assert_eq!(problem.unwrap_err().subject, "hours.week[0].from");
    }

    /// Returns `true` if the local time is within the hours.
    fn says_open(zone: &TimeZone, times: &Times, at_ms: i64) -> bool {
        let clock = Timestamp::from_millisecond(at_ms)
            .unwrap()
            .to_zoned(zone.clone());
        let parse = |text: &str| match text {
            "24:00" => None,
            text => Some(text.parse::<Time>().unwrap()),
        };
        let today = clock.date().weekday();
        let yesterday = clock.date().yesterday().unwrap().weekday();
        times.iter().any(|(days, from, to)| {
            let (from, to) = (parse(from), parse(to));
            let crosses = to.is_some_and(|to| from.is_none_or(|from| to <= from));
            let begun = from.is_some_and(|from| from <= clock.time());
            let ends_later = to.is_none_or(|to| clock.time() < to);
            match crosses {
                true => days.contains(&today) && begun || days.contains(&yesterday) && ends_later,
                false => days.contains(&today) && begun && ends_later,
            }
        })
    }

    /// Returns all minutes of three days around a change, and all seconds of two minutes around it.
    fn moments_around(change_s: i64) -> BTreeSet<i64> {
        let minutes = (-36 * 60..36 * 60).map(|minute| minute * MINUTE_S);
        let seconds = -MINUTE_S..MINUTE_S;
        minutes.chain(seconds).map(|s| change_s + s).collect()
    }

    fn assert_as_the_clock_says(time_zone: &str, times: &Times, change_s: i64) {
        let hours = hours(time_zone, times);
        let open = |at_ms: u64| says_open(&hours.zone, times, at_ms.cast_signed());
        let mut window = Window {
            opens_ms: 0,
            closes_ms: 0,
        };
        for at_s in moments_around(change_s) {
            let at_ms = at_s.unsigned_abs() * 1_000;
            let next = hours.next(at_ms).unwrap();
            let case = || format!("{time_zone} {times:?} {at_s}: {next:?}");
            assert_eq!(open(at_ms), next.opens_ms <= at_ms, "{}", case());
            assert!(at_ms < next.closes_ms, "{}", case());
            if at_ms < window.closes_ms {
                assert_eq!(next, window, "{}", case());
                continue;
            }
            window = next;
            let edges = [
                (next.opens_ms - 1, false),
                (next.opens_ms, true),
                (next.closes_ms - 1, true),
                (next.closes_ms, false),
            ];
            for (edge_ms, expected) in edges {
                assert_eq!(open(edge_ms), expected, "{} at {edge_ms}", case());
            }
        }
    }

    #[test]
    fn at_each_moment_around_each_change_the_hours_are_what_the_clock_says() {
        let weeks: [&Times; 4] = [
            &[(
                &[Monday, Tuesday, Wednesday, Thursday, Friday],
                "09:00",
                "17:30",
            )],
            &[
                (&[Friday, Saturday], "22:30", "02:15:30"),
                (&[Sunday], "00:00", "00:30"),
                (&[Sunday], "01:15", "01:45"),
                (&[Sunday], "02:15:40", "02:45"),
            ],
            &[
                (&EVERY_DAY, "23:30", "00:30"),
                (&EVERY_DAY, "01:59:30", "02:00:15"),
                (&EVERY_DAY, "02:00:20", "03:00:10"),
            ],
            &[(&EVERY_DAY, "00:00:30", "24:00")],
        ];
        // The first changes after the day, or the day itself if the zone's clock never changes.
        let zones = [
            ("Europe/Berlin", "2026-01-01", 2),
            ("Europe/Dublin", "2026-01-01", 2),
            ("America/New_York", "2026-01-01", 2),
            ("America/Sao_Paulo", "2017-10-01", 4),
            ("America/Sao_Paulo", "2026-01-01", 0),
            ("Asia/Kolkata", "2026-01-04", 0),
            ("Australia/Lord_Howe", "2026-01-01", 2),
            ("Australia/Lord_Howe", "2099-01-01", 2),
            ("Antarctica/Troll", "2026-01-01", 2),
            ("Pacific/Apia", "2011-12-01", 2),
            // The clock was 44 minutes and 30 seconds behind Greenwich until then.
            ("Africa/Monrovia", "1972-01-01", 1),
        ];
        for (time_zone, day, changes) in zones {
            let from: Timestamp = format!("{day}T00:00Z").parse().unwrap();
            let zone = zone("", time_zone).unwrap();
            let mut moments: Vec<_> = zone
                .following(from)
                .map(|change| change.timestamp())
                .take(changes)
                .collect();
            assert_eq!(moments.len(), changes, "{time_zone}");
            if changes == 0 {
                moments.push(from);
            }
            for moment in moments {
                for times in weeks {
                    assert_as_the_clock_says(time_zone, times, moment.as_second());
                }
            }
        }
    }
}
