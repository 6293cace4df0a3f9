//! How many calls may be begun in a minute.

use crate::problem::Problem;

const MOST_PER_MINUTE: u32 = 6_000;

/// How many calls may be begun in one minute of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub(crate) per_minute: Option<u32>,
}

impl Pace {
    /// Reads `options.per-minute`: 1 to 6000; none is no limit.
    pub fn read(per_minute: Option<u32>) -> Result<Self, Problem> {
        match per_minute {
            Some(found) if !(1..=MOST_PER_MINUTE).contains(&found) => Err(Problem::new(
                "options.per-minute",
                &found.to_string(),
                &format!("1 to {MOST_PER_MINUTE}, or none for no limit"),
            )),
            per_minute => Ok(Self { per_minute }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_1_to_6000_or_not_limited() {
        for allowed in [None, Some(1), Some(6_000)] {
            assert_eq!(Pace::read(allowed).unwrap().per_minute, allowed);
        }
        for refused in [0, 6_001, u32::MAX] {
            let problem = Pace::read(Some(refused)).unwrap_err();
            assert_eq!(problem.subject, "options.per-minute");
            assert_eq!(problem.found, refused.to_string());
            assert_eq!(problem.allowed, "1 to 6000, or none for no limit");
        }
    }
}
