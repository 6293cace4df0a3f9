//! Timestamps as the service has them: ISO 8601 without zone offset, with fractional
//! seconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// `time` in UTC, such as `2026-01-31T09:08:07.000001`.
pub(crate) fn iso_8601(time: SystemTime) -> String {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (
        since_epoch.as_secs() / 86_400,
        since_epoch.as_secs() % 86_400,
    );
    let (year, month, day) = civil_date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let micros = since_epoch.subsec_micros();
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.{micros:06}",
        second % 60
    )
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
/// Years are counted from March, so that the leap day is a year's last.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let day = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_month)
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
