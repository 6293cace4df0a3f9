//! The hours of a campaign, as its options have them.

use voice_calling_core::types::Problem;
use voice_calling_rules::{self as rules, Hours};

use crate::bindings::voice_calling::workflows::campaign_types::{CallingHours, Weekday};

/// Reads `options.hours`.
pub fn read(hours: &CallingHours) -> Result<Hours, Problem> {
    let week = hours.week.iter().map(|time| rules::CallingTime {
        days: time.days.iter().copied().map(weekday).collect(),
        from: time.from.clone(),
        to: time.to.clone(),
    });
    let hours = rules::CallingHours {
        time_zone: hours.time_zone.clone(),
        week: week.collect(),
    };
    Hours::read("options.hours", &hours)
}

fn weekday(day: Weekday) -> rules::Weekday {
    match day {
        Weekday::Monday => rules::Weekday::Monday,
        Weekday::Tuesday => rules::Weekday::Tuesday,
        Weekday::Wednesday => rules::Weekday::Wednesday,
        Weekday::Thursday => rules::Weekday::Thursday,
        Weekday::Friday => rules::Weekday::Friday,
        Weekday::Saturday => rules::Weekday::Saturday,
        Weekday::Sunday => rules::Weekday::Sunday,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::bindings::voice_calling::workflows::campaign_types::CallingTime;

    pub type Times = [(&'static [Weekday], &'static str, &'static str)];

    /// Returns the hours as an option of a campaign.
    pub fn calling_hours(time_zone: &str, times: &Times) -> CallingHours {
        let time = |(days, from, to): &(&[Weekday], &str, &str)| CallingTime {
            days: days.to_vec(),
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        };
        CallingHours {
            time_zone: time_zone.to_owned(),
            week: times.iter().map(time).collect(),
        }
    }

    pub fn hours(time_zone: &str, times: &Times) -> Hours {
        read(&calling_hours(time_zone, times)).unwrap()
    }
}
