//! Checks that every create is accounted for, whatever the caller's own program did. Pure:
//! compares the requests that the service received with the results that reached the caller.

use super::json::Json;
use super::program::Program;
use super::step::Step;
use voice_calling_peer::Request;

/// Returns how the report of the received creates falls short, one line for each. The service
/// answered each create with the step at the same index.
pub(crate) fn unaccounted(
    program: Program,
    received: &[Request],
    steps: &[Step],
    outcome: &Json,
    log: &[String],
) -> Vec<String> {
    let report = format!("{outcome} {}", log.join(" "));
    if !program.lets_the_request_out() {
        if !received.is_empty() {
            let count = received.len();
            return vec![format!("accounting: expected no request, found {count}")];
        }
        return match says_may_have_created(outcome) {
            true => vec![format!(
                "accounting: nothing was sent, but a create may exist by {report}"
            )],
            false => Vec::new(),
        };
    }
    if received.is_empty() {
        return vec!["accounting: expected a request, found none".to_owned()];
    }
    let creates = received.iter().zip(steps);
    let created = creates.filter_map(|(request, step)| Some((request, step.created_id()?)));
    let created: Vec<_> = created.collect();
    // For a batch, the id of any item: the service decides which request is answered first.
    let has_an_id = created.iter().any(|(_, id)| report.contains(id));
    let must_have_an_id = program.has_the_answer() && !has_an_id;
    let missing = created.iter().filter(|(request, id)| {
        let is_unknown = is_reported_as_unknown(request, outcome, log);
        must_have_an_id || !(report.contains(id) || is_unknown)
    });
    missing
        .map(|(_, id)| format!("accounting: {id} was created, and is not in {report}"))
        .collect()
}

/// Returns `true` if the caller learns that this create may exist: by the error for it, or by a
/// line of the log with the `external_id`. For a lone create without one, any line suffices.
fn is_reported_as_unknown(request: &Request, outcome: &Json, log: &[String]) -> bool {
    let external_id = external_id(&request.body);
    let is_logged = match &external_id {
        Some(external_id) => log.iter().any(|line| line.contains(external_id)),
        None => !log.is_empty(),
    };
    is_logged
        || match outcome {
            Json::Array(results) => {
                let place = external_id.and_then(|external_id| place_in_batch(&external_id));
                let result = place.and_then(|place| results.get(place));
                result.is_some_and(says_may_have_created)
            }
            outcome => says_may_have_created(outcome),
        }
}

/// Returns `true` if a result says that a created object may exist.
fn says_may_have_created(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| {
            (name == "may_have_created" && *value == Json::Boolean(true))
                || says_may_have_created(value)
        }),
        Json::Array(elements) => elements.iter().any(says_may_have_created),
        _ => false,
    }
}

fn external_id(body: &[u8]) -> Option<String> {
    let body = Json::parse(std::str::from_utf8(body).ok()?).ok()?;
    body.get("external_id")?.as_text().map(str::to_owned)
}

/// Returns the index of a request in its batch: in the table the first of them is `crm-0`.
fn place_in_batch(external_id: &str) -> Option<usize> {
    external_id.strip_prefix("crm-")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{At, Fault};

    /// Returns how many creates are unaccounted for. They have the ids `d-1`, … and the external
    /// ids `crm-1`, ….
    fn missing(at: At, creates: usize, outcome: &str, log: &str) -> usize {
        let program = Program {
            does: Fault::Interrupt,
            at,
        };
        let received: Vec<_> = (1..=creates)
            .map(|create| Request {
                method: "POST".to_owned(),
                path: "/api/v2/dockets".to_owned(),
                body: format!(r#"{{"external_id":"crm-{create}"}}"#).into(),
                ..Request::default()
            })
            .collect();
        let answer = |create| Step::answer(200, &format!(r#"{{"docket_id":"d-{create}"}}"#));
        let answers: Vec<_> = (1..=creates).map(answer).collect();
        let log: Vec<_> = log.lines().map(str::to_owned).collect();
        let outcome = Json::parse(outcome).unwrap();
        unaccounted(program, &received, &answers, &outcome, &log).len()
    }

    #[test]
    fn a_create_is_accounted_for_by_its_id_or_where_the_answer_is_not_known_as_unknown() {
        const UNKNOWN: &str = r#"{"failure": {"may_have_created": true}}"#;
        const KNOWN: &str = r#"{"failure": {"may_have_created": false}}"#;
        for (at, creates, outcome, log, expected) in [
            (At::Head, 1, r#"{"docket_id": "d-1"}"#, "", 0),
            (At::Head, 1, "null", "d-1 was created", 0),
            (At::Head, 1, "null", "crm-1 may have been created", 0),
            (At::Head, 1, UNKNOWN, "", 0),
            (At::Head, 1, "null", "crm-2 may have been created", 1),
            (At::Head, 1, KNOWN, "", 1),
            (At::End, 1, "null", "d-1 was created", 0),
            (At::End, 1, UNKNOWN, "crm-1 may have been created", 1),
            (At::Result, 1, UNKNOWN, "", 1),
            (At::Body, 1, &format!("[null, {UNKNOWN}]"), "", 0),
            (At::Body, 1, &format!("[{UNKNOWN}, null]"), "", 1),
            (At::Head, 2, "null", "crm-1 may have been\ncrm-2 too", 0),
            (At::Head, 2, "null", "crm-1 may have been created", 1),
            (
                At::End,
                2,
                "null",
                "crm-1 may have been\nd-2 was created",
                0,
            ),
            (At::End, 2, "null", "crm-1 may have been\ncrm-2 too", 2),
            (At::End, 2, "null", "d-2 was created", 1),
            (At::BeforeRequest, 0, "null", "", 0),
            (At::BeforeRequest, 0, UNKNOWN, "", 1),
            (At::BeforeRequest, 1, "null", "", 1),
            // A client that sends nothing must be reported.
            (At::Head, 0, "null", "", 1),
        ] {
            let missing = missing(at, creates, outcome, log);
            assert_eq!(missing, expected, "{at}: {outcome} {log}");
        }
    }
}
