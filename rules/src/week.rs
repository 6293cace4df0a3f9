//! The hours of a week, as intervals of local time.

use jiff::civil::Weekday;

use crate::{Problem, problem};

pub(crate) const DAY_S: i64 = 24 * 3_600;
pub(crate) const WEEK_S: i64 = 7 * DAY_S;

/// A time of one or more days in which calls may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallingTime {
    /// On which days. What crosses midnight belongs to the day on which it begins.
    pub days: Vec<Weekday>,
    /// `HH:MM` or `HH:MM:SS`, 00:00 to 24:00: the first moment.
    pub from: String,
    /// As `from`: the moment after the last one. Not later than `from`: on the next day.
    pub to: String,
}

/// The hours of a week, in seconds of local time since Monday 00:00.
///
/// A moment is within them by its local time alone, so a change to or from daylight-saving time is
/// not a special case here.
#[derive(Clone, Debug)]
pub(crate) struct Week {
    /// Half-open ranges, sorted and not adjacent.
    intervals: Vec<(i64, i64)>,
}

/// Whether the local time is within the hours, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    pub open: bool,
    /// The duration, unless the clock is changed. The next phase may have the same `open`.
    pub left_s: i64,
}

impl Week {
    /// Reads the times of a week.
    pub(crate) fn read(subject: &str, week: &[CallingTime]) -> Result<Self, Problem> {
        if week.is_empty() {
            let allowed = "one or more calling times; leave out the hours to call at any time";
            return Err(problem(subject, "none", allowed));
        }
        let mut intervals = Vec::new();
        for (index, time) in week.iter().enumerate() {
            let subject = |field: &str| format!("{subject}[{index}].{field}");
            if time.days.is_empty() {
                return Err(problem(subject("days"), "none", "one or more days"));
            }
            let from_s = time_of_day_s(&subject("from"), &time.from)?;
            let mut to_s = time_of_day_s(&subject("to"), &time.to)?;
            if to_s <= from_s {
                to_s += DAY_S;
            }
            for day in &time.days {
                let midnight_s = i64::from(day.to_monday_zero_offset()) * DAY_S;
                let (first_s, end_s) = (midnight_s + from_s, midnight_s + to_s);
                // An interval that runs past Sunday continues on Monday.
                intervals.push((first_s.min(WEEK_S), end_s.min(WEEK_S)));
                intervals.push(((first_s - WEEK_S).max(0), (end_s - WEEK_S).max(0)));
            }
        }
        intervals.retain(|(first_s, end_s)| first_s < end_s);
        intervals.sort_unstable();
        intervals.dedup_by(|next, kept| {
            let joined = next.0 <= kept.1;
            if joined {
                kept.1 = kept.1.max(next.1);
            }
            joined
        });
        Ok(Self { intervals })
    }

    /// Returns the phase at `clock_s`, seconds of local time since any Monday 00:00.
    pub(crate) fn phase(&self, clock_s: i64) -> Phase {
        let clock_s = clock_s.rem_euclid(WEEK_S);
        let index = self
            .intervals
            .partition_point(|(_, end_s)| *end_s <= clock_s);
        let (open, end_s) = match self.intervals.get(index) {
            Some((first_s, end_s)) if *first_s <= clock_s => (true, *end_s),
            Some((first_s, _)) => (false, *first_s),
            None => (false, WEEK_S),
        };
        Phase {
            open,
            left_s: end_s - clock_s,
        }
    }
}

fn time_of_day_s(subject: &str, found: &str) -> Result<i64, Problem> {
    let allowed = "HH:MM or HH:MM:SS, 00:00 to 24:00";
    parse_time_of_day_s(found).ok_or_else(|| problem(subject, found, allowed))
}

fn parse_time_of_day_s(text: &str) -> Option<i64> {
    let number = |text: &str, end: i64| {
        let two_digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = two_digits.then_some(text)?.parse().ok()?;
        (number < end).then_some(number)
    };
    let mut parts = text.split(':');
    let hours = number(parts.next()?, 25)?;
    let minutes = number(parts.next()?, 60)?;
    let seconds = parts.next().map_or(Some(0), |part| number(part, 60))?;
    let time_s = hours * 3_600 + minutes * 60 + seconds;
    (parts.next().is_none() && time_s <= DAY_S).then_some(time_s)
}

