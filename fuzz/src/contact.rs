//! What a list says of a contact: a number, and on the next line the hours of calls.

use voice_calling_rules::number::normalize;
use voice_calling_rules::{CallingHours, Hours, calling_times};

/// Moments at which hours are asked for: the first one, one in a week of each kind, and the last.
const MOMENTS_MS: [u64; 5] = [
    0,
    1_795_000_000_123,
    // The hour that New York's clock repeats, and the one that it skips.
    1_793_511_000_000,
    1_805_006_400_000,
    u64::MAX,
];

/// Checks that a number is never one that was not written, that an error does not show it, and that
/// hours are windows around or after the moment.
pub fn contact(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (number, hours) = text.split_once('\n').unwrap_or((&text, ""));
    assert_number_read(number);
    for zone in ["Asia/Kolkata", "America/New_York"] {
        assert_hours_read(hours, zone);
    }
}

fn assert_number_read(text: &str) {
    let international = normalize("phone", text, None);
    match normalize("phone", text, Some("91")) {
        Ok(number) => {
            assert!(number.len() == 12 && number.bytes().all(|it| it.is_ascii_digit()));
            assert_eq!(normalize("phone", &number, None).as_ref(), Ok(&number));
            let written: String = text.chars().filter(char::is_ascii_digit).collect();
            if text.is_ascii() {
                let significant = written.trim_start_matches('0');
                assert!(number.ends_with(significant), "{number} was not written");
            }
            assert!(international.is_err() || international == Ok(number));
        }
        Err(problem) => {
            assert!(international.is_err());
            let digits = problem.found.split(|it: char| !it.is_ascii_digit());
            // A character may be named by six.
            assert!(digits.map(str::len).max() < Some(7), "a log has the number");
        }
    }
}

fn assert_hours_read(text: &str, time_zone: &str) {
    let Ok(week) = calling_times("hours", text) else {
        return;
    };
    let time_zone = time_zone.to_owned();
    let Ok(hours) = Hours::read("hours", &CallingHours { time_zone, week }) else {
        return;
    };
    for at_ms in MOMENTS_MS {
        let Some(window) = hours.next(at_ms) else {
            assert!(at_ms == u64::MAX, "hours end");
            continue;
        };
        assert!(window.opens_ms < window.closes_ms && at_ms < window.closes_ms);
        let inside_ms = window.opens_ms.max(at_ms);
        let again = hours.next(inside_ms);
        assert!(again.is_some_and(|it| (it.opens_ms..it.closes_ms).contains(&inside_ms)));
    }
}
