//! The header `retry-after` (RFC 9110, section 10.2.3).

use std::time::UNIX_EPOCH;

/// The longest time that is waited for.
const A_DAY_MS: u64 = 86_400_000;

/// Returns how long a server asks to wait, in milliseconds from now, at most a day; `None` if the
/// header is neither a number of seconds nor a date. A date that has passed is 0.
///
/// A date is compared with `date`, the response's own date, since clocks differ, or without one with
/// `unix_time_s`.
pub(crate) fn parse_retry_after(value: &str, date: Option<&str>, unix_time_s: u64) -> Option<u64> {
    let value = value.trim();
    let asked_ms = match seconds_to_ms(value) {
        Some(ms) => ms,
        None => {
            let now_s = date.and_then(|date| http_date_s(date.trim()));
            let until_s = http_date_s(value)?;
            until_s
                .saturating_sub(now_s.unwrap_or(unix_time_s))
                .saturating_mul(1_000)
        }
    };
    Some(asked_ms.min(A_DAY_MS))
}

/// Parses seconds in digits and, beyond the standard, with a fraction, which is rounded up.
fn seconds_to_ms(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // Numbers beyond u64 exceed the longest time anyway.
    let seconds = whole.parse().unwrap_or(u64::MAX);
    let fraction_ms = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
    let is_more = fraction.bytes().skip(3).any(|digit| digit != b'0');
    Some(
        seconds
            .saturating_mul(1_000)
            .saturating_add(fraction_ms + u64::from(is_more)),
    )
}

fn http_date_s(value: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT
    const THEN_S: u64 = 784_111_777;

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_a_day() {
        for (value, expected) in [
            ("0", Some(0)),
            ("7", Some(7_000)),
            (" 120 ", Some(120_000)),
            ("1.5", Some(1_500)),
            ("0.0001", Some(1)),
            ("1.0010000000000000000000001", Some(1_002)),
            ("1.00100", Some(1_001)),
            ("3.987", Some(3_987)),
            ("2.", None),
            (".5", None),
            ("1.5.0", None),
            ("1,5", None),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sunday, 06-Nov-94 08:49:47 GMT", Some(10_000)),
            ("Sun Nov  6 08:49:47 1994", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1e3", None),
            ("soon", None),
            ("\u{0661}", None),
            ("86400", Some(A_DAY_MS)),
            ("86400.001", Some(A_DAY_MS)),
            ("99999999999999999999999", Some(A_DAY_MS)),
            ("18446744073709551615.9", Some(A_DAY_MS)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(A_DAY_MS)),
        ] {
            let asked_ms = parse_retry_after(value, None, THEN_S);
            assert_eq!(asked_ms, expected, "{value:?}");
        }
    }

    #[test]
    fn a_date_is_relative_to_the_date_of_the_response_or_without_one_to_the_clock() {
        for (date, expected) in [
            (Some("Sun, 06 Nov 1994 10:00:00 GMT"), 7_000),
            (Some(" Sun, 06 Nov 1994 10:00:00 GMT "), 7_000),
            (Some("Sun, 06 Nov 1994 11:00:00 GMT"), 0),
            (Some("today"), 4_230_000),
            (None, 4_230_000),
        ] {
            let read = |value| parse_retry_after(value, date, THEN_S);
            let until = read("Sun, 06 Nov 1994 10:00:07 GMT");
            assert_eq!(
                (until, read("7")),
                (Some(expected), Some(7_000)),
                "{date:?}"
            );
        }
    }
}
