//! Timestamps as the service has them: ISO 8601 without zone offset, with fractional
//! seconds.

use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::parse_borrowed;

const FORMAT: &str = "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]";

/// `time` in UTC, such as `2026-01-31T09:08:07.000001`.
pub(crate) fn iso_8601(time: SystemTime) -> String {
    let format = parse_borrowed::<2>(FORMAT).expect("a format");
    let formatted = OffsetDateTime::from(time).format(&format);
    formatted.expect("a year of four digits")
}

#[cfg(test)]
mod tests {
    use super::iso_8601;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn timestamps_have_no_zone_and_six_digits_of_fraction() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000"),
            (951_868_800_000_000, "2000-03-01T00:00:00.000000"),
            (1_709_251_199_999_999, "2024-02-29T23:59:59.999999"),
            (1_798_761_599_000_001, "2026-12-31T23:59:59.000001"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000"),
        ] {
            assert_eq!(iso_8601(UNIX_EPOCH + Duration::from_micros(micros)), text);
        }
    }
}
