//! The header `retry-after`.

use crate::service::{Service, client, run};
use voice_calling_core::retry_after::parse_retry_after;
use voice_calling_core::types::RequestError;

/// Fri, 31 Dec 9999 23:59:59 GMT, the last date that has four digits for its year.
const LAST_DATE_S: u64 = 253_402_300_799;

/// The beginning, a day in 1994, the end, and beyond it.
const MOMENTS_S: [u64; 4] = [0, 784_111_777, LAST_DATE_S, u64::MAX];

/// A header is a number of seconds, or a date that exists, or nothing; what the client
/// reports of an answer is the same.
pub fn retry_after(data: &[u8]) {
    let read = match std::str::from_utf8(data) {
        Ok(value) => assert_read(value),
        Err(_) => None,
    };
    let service = Service::answering(429, b"").with_retry_after(data);
    let client = client(&service);
    match run(client.list_agents("org-1")) {
        Err(RequestError::RateLimited(failure)) => {
            assert_eq!(failure.response.retry_after_ms, read);
        }
        other => panic!("a rate limit became {other:?}"),
    }
}

/// Returns what is read at the beginning of time.
fn assert_read(value: &str) -> Option<u64> {
    let read = MOMENTS_S.map(|moment_s| parse_retry_after(value, moment_s));
    let trimmed = value.trim();
    if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = trimmed.bytes().fold(0_u64, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add((digit - b'0').into())
        });
        assert_eq!(read, [Some(number.saturating_mul(1_000)); 4], "{value:?}");
        return read[0];
    }
    let Some(date_ms) = read[0] else {
        assert_eq!(read, [None; 4], "{value:?}");
        return None;
    };
    let date_s = date_ms / 1_000;
    assert!(date_ms % 1_000 == 0 && date_s <= LAST_DATE_S, "{value:?}");
    let left = MOMENTS_S.map(|moment_s| Some(date_s.saturating_sub(moment_s) * 1_000));
    assert_eq!(read, left, "{value:?}");
    assert!(
        spellings(date_s)
            .iter()
            .any(|date| is_spelled(trimmed, date)),
        "{value:?} is not the date {:?}",
        spellings(date_s)
    );
    read[0]
}

/// Whether a value is this date. What stands in the place of a space does not matter: a
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
