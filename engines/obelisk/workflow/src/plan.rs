//! Checks the options of a campaign, and counts its results.

use crate::bindings::voice_calling::operator::hand_off::State;
use crate::bindings::voice_calling::workflows::campaign_types::{
    CampaignOptions, CampaignSummary, Contact, Contacts,
};
use crate::error::problem;
use crate::grants::{Grants, NOTHING};
use crate::pace::Pace;
use voice_calling_core::types::{DocketRequestV2, Problem};

/// A larger number is read from a source.
const MOST_LISTED: usize = 500;

/// The slots of a segment are in its history, which the engine replays whenever it resumes.
const MOST_OPEN: u32 = 500;

/// The summary before any contact has ended.
pub const EMPTY: CampaignSummary = CampaignSummary {
    completed: 0,
    timed_out: 0,
    not_created: 0,
    spared: 0,
    unknown: 0,
    failed: 0,
    not_begun: 0,
};

/// Checks that a campaign may run with these contacts and options.
pub fn check(contacts: &Contacts, options: &CampaignOptions) -> Result<(), Problem> {
    match contacts {
        Contacts::Listed(requests) if requests.len() > MOST_LISTED => {
            let found = requests.len().to_string();
            let allowed = format!("0 to {MOST_LISTED}; more by a source");
            return Err(problem("contacts.listed", &found, &allowed));
        }
        Contacts::Source(source) if source.is_empty() => {
            let allowed = "what the activity `contacts.page` reads: a URL";
            return Err(problem("contacts.source", "nothing", allowed));
        }
        _ => {}
    }
    if !(1..=MOST_OPEN).contains(&options.max_open) {
        let found = options.max_open.to_string();
        let allowed = format!("1 to {MOST_OPEN}");
        return Err(problem("options.max-open", &found, &allowed));
    }
    Grants::read(options.hours.as_ref(), options.per_minute, NOTHING)?;
    Pace::read(&options.run).map_err(|problem| Problem {
        subject: problem.subject.replacen("options.", "options.run.", 1),
        ..problem
    })?;
    Ok(())
}

/// Returns a contact that has not been tried yet.
pub fn contact(index: u32, request: DocketRequestV2) -> Contact {
    Contact {
        index,
        request,
        waited_ms: 0,
        tries: 0,
    }
}

/// Counts one contact that ended in `state`.
pub fn count(summary: &mut CampaignSummary, state: State) {
    let counter = match state {
        State::Completed => &mut summary.completed,
        State::TimedOut => &mut summary.timed_out,
        State::NotCreated => &mut summary.not_created,
        State::Spared => &mut summary.spared,
        State::Unknown | State::GivenUp => &mut summary.unknown,
    };
    *counter += 1;
}

/// Adds a segment's summary to the total.
pub fn add(total: &mut CampaignSummary, more: &CampaignSummary) {
    total.completed += more.completed;
    total.timed_out += more.timed_out;
    total.not_created += more.not_created;
    total.spared += more.spared;
    total.unknown += more.unknown;
    total.failed += more.failed;
    total.not_begun += more.not_begun;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::hours::tests::calling_hours;
    use crate::pace::tests::options as run;

    fn options() -> CampaignOptions {
        CampaignOptions {
            max_open: 1,
            per_minute: None,
            hours: None,
            run: run(),
        }
    }

    pub(crate) fn request() -> DocketRequestV2 {
        DocketRequestV2 {
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
        }
    }

    fn refused(contacts: &Contacts, options: &CampaignOptions) -> String {
        match check(contacts, options) {
            Ok(()) => "allowed".to_owned(),
            Err(problem) => problem.subject,
        }
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let listed = |count| Contacts::Listed(vec![request(); count]);
        let some = listed(1);
        assert_eq!(refused(&listed(MOST_LISTED), &options()), "allowed");
        assert_eq!(refused(&listed(0), &options()), "allowed");
        let many = listed(MOST_LISTED + 1);
        assert_eq!(refused(&many, &options()), "contacts.listed");
        let nowhere = Contacts::Source(String::new());
        assert_eq!(refused(&nowhere, &options()), "contacts.source");
        for max_open in [0, 501] {
            let options = CampaignOptions {
                max_open,
                ..options()
            };
            assert_eq!(refused(&some, &options), "options.max-open");
        }
        let never = CampaignOptions {
            per_minute: Some(0),
            ..options()
        };
        assert_eq!(refused(&some, &never), "options.per-minute");
        let nowhere = CampaignOptions {
            hours: Some(calling_hours("Atlantis", &[])),
            ..options()
        };
        assert_eq!(refused(&some, &nowhere), "options.hours.time-zone");
        let mut at_once = options();
        at_once.run.timeout_ms = 0;
        assert_eq!(refused(&some, &at_once), "options.run.timeout-ms");
    }
}
