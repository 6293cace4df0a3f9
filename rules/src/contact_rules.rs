//! Rules of a client: a number is checked by them before a create is sent.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{
    CallingHours, DoNotCall, Hours, Limits, Problem, Refusal, calling_times, may_call, number,
    problem, zone,
};

/// Whom a client may call, and when.
#[derive(Clone, Debug)]
pub struct ContactRules {
    do_not_call: Option<DoNotCall>,
    country_code: Option<String>,
    hours: Option<(Hours, TimeZone)>,
}

impl ContactRules {
    /// Reads rules: numbers that must not be called, as people write them, the country code of those
    /// without one, and calling hours such as `mon-fri 09:30-18:00` by the clock of a time zone.
    ///
    /// # Errors
    /// Returns an error if a part cannot be read, such as a number, and if `hours` and `time_zone`
    /// are not given together.
    pub fn new(
        do_not_call: Option<&[String]>,
        country_code: Option<&str>,
        hours: Option<&str>,
        time_zone: Option<&str>,
    ) -> Result<Self, Problem> {
        if let Some(code) = country_code {
            number::check_country_code("country_code", code)?;
        }
        let listed = |numbers: &[String]| {
            let mut listed = DoNotCall::default();
            for (index, text) in numbers.iter().enumerate() {
                let subject = format!("do_not_call.{index}");
                listed.insert(&number::normalize(&subject, text, country_code)?);
            }
            Ok(listed)
        };
        let hours = match (hours, time_zone) {
            (None, None) => None,
            (Some(hours), Some(time_zone)) => {
                let zone = zone("time_zone", time_zone)?;
                let written = CallingHours {
                    time_zone: time_zone.to_owned(),
                    week: calling_times("hours", hours)?,
                };
                Some((Hours::read("hours", &written)?, zone))
            }
            (Some(_), None) => {
                let allowed = "that of the people to be called, such as Asia/Kolkata";
                return Err(problem("time_zone", "nothing", allowed));
            }
            (None, Some(_)) => {
                return Err(problem("hours", "nothing", "such as mon-fri 09:30-18:00"));
            }
        };
        Ok(Self {
            do_not_call: do_not_call.map(listed).transpose()?,
            country_code: country_code.map(str::to_owned),
            hours,
        })
    }

    /// Returns why a number may not be called at a moment in milliseconds since 1970-01-01T00:00:00Z,
    /// if so. One that cannot be compared with those of the list may not be called either.
    pub fn refusal(&self, to_phone_number: &str, at_ms: u64) -> Option<String> {
        let mut known = to_phone_number.to_owned();
        if self.do_not_call.is_some() {
            let code = self.country_code.as_deref();
            match number::normalize("to_phone_number", to_phone_number, code) {
                Ok(number) => known = number,
                Err(problem) => return Some(problem.found),
            }
        }
        let nothing = DoNotCall::default();
        let do_not_call = self.do_not_call.as_ref().unwrap_or(&nothing);
        let limits = Limits {
            max_calls: usize::MAX,
            gap_ms: 0,
        };
        let hours = self.hours.as_ref().map(|(hours, _)| hours);
        match may_call(&known, at_ms, do_not_call, limits, &[], hours).err()? {
            Refusal::Closed(opens_ms) => {
                let opens = opens_ms.and_then(|ms| Timestamp::from_millisecond(ms as i64).ok());
                Some(match (opens, &self.hours) {
                    (Some(opens), Some((_, zone))) => {
                        let opens = opens.to_zoned(zone.clone());
                        format!("a number outside of its calling hours until {opens}")
                    }
                    _ => "a number without calling hours".to_owned(),
                })
            }
            Refusal::DoNotCall | Refusal::TooOften | Refusal::TooSoon(_) => {
                Some("a number on the do-not-call list".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_refused_with_the_reason_and_rules_that_cannot_be_read_are_not_rules() {
        let listed = ["098765-43210".to_owned()];
        let hours = Some("thu 09:00-17:00");
        let rules = ContactRules::new(Some(&listed), Some("91"), hours, Some("Asia/Kolkata"));
        let rules = rules.unwrap();
        // 1970-01-01 was a Thursday; its 09:00 in India is 03:30 UTC.
        let nine_ms = 12_600_000;
        let cases = [
            ("+91 98765 43210", nine_ms, "do-not-call list"),
            ("12345", nine_ms, "5 digits"),
            ("919876543211", nine_ms - 1, "1970-01-01T09:00:00+05:30"),
        ];
        for (number, at_ms, expected) in cases {
            let reason = rules.refusal(number, at_ms).unwrap();
            assert!(reason.contains(expected), "{number}: {reason}");
        }
        assert_eq!(rules.refusal("919876543211", nine_ms), None);

        let refused = |listed: Option<&[String]>, hours, zone, subject: &str| {
            let problem = ContactRules::new(listed, None, hours, zone).unwrap_err();
            assert_eq!(problem.subject, subject);
        };
        refused(Some(&listed), None, None, "do_not_call.0");
        refused(None, hours, None, "time_zone");
        refused(None, None, Some("UTC"), "hours");
        refused(None, hours, Some("Nowhere"), "time_zone");
    }
}
