//! The contacts of a campaign that may be retried: certainly none of their phones rang.

use serde::Deserialize;
use voice_calling_obelisk_guest::campaign::{Contact, SEGMENTS, State, child};
use voice_calling_obelisk_guest::{Api, Ending, Page, Response, RunId};

use crate::bindings::exports::voice_calling::once::records::ContactsPage;
use crate::bindings::voice_calling::operator::contacts::Entry;

/// The number of results that are read at a time; each contact costs a request.
const LENGTH: u32 = 100;

/// The parts of `News::Ended` that are needed here.
#[derive(Deserialize)]
struct News {
    ended: Ended,
}

#[derive(Deserialize)]
struct Ended {
    run: Option<String>,
    state: State,
}

/// The part of a run's input that is needed here.
#[derive(Deserialize)]
struct Work {
    contact: Contact,
}

/// Returns a page of the contacts. A position is a segment and a cursor of its responses.
pub(crate) fn page(api: &Api, campaign: &str, position: u64) -> Result<ContactsPage, String> {
    // While it goes on, a page might have other contacts when it is read again.
    match api.ending(campaign)? {
        Some(Ending::Ok) => {}
        Some(Ending::None) => return Err(format!("the campaign {campaign} has not ended")),
        Some(Ending::Err(_)) | None => return Err(format!("there is no campaign {campaign}")),
    }
    let (segment, cursor) = ((position >> 32) as u32 + 1, position as u32);
    let id = child(campaign, SEGMENTS, segment);
    let responses = api.responses(&id, Page::After(cursor, LENGTH))?;
    let runs = responses.iter().filter_map(retried);
    let entries: Result<_, String> = runs.map(|run| entry(api, &run)).collect();
    let next = match responses.last() {
        Some(last) => Some(u64::from(segment - 1) << 32 | u64::from(last.cursor)),
        None => {
            let other = child(campaign, SEGMENTS, segment + 1);
            let exists = api.status(&other)?.is_some();
            exists.then_some(u64::from(segment) << 32)
        }
    };
    Ok(ContactsPage {
        entries: entries?,
        next,
    })
}

/// Returns the run of a contact that may be retried.
fn retried(response: &Response) -> Option<RunId> {
    let News { ended } = serde_json::from_str(response.text.as_deref()?).ok()?;
    RunId::read(&ended.run.filter(|_| ended.state.may_be_retried())?)
}

/// Returns the contact of a run, as a source has it.
fn entry(api: &Api, run: &RunId) -> Result<Entry, String> {
    let params = api.params(run.as_str())?;
    let work = params
        .first()
        .and_then(|it| it.as_str())
        .unwrap_or_default();
    let Work { contact } = serde_json::from_str(work).map_err(|why| format!("{run}: {why}"))?;
    Ok(Entry {
        agent_id: contact.request.agent_id,
        to_phone_number: contact.request.to_phone_number,
        call_context: contact.request.call_context,
        external_id: contact.request.external_id,
        extra: contact.request.extra,
        time_zone: contact.time_zone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_obelisk_guest::campaign::{News, Row, to_text};

    #[test]
    fn only_contacts_that_were_certainly_not_called_are_taken_up() {
        let run = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:segment_1.n:open_4";
        for (state, expected) in [
            (State::NotCreated, true),
            (State::GivenUp, true),
            (State::Completed, false),
            (State::Unknown, false),
            (State::Failed, false),
            (State::Spared, false),
        ] {
            let row = Row::failed(Some(run.to_owned()), state);
            let response = Response {
                cursor: 1,
                created_at: String::new(),
                id: run.to_owned(),
                text: Some(to_text(&News::Ended(Box::new(row)))),
                has_failed: false,
            };
            assert_eq!(retried(&response).is_some(), expected, "{state:?}");
        }
    }
}
