//! Checks the contacts and options of a campaign.

use crate::bindings::voice_calling::workflows::campaign_types::{CampaignOptions, Contacts};
use crate::entry;
use crate::error::problem;
use crate::grants::Grants;
use crate::pace::Pace;
use voice_calling_core::types::Problem;
use voice_calling_obelisk_guest::campaign::{Given, MOST_CONTACTS};
use voice_calling_rules::number;

/// The slots of a segment are in its history, which the engine replays whenever it resumes.
const MOST_OPEN: u32 = 500;

/// Each is looked up before the next call.
const MOST_CALLS: u32 = 99;

/// Checks that a campaign may run with these contacts and options.
pub(crate) fn check(contacts: &Contacts, options: &CampaignOptions) -> Result<(), Problem> {
    if !(1..=MOST_OPEN).contains(&options.max_open) {
        let found = options.max_open.to_string();
        let allowed = format!("1 to {MOST_OPEN}");
        return Err(problem("options.max-open", &found, &allowed));
    }
    Grants::read(options.hours.as_ref(), options.per_minute, Given::default())?;
    if options.max_creations == Some(0) {
        return Err(problem("options.max-creations", "0", "1 or more"));
    }
    if let Some(limits) = &options.per_number
        && !(1..=MOST_CALLS).contains(&limits.max_calls)
    {
        let (subject, found) = ("options.per-number.max-calls", limits.max_calls.to_string());
        return Err(problem(subject, &found, &format!("1 to {MOST_CALLS}")));
    }
    let country_code = options.country_code.as_deref();
    if let Some(code) = country_code {
        number::check_country_code("options.country-code", code)?;
    }
    Pace::read(&options.run).map_err(|problem| Problem {
        subject: problem.subject.replacen("options.", "options.run.", 1),
        ..problem
    })?;
    match contacts {
        Contacts::Source(source) if source.is_empty() => {
            let allowed = "what the activity `contacts.page` reads: a URL";
            Err(problem("contacts.source", "nothing", allowed))
        }
        Contacts::Listed(entries) if entries.len() > MOST_CONTACTS => {
            let found = entries.len().to_string();
            let allowed = format!("0 to {MOST_CONTACTS}; more by a source");
            Err(problem("contacts.listed", &found, &allowed))
        }
        // What is not allowed is a result of a check.
        Contacts::Listed(entries) if !only_checks(options) => {
            let mut entries = (0..).zip(entries);
            entries.try_for_each(|(index, entry)| match entry::check(entry, country_code) {
                Ok(_) => Ok(()),
                Err(problem) => Err(Problem {
                    subject: format!("contacts.listed[{index}].{}", problem.subject),
                    ..problem
                }),
            })
        }
        _ => Ok(()),
    }
}

/// Returns `true` if the contacts are checked, and no one is called.
pub(crate) fn only_checks(options: &CampaignOptions) -> bool {
    options.check_only.unwrap_or(false)
}

/// Returns `true` if a number is called as often as it is in the contacts.
pub(crate) fn allows_duplicates(options: &CampaignOptions) -> bool {
    options.allow_duplicates.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::voice_calling::workflows::campaign_types::{CallingHours, NumberLimits};
    use crate::entry::tests::entry;
    use crate::pace::tests::options as run;

    fn options() -> CampaignOptions {
        CampaignOptions {
            max_open: 1,
            per_minute: None,
            max_creations: None,
            per_number: None,
            hours: None,
            country_code: None,
            allow_duplicates: None,
            check_only: None,
            run: run(),
        }
    }

    fn refused(contacts: &Contacts, options: &CampaignOptions) -> String {
        match check(contacts, options) {
            Ok(()) => "allowed".to_owned(),
            Err(problem) => problem.subject,
        }
    }

    const TOO_OFTEN: Option<NumberLimits> = Some(NumberLimits {
        max_calls: 100,
        gap_ms: 0,
    });

    fn hours(time_zone: &str, week: &str) -> Option<CallingHours> {
        Some(CallingHours {
            time_zone: time_zone.to_owned(),
            week: week.to_owned(),
        })
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let listed = |count| Contacts::Listed(vec![entry("919876543210"); count]);
        let some = listed(1);
        assert_eq!(refused(&listed(MOST_CONTACTS), &options()), "allowed");
        assert_eq!(refused(&listed(0), &options()), "allowed");
        let wrong = Contacts::Listed(vec![entry("919876543210"), entry("98765 43210")]);
        let subject = "contacts.listed[1].to-phone-number";
        assert_eq!(refused(&wrong, &options()), subject);
        let india = |code: &str| CampaignOptions {
            country_code: Some(code.to_owned()),
            ..options()
        };
        assert_eq!(refused(&wrong, &india("91")), "allowed");
        assert_eq!(refused(&wrong, &india("+91")), "options.country-code");
        let many = listed(MOST_CONTACTS + 1);
        assert_eq!(refused(&many, &options()), "contacts.listed");
        let nowhere = Contacts::Source(String::new());
        assert_eq!(refused(&nowhere, &options()), "contacts.source");
        type Change = fn(&mut CampaignOptions);
        let cases: [(&str, Change); 8] = [
            ("max-open", |it| it.max_open = 0),
            ("max-open", |it| it.max_open = 501),
            ("per-minute", |it| it.per_minute = Some(0)),
            ("max-creations", |it| it.max_creations = Some(0)),
            ("per-number.max-calls", |it| it.per_number = TOO_OFTEN),
            ("hours.time-zone", |it| {
                it.hours = hours("Atlantis", "mon 09:00-10:00")
            }),
            ("hours.week", |it| it.hours = hours("UTC", "mon")),
            ("run.timeout-ms", |it| it.run.timeout_ms = 0),
        ];
        for (subject, change) in cases {
            let mut options = options();
            change(&mut options);
            assert_eq!(refused(&some, &options), format!("options.{subject}"));
        }
    }
}
