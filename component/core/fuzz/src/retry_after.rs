//! The header `retry-after`.

use crate::service::{Service, client, run};
use voice_calling_core::retry_after::parse_retry_after;
use voice_calling_core::types::RequestError;

/// Fri, 31 Dec 9999 23:59:59 GMT, the last date that has four digits for its year.
const LAST_DATE_S: u64 = 253_402_300_799;

/// The beginning, a day in 1994, the end, and beyond it.
const MOMENTS_S: [u64; 4] = [0, 784_111_777, LAST_DATE_S, u64::MAX];

const A_DAY_MS: u64 = 86_400_000;

/// How much of a header is read.
const HEADER_BYTES: usize = 256;

/// The data is a header, and after a line break the answer's own date. A header is a number of
/// seconds, or a date that exists, or nothing, and at most a day; what the client reports of an
/// answer is the same.
pub fn retry_after(data: &[u8]) {
    let line_break = data.iter().position(|byte| *byte == b'\n');
    let (value, date) = match line_break {
        Some(at) => (&data[..at], Some(&data[at + 1..])),
        None => (data, None),
    };
    let mut service = Service::answering(429, b"").with_header("retry-after", value);
    if let Some(date) = date {
        service = service.with_header("date", date);
    }
    let client = client(&service);
    let (value, date) = (header(value), date.map(header));
    for moment_s in MOMENTS_S {
        let read = parse_retry_after(&value, date.as_deref(), moment_s);
        assert_eq!(
            read,
            expected(&value, date.as_deref(), moment_s),
            "{value:?} {date:?}"
        );
    }
    match run(client.list_agents("org-1", None)) {
        Err(RequestError::RateLimited(failure)) => {
            let response = failure.response.expect("a rate limit");
            let read = response.retry_after_ms.map(u64::from);
            assert_eq!(read, expected(&value, date.as_deref(), 0));
        }
        other => panic!("a rate limit became {other:?}"),
    }
}

/// A header as a text, as much of it as is read.
fn header(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(HEADER_BYTES)]).into_owned()
}

fn expected(value: &str, date: Option<&str>, moment_s: u64) -> Option<u64> {
    let ms = match seconds_ms(value.trim()) {
        Some(ms) => ms,
        None => {
            let now_s = date.and_then(date_s).unwrap_or(moment_s);
            date_s(value)?.saturating_sub(now_s).saturating_mul(1_000)
        }
    };
    Some(ms.min(A_DAY_MS))
}

/// Decimal digits with or without a fraction, rounded up to a millisecond.
fn seconds_ms(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let mut digits = whole.chars().chain("000".chars()).map(|c| c.to_digit(10));
    let whole_ms = digits.try_fold(0_u64, |number, digit| {
        Some(number.saturating_mul(10).saturating_add(digit?.into()))
    })?;
    let digits: Option<Vec<_>> = fraction.chars().map(|c| c.to_digit(10)).collect();
    let digits = digits?;
    let digit = |place: usize| u64::from(digits.get(place).copied().unwrap_or(0));
    let more = digits.iter().skip(3).any(|digit| *digit > 0);
    let fraction_ms = digit(0) * 100 + digit(1) * 10 + digit(2) + u64::from(more);
    Some(whole_ms.saturating_add(fraction_ms))
}

/// The date that a text spells: the moment from which on nobody has to wait for it. None where
/// the text is not one.
fn date_s(text: &str) -> Option<u64> {
    let trimmed = text.trim();
    if seconds_ms(trimmed).is_some() {
        return None;
    }
    let left = |moment_s| parse_retry_after(trimmed, None, moment_s);
    if left(0).is_none() {
        assert_eq!(MOMENTS_S.map(left), [None; 4], "{trimmed:?}");
        return None;
    }
    assert_eq!(left(LAST_DATE_S), Some(0), "{trimmed:?}");
    let (mut before, mut passed) = (0, LAST_DATE_S);
    while before < passed {
        let middle = before + (passed - before) / 2;
        match left(middle) {
            Some(0) => passed = middle,
            _ => before = middle + 1,
        }
    }
    let spellings = spellings(passed);
    assert!(
        spellings.iter().any(|date| is_spelled(trimmed, date)),
        "{trimmed:?} is not the date {spellings:?}"
    );
    Some(passed)
}

/// Whether a value is this date. What stands in place of a space does not matter: a
/// day may begin with 0, and the library that reads dates passes over one of them.
fn is_spelled(value: &str, date: &str) -> bool {
    let mut bytes = date.bytes().zip(value.bytes());
    date.len() == value.len() && bytes.all(|(date, value)| date == value || date == b' ')
}

/// A date in the three forms of RFC 9110, section 5.6.7.
fn spellings(date_s: u64) -> [String; 3] {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // 1 January 1970 was a Thursday.
    const WEEKDAYS: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let (mut day, second) = (date_s / 86_400, date_s % 86_400);
    let weekday = WEEKDAYS[(day % 7) as usize];
    let short_weekday = &weekday[..3];
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    // 400 years have the same number of days wherever they begin.
    let mut year = 1970 + day / 146_097 * 400;
    day %= 146_097;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    let days = |month: usize| match month {
        1 => 28 + u64::from(is_leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    while day >= days(month) {
        day -= days(month);
        month += 1;
    }
    let (day, month) = (day + 1, MONTHS[month]);
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    [
        format!("{short_weekday}, {day:02} {month} {year:04} {time} GMT"),
        format!("{weekday}, {day:02}-{month}-{:02} {time} GMT", year % 100),
        format!("{short_weekday} {month} {day:>2} {time} {year:04}"),
    ]
}
