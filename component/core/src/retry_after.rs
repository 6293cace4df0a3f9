//! The header `retry-after` (RFC 9110, section 10.2.3).

use std::time::UNIX_EPOCH;

/// How long a server asks to wait, in milliseconds from now; none where the header
/// is neither a number of seconds nor a date. A date that has passed is 0.
pub fn parse_retry_after(value: &str, unix_time_s: u64) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // Digits that are no u64 are a time that nobody waits for either.
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(seconds.saturating_mul(1000));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date_s = date.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Some(date_s.saturating_sub(unix_time_s).saturating_mul(1000))
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