#[cfg(test)]
mod tests {
    use jiff::civil::Weekday::{Friday, Monday, Saturday, Sunday, Tuesday};

    use super::*;

    fn time(days: &[Weekday], from: &str, to: &str) -> CallingTime {
        CallingTime {
            days: days.to_vec(),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    #[test]
    fn a_time_of_day_has_minutes_or_seconds_and_ends_at_24() {
        let cases = [
            ("00:00", Some(0)),
            ("09:30", Some(34_200)),
            ("09:30:07", Some(34_207)),
            ("23:59:59", Some(86_399)),
            ("24:00", Some(86_400)),
            ("24:00:00", Some(86_400)),
            ("24:00:01", None),
            ("24:01", None),
            ("25:00", None),
            ("09:60", None),
            ("09:00:60", None),
            ("9:00", None),
            ("009:00", None),
            ("+9:00", None),
            (" 9:00", None),
            ("09:00 ", None),
            ("09", None),
            ("09:00:00:00", None),
            ("09:00:", None),
            ("09:00:00.5", None),
            ("09.00", None),
            ("٠٩:٠٠", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_time_of_day_s(text), expected, "{text:?}");
        }
    }

    /// Intervals in hours since Monday 00:00.
    type Intervals<'a> = &'a [(i64, i64)];

    #[test]
    fn what_crosses_midnight_belongs_to_its_day_and_what_adjoins_is_one() {
        let cases: [(&[CallingTime], Intervals); 9] = [
            (&[time(&[Friday], "22:00", "02:00")], &[(118, 122)]),
            (&[time(&[Sunday], "22:00", "02:00")], &[(0, 2), (166, 168)]),
            // `from` on the next day.
            (&[time(&[Tuesday], "00:00", "00:00")], &[(24, 48)]),
            (&[time(&[Tuesday], "00:00", "24:00")], &[(24, 48)]),
            (&[time(&[Monday], "09:00", "09:00")], &[(9, 33)]),
            (&[time(&[Monday], "24:00", "06:00")], &[(24, 30)]),
            (&[time(&[Sunday], "24:00", "06:00")], &[(0, 6)]),
            (&[time(&[Sunday], "24:00", "24:00")], &[(0, 24)]),
            (
                &[
                    time(&[Saturday], "12:00", "24:00"),
                    time(&[Sunday, Sunday], "00:00", "03:00"),
                    time(&[Monday], "08:00", "12:00"),
                    time(&[Monday], "09:00", "10:00"),
                    time(&[Monday], "11:00", "13:00"),
                ],
                &[(8, 13), (132, 147)],
            ),
        ];
        for (week, expected) in cases {
            let intervals = Week::read("week", week).unwrap().intervals;
            let expected = expected.iter().map(|(from, to)| (from * 3_600, to * 3_600));
            assert_eq!(intervals, expected.collect::<Vec<_>>(), "{week:?}");
        }
    }

    #[test]
    fn a_problem_names_the_field_what_was_found_and_what_is_allowed() {
        let good = time(&[Monday], "09:00", "17:00");
        let long = "9".repeat(1_000);
        let cases = [
            (vec![], "", "none", "one or more calling times"),
            (
                vec![good.clone(), time(&[], "09:00", "17:00")],
                "[1].days",
                "none",
                "one or more days",
            ),
            (
                vec![good.clone(), good.clone(), time(&[Monday], "9:00", "17:00")],
                "[2].from",
                "9:00",
                "HH:MM or HH:MM:SS, 00:00 to 24:00",
            ),
            (
                vec![time(&[Monday], "09:00", &long)],
                "[0].to",
                &long[..60],
                "HH:MM",
            ),
        ];
        for (week, field, found, allowed) in cases {
            let problem = Week::read("week", &week).unwrap_err();
            assert_eq!(problem.subject, format!("week{field}"));
            assert_eq!(problem.found, found);
            assert!(problem.allowed.starts_with(allowed), "{problem:?}");
        }
    }
}
