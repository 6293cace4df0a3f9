//! Who may begin a call when.

use crate::hours::{Hours, Window};
use crate::pace::Pace;

const MINUTE_MS: u64 = 60_000;

/// What is left of a grant when it is given: less is over before anything is sent.
const LEAST_MS: u64 = 1_000;

/// 9999-01-01T00:00:00Z: nothing is granted from then on.
const END_MS: u64 = 253_370_764_800_000;

/// When one call may begin, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Not before.
    pub not_before_ms: u64,
    /// Before this moment.
    pub not_after_ms: u64,
}

/// What has been given: all that another `Grants` needs to know to go on within the pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The minute of the last grant, in minutes since 1970-01-01T00:00:00Z.
    pub minute: u64,
    /// How many grants were given in it.
    pub count: u32,
}

/// Gives grants: each once, none outside the hours, and in no minute of the clock more than the
/// pace allows.
#[derive(Clone, Debug)]
pub struct Grants {
    hours: Option<Hours>,
    pace: Pace,
    given: Given,
}

impl Grants {
    /// `given`: what was given under the same pace before; `Given::default()` where nothing was.
    pub fn new(hours: Option<Hours>, pace: Pace, given: Given) -> Self {
        Self { hours, pace, given }
    }

    /// What has been given.
    pub fn given(&self) -> Given {
        self.given
    }

    /// Gives the next grant.
    ///
    /// With a pace it is the first that is left in its minute, and no minute is returned to. It has
    /// a second left at `now_ms`, or all of its time where that is less. Without hours and pace it
    /// is for any time.
    pub fn next(&mut self, now_ms: u64) -> Grant {
        let (grant, given) = self.find(now_ms);
        self.given = given;
        grant
    }

    /// What `next` would return. It is not given by this.
    pub fn peek(&self, now_ms: u64) -> Grant {
        self.find(now_ms).0
    }

    fn find(&self, now_ms: u64) -> (Grant, Given) {
        if self.hours.is_none() && self.pace.per_minute.is_none() {
            return (Grant::ANY_TIME, self.given);
        }
        let mut from_ms = now_ms;
        while from_ms < END_MS {
            let (turn, given) = self.turn(from_ms);
            let Some(window) = self.window(turn.not_before_ms.max(from_ms)) else {
                break;
            };
            let grant = Grant {
                not_before_ms: turn.not_before_ms.max(window.opens_ms),
                not_after_ms: turn.not_after_ms.min(window.closes_ms),
            };
            let turn_ms = turn.not_after_ms - turn.not_before_ms;
            if grant.left_ms(now_ms) >= turn_ms.min(LEAST_MS) {
                return (grant, given);
            }
            from_ms = grant.not_after_ms.max(window.opens_ms);
        }
        (Grant::NEVER, self.given)
    }

    /// The next turn by the pace alone that is not over at `from_ms`, and what is given with it.
    fn turn(&self, from_ms: u64) -> (Grant, Given) {
        let Some(per_minute) = self.pace.per_minute else {
            return (Grant::ANY_TIME, self.given);
        };
        let mut minute = from_ms / MINUTE_MS;
        let mut before = 0;
        if minute <= self.given.minute {
            Given {
                minute,
                count: before,
            } = self.given;
        }
        if before >= per_minute {
            minute += 1;
            before = 0;
        }
        let minute_ms = minute * MINUTE_MS;
        let turn = Grant {
            not_before_ms: minute_ms + u64::from(before) * MINUTE_MS / u64::from(per_minute),
            not_after_ms: minute_ms + MINUTE_MS,
        };
        let count = before + 1;
        (turn, Given { minute, count })
    }

    fn window(&self, at_ms: u64) -> Option<Window> {
        match &self.hours {
            Some(hours) => hours.next(at_ms),
            None => Some(Window {
                opens_ms: 0,
                closes_ms: u64::MAX,
            }),
        }
    }
}

impl Grant {
    const ANY_TIME: Self = Self {
        not_before_ms: 0,
        not_after_ms: u64::MAX,
    };
    const NEVER: Self = Self {
        not_before_ms: u64::MAX,
        not_after_ms: u64::MAX,
    };

    fn left_ms(&self, now_ms: u64) -> u64 {
        self.not_after_ms
            .saturating_sub(self.not_before_ms.max(now_ms))
    }
}
