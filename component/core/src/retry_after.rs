//! The header `retry-after` (RFC 9110, section 10.2.3).

use std::time::UNIX_EPOCH;

/// Nobody waits for longer.
const A_DAY_MS: u64 = 86_400_000;

/// How long a server asks to wait, in milliseconds from now, at most a day; none where the header
/// is neither a number of seconds nor a date. A date that has passed is 0.
///
/// A date is read against `date`, the answer's own date: clocks differ. Where there is none, the
/// time is `unix_time_s`.
pub fn parse_retry_after(value: &str, date: Option<&str>, unix_time_s: u64) -> Option<u64> {
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

/// Seconds in digits, and against the standard also with a fraction, which is rounded up.
fn seconds_to_ms(value: &str) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // More digits than a u64 has are a time that nobody waits for either.
    let seconds = whole.parse().unwrap_or(u64::MAX);
    let fraction_ms = (format!("0.{fraction}").parse::<f64>().ok()? * 1_000.0).ceil();
    Some(
        seconds
            .saturating_mul(1_000)
            .saturating_add(fraction_ms as u64),
    )
}

fn http_date_s(value: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nothing_else() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let then = 784_111_777;
        for (value, expected) in [
            ("0", Some(0)),
            ("7", Some(7_000)),
            (" 120 ", Some(120_000)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sunday, 06-Nov-94 08:49:47 GMT", Some(10_000)),
            ("Sun Nov  6 08:49:47 1994", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("\u{0661}", None),
        ] {
            assert_eq!(parse_retry_after(value, then), expected, "{value:?}");
        }
    }
}
