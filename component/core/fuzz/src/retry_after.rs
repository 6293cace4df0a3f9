//! The header `retry-after`.

use crate::service::{Service, client, run};
use std::time::{Duration, UNIX_EPOCH};
use voice_calling_core::retry_after::parse_retry_after;
use voice_calling_core::types::RequestError;

/// The beginning, a day in 1994, the last date whose year has four digits, and beyond it.
const MOMENTS_S: [u64; 4] = [0, 784_111_777, 253_402_300_799, u64::MAX];

const A_DAY_MS: u64 = 86_400_000;

/// The data is a header, and after a line break the answer's own date. A header is a number of
/// seconds, or a date, or nothing, and at most a day; what the client reports of an answer is the
/// same.
pub fn retry_after(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (value, date) = (lines.next().unwrap_or_default(), lines.next());
    let mut service = Service::answering(429, b"").with_header("retry-after", value);
    if let Some(date) = date {
        service = service.with_header("date", date);
    }
    // What is not text is no header.
    let value = std::str::from_utf8(value).unwrap_or_default();
    let date = date.map(|date| std::str::from_utf8(date).unwrap_or_default());
    for moment_s in MOMENTS_S {
        let read = parse_retry_after(value, date, moment_s);
        assert_eq!(read, expected(value, date, moment_s), "{value:?} {date:?}");
    }
    match run(client(&service).list_agents("org-1", None)) {
        Err(RequestError::RateLimited(failure)) => {
            let response = failure.response.expect("a rate limit");
            let read = response.retry_after_ms.map(u64::from);
            assert_eq!(read, expected(value, date, 0));
        }
        other => panic!("a rate limit became {other:?}"),
    }
}

fn expected(value: &str, date: Option<&str>, moment_s: u64) -> Option<u64> {
    let ms = seconds_ms(value.trim()).or_else(|| {
        let now_s = date.and_then(date_s).unwrap_or(moment_s);
        let seconds = date_s(value)?.saturating_sub(now_s);
        Some(seconds.saturating_mul(1_000))
    });
    ms.map(|ms| ms.min(A_DAY_MS))
}

/// Decimal digits with or without a fraction, rounded up to a millisecond, and at most a day and
/// some.
fn seconds_ms(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let (places, more) = fraction.split_at(fraction.len().min(3));
    let ms: u64 = format!("{places:0<3}").parse().ok()?;
    let is_more = more.contains(|digit| digit != '0');
    let seconds = whole.parse().unwrap_or(A_DAY_MS).min(A_DAY_MS);
    Some(seconds * 1_000 + ms + u64::from(is_more))
}

/// A date in any of the three forms of RFC 9110, section 5.6.7.
fn date_s(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    Some(
        date.duration_since(UNIX_EPOCH)
            .as_ref()
            .map_or(0, Duration::as_secs),
    )
}
