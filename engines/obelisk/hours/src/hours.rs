//! When calls may begin, on the clock of one time zone.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::problem::Problem;
use crate::week::{CallingHours, DAY_S, Phase, WEEK_S, Week};

/// 1970-01-01 was a Thursday.
const MONDAY_TO_EPOCH_S: i64 = 3 * DAY_S;

/// How far a window reaches into the past and the future. It need only be longer than a week: then
/// what is cut is open all week.
const REACH_S: i64 = WEEK_S + DAY_S;

/// When calls may begin.
#[derive(Clone, Debug)]
pub struct Hours {
    zone: TimeZone,
    week: Week,
}

/// A stretch of time in which calls may begin, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub opens_ms: u64,
    /// The moment after the last one.
    pub closes_ms: u64,
}

impl Hours {
    /// Reads `options.hours`.
    pub fn read(hours: &CallingHours) -> Result<Self, Problem> {
        Ok(Self {
            zone: zone(&hours.time_zone)?,
            week: Week::read(&hours.week)?,
        })
    }

    /// The window that contains `at_ms` (milliseconds since 1970-01-01T00:00:00Z), or else the next
    /// one. None: it would be after the year 9999.
    ///
    /// What adjoins is one window, but for weeks without a closed second: there it is cut 8 days
    /// before and after `at_ms`.
    pub fn next(&self, at_ms: u64) -> Option<Window> {
        let at_s = i64::try_from(at_ms / 1_000).ok()?;
        let mut opens_s = None;
        let mut from_s = (at_s - REACH_S).max(0);
        loop {
            let phase = self.phase(from_s)?;
            let until_s = from_s + phase.left_s;
            match opens_s {
                Some(opens_s) if !phase.open && at_s < from_s => {
                    return Some(Window::of_seconds(opens_s, from_s));
                }
                _ if !phase.open => opens_s = None,
                _ => {
                    let opens_s = *opens_s.get_or_insert(from_s);
                    let cut_s = opens_s.max(at_s) + REACH_S;
                    if cut_s <= until_s {
                        return Some(Window::of_seconds(opens_s, cut_s));
                    }
                }
            }
            from_s = until_s;
        }
    }

    /// What the clock on the wall says at a moment, and for how long nobody changes it.
    fn phase(&self, at_s: i64) -> Option<Phase> {
        let at = Timestamp::from_second(at_s).ok()?;
        let offset_s = i64::from(self.zone.to_offset(at).seconds());
        let phase = self.week.phase(MONDAY_TO_EPOCH_S + at_s + offset_s);
        let change = self.zone.following(at).next();
        let until_change_s = change.map(|change| change.timestamp().as_second() - at_s);
        Some(Phase {
            left_s: phase.left_s.min(until_change_s.unwrap_or(i64::MAX)),
            ..phase
        })
    }
}

impl Window {
    /// From seconds, none of which is negative.
    fn of_seconds(opens_s: i64, closes_s: i64) -> Self {
        let ms = |seconds: i64| seconds.unsigned_abs() * 1_000;
        Self {
            opens_ms: ms(opens_s),
            closes_ms: ms(closes_s),
        }
    }
}

fn zone(name: &str) -> Result<TimeZone, Problem> {
    let zone = TimeZoneDatabase::bundled().get(name).ok();
    // The database has names for a zone that nobody has set; their clock is that of UTC.
    let set = |zone: &TimeZone| !zone.is_unknown() && !name.eq_ignore_ascii_case("Factory");
    zone.filter(set).ok_or_else(|| {
        let allowed = "a name of the IANA time zone database, such as Asia/Kolkata";
        Problem::new("options.hours.time-zone", name, allowed)
    })
}
