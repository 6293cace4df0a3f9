//! An estimate of a campaign's end, from the creations of the last minutes.

use jiff::{SignedDuration, Timestamp};

/// Earlier creations say nothing about how the campaign goes on.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Returns when all contacts will have ended if they go on as fast as creations were begun at
/// `begun`, the last one first. Returns `None` if there are too few to know how fast that is.
pub fn end(remaining: u32, begun: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
    let is_recent = |at: &&Timestamp| now.duration_since(**at) <= WINDOW;
    let recent: Vec<_> = begun.iter().take_while(is_recent).collect();
    let took = now.duration_since(**recent.last()?);
    if recent.len() < 2 {
        return None;
    }
    let ms = took.as_millis() * i128::from(remaining) / recent.len() as i128;
    let left = SignedDuration::from_millis(ms.try_into().ok()?);
    now.checked_add(left).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_last_minutes_say() {
        let at = |second: i64| Timestamp::from_second(10_000 + second).unwrap();
        let end = |remaining, begun: &[i64]| {
            let begun: Vec<_> = begun.iter().map(|second| at(*second)).collect();
            end(remaining, &begun, at(1_000))
        };
        assert_eq!(end(30, &[990, 980]), Some(at(1_300)));
        assert_eq!(end(0, &[990, 980]), Some(at(1_000)));
        // What is older than ten minutes does not count.
        assert_eq!(end(30, &[990, 980, 399]), Some(at(1_300)));
        for begun in [&[][..], &[990], &[399, 398]] {
            assert_eq!(end(30, begun), None, "{begun:?}");
        }
    }
}
