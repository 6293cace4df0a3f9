//! Calling hours in one line, as people write them: `mon-fri 09:30-18:00, sat 10:00-13:00`.

use jiff::civil::Weekday;

use crate::week::CallingTime;
use crate::{Problem, problem};

const WEEK: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Reads calling hours from a line. Each time comes after its days, `mon-fri`, `sat,sun` or `fri`,
/// as `09:30-18:00`; there may be several times of the same days, and several days with times,
/// separated by commas, semicolons or space.
///
/// # Errors
/// Returns an error that names the word that is neither days nor a time, or the days without one.
pub fn calling_times(subject: &str, text: &str) -> Result<Vec<CallingTime>, Problem> {
    let allowed = "days and times, such as `mon-fri 09:30-18:00, sat 10:00-13:00`";
    let refused = |found: &str| problem(subject, found, allowed);
    let mut times: Vec<CallingTime> = Vec::new();
    let mut days = Vec::new();
    let mut has_time = true;
    for word in text
        .split([',', ';', ' ', '\t'])
        .filter(|it| !it.is_empty())
    {
        if let Some(more) = read_days(word) {
            if has_time {
                days.clear();
            }
            days.extend(more);
            has_time = false;
        } else if let Some((from, to)) = word.split_once('-').filter(|_| !days.is_empty()) {
            let (days, from, to) = (days.clone(), from.to_owned(), to.to_owned());
            times.push(CallingTime { days, from, to });
            has_time = true;
        } else {
            return Err(refused(word));
        }
    }
    match has_time && !times.is_empty() {
        true => Ok(times),
        false => Err(refused(text)),
    }
}

/// Returns the days of `mon` or `mon-fri`; a range may run over the end of the week.
fn read_days(word: &str) -> Option<Vec<Weekday>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (read_day(first)?, read_day(last)?);
    let count = (last + 7 - first) % 7;
    let days = (first..=first + count).map(|index| WEEK[index % 7].1);
    Some(days.collect())
}

/// Returns the index of a day from three or more letters of its name.
fn read_day(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    let is_day = |(name, _): &(&str, _)| text.len() >= 3 && name.starts_with(&text);
    WEEK.iter().position(is_day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallingHours, Hours};

    /// A line, and its times as days (counted from Monday) and hours.
    const LINES: [(&str, &str); 7] = [
        ("mon-fri 09:30-18:00", "01234 09:30-18:00"),
        ("MON 09:00-17:00", "0 09:00-17:00"),
        (
            "mon-fri 09:00-13:00 14:00-18:00; sat 10:00-13:00",
            "01234 09:00-13:00|01234 14:00-18:00|5 10:00-13:00",
        ),
        ("sat,sun 10:00-12:00", "56 10:00-12:00"),
        ("fri-mon 22:00-02:00", "4560 22:00-02:00"),
        ("tues thursday 08:00-24:00", "13 08:00-24:00"),
        ("mon-sun 00:00-24:00", "0123456 00:00-24:00"),
    ];

    #[test]
    fn a_line_has_days_and_their_times() {
        for (line, expected) in LINES {
            let times = calling_times("--hours", line).unwrap();
            let shown = times.iter().map(|time| {
                let days = time.days.iter().map(|day| day.to_monday_zero_offset());
                let days: String = days.map(|day| day.to_string()).collect();
                format!("{days} {}-{}", time.from, time.to)
            });
            assert_eq!(shown.collect::<Vec<_>>().join("|"), expected, "{line}");
            let hours = CallingHours {
                time_zone: "Asia/Kolkata".to_owned(),
                week: times,
            };
            Hours::read("--hours", &hours).unwrap();
        }
    }

    #[test]
    fn what_is_neither_days_nor_a_time_is_named() {
        for (line, found) in [
            ("", ""),
            ("mon-fri", "mon-fri"),
            ("09:30-18:00", "09:30-18:00"),
            ("mon-fri 0930", "0930"),
            ("mo-fr 09:30-18:00", "mo-fr"),
            ("mon 09:00-12:00, sun", "mon 09:00-12:00, sun"),
        ] {
            let problem = calling_times("--hours", line).unwrap_err();
            assert_eq!((&*problem.subject, &*problem.found), ("--hours", found));
        }
    }
}
