//! What results say of what the service answered.

use super::findings::{Findings, KEPT_BODY_BYTES, ROUNDING_MS, cut, told, told_attempts, told_of};
use super::time::began_ms;
use super::token::shows_token;
use crate::operation::{DOCKET_ID, Operation, Returned, outcome};
use crate::scenario::{CANARY, Run};
use crate::script::HeardBody;
use crate::trace::{Attempt, Outcome, Trace};
use serde::de::IgnoredAny;
use uuid::Uuid;
use voice_calling_host::types::RequestError;

pub(super) fn error_case(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let trace = match (run.scenario.operation.is_wait(), returned) {
        // A wait that ends well may have seen whatever.
        (true, Ok(_)) => return None,
        _ => told_of(run, trace, returned)?,
    };
    if trace.on_the_edge() {
        return None;
    }
    if trace.attempts.is_empty() && run.scenario.operation != Operation::CreateDocketsV2 {
        return Some(vec!["nothing was sent".to_owned()]);
    }
    let found = outcome(returned);
    let allowed = trace.allowed_cases();
    Some(match allowed.contains(&found) {
        true => Vec::new(),
        false => vec![format!("{found}; expected {}", allowed.join(" or "))],
    })
}

pub(super) fn attempts_are_reported(
    run: &Run,
    trace: &Trace,
    returned: &Returned,
) -> Option<Findings> {
    let told = told_attempts(returned);
    let seen = told_of(run, trace, returned)?;
    if told.len() != seen.attempts.len() {
        return Some(vec![format!(
            "reports {} attempts, there were {}",
            told.len(),
            seen.attempts.len()
        )]);
    }
    let began_ms = began_ms(run, &seen, returned);
    let mut found = Findings::new();
    for (told, seen) in told.iter().zip(&seen.attempts) {
        let started_ms = seen.sent.at_ms - began_ms;
        let took_ms = seen.ended_ms().unwrap_or(run.ended_ms) - seen.sent.at_ms;
        let near = |told: u32, seen: u64| u64::from(told).abs_diff(seen) <= ROUNDING_MS;
        if !near(told.started_ms, started_ms) || !near(told.duration_ms, took_ms) {
            found.push(format!(
                "reports an attempt at {} ms for {} ms, there was one at {started_ms} for {took_ms}",
                told.started_ms, told.duration_ms
            ));
        }
        if seen.on_the_edge {
            continue;
        }
        let (status, broken) = match seen.outcome() {
            Outcome::Status(status, body) => (Some(status), body == HeardBody::Broken),
            _ => (None, true),
        };
        let says_why = told
            .transport_error
            .as_deref()
            .is_some_and(|text| !text.is_empty());
        if told.status != status || broken && !says_why {
            found.push(format!(
                "reports {:?} and {:?}, there was {}",
                told.status,
                told.transport_error,
                self::told(seen)
            ));
        }
    }
    Some(found)
}

pub(super) fn answer_is_kept(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let error = returned.as_ref().err()?;
    let failure = error.failure()?;
    let status = |attempt: &Attempt| match attempt.outcome() {
        Outcome::Status(status, body) => Some((status, body)),
        _ => None,
    };
    let failed = |attempt: &&Attempt| {
        status(attempt).is_some_and(|(status, _)| matches!(status, 408 | 500..=599))
    };
    // Of a create that may have been processed, it is the service's own failure that says so.
    let decisive = match error {
        RequestError::PermanentOutcomeUnknown(_) if !trace.on_the_edge() => {
            trace.attempts.iter().rev().find(failed)
        }
        _ => None,
    };
    let Some(response) = &failure.response else {
        let last = decisive.or(trace.attempts.last())?;
        // A read without a whole answer reports its attempts.
        let due = status(last).is_some() && !last.on_the_edge && run.scenario.operation.is_create();
        return due.then(|| vec![format!("{} has no response", error.case())]);
    };
    let decisive = decisive.or_else(|| {
        let mut latest = trace.attempts.iter().rev();
        latest.find(|attempt| status(attempt).is_some_and(|(status, _)| status == response.status))
    });
    let Some((attempt, (status, heard))) = decisive
        .and_then(|one| Some((one, status(one)?)))
        .filter(|(_, (status, _))| *status == response.status)
    else {
        return Some(vec![format!(
            "has the response {}, which did not occur or did not decide the result",
            response.status
        )]);
    };
    // Where the end of a body and that of its time come at once, either may be heard first.
    if heard != HeardBody::Whole && !response.body_cut && !attempt.on_the_edge {
        return Some(vec!["has half of a body as if it were complete".to_owned()]);
    }
    let body = String::from_utf8_lossy(&attempt.sent.heard_beginning);
    // What echoes the token is masked, each component in its own way.
    let clean = body.find(&CANARY[..8]).unwrap_or(body.len());
    let due = &body[..body.floor_char_boundary(clean.min(KEPT_BODY_BYTES))];
    if !response.body.starts_with(due) {
        return Some(vec![format!(
            "has {:?}… of a body that begins with {:?}…",
            cut(&response.body),
            cut(due)
        )]);
    }
    let location = attempt
        .header("location")
        .filter(|_| (300..=399).contains(&status));
    let hidden =
        location.filter(|location| !shows_token(location) && !failure.message.contains(location));
    Some(
        hidden
            .map(|location| format!("does not report the location {location}"))
            .into_iter()
            .collect(),
    )
}

pub(super) fn answer_is_whole(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    let whole = |attempt: &&Attempt| {
        matches!(
            attempt.outcome(),
            Outcome::Status(200..=299, HeardBody::Whole)
        )
    };
    let seen = trace.attempts.iter().rev().find(whole);
    let (seen, raw) = match (seen, &answered.raw) {
        (Some(seen), Some(raw)) if seen.satisfies() => (seen.body()?, raw),
        // A wait may end without having seen anything, and say so.
        (None, None) if run.scenario.operation.is_wait() => return Some(Vec::new()),
        _ if trace.on_the_edge() => return None,
        (_, None) => {
            return Some(vec![
                "returns nothing of what the service answered".to_owned(),
            ]);
        }
        _ => return Some(vec!["returns what the service never answered".to_owned()]),
    };
    let seen = String::from_utf8_lossy(&seen);
    let seen = seen.trim_start_matches('\u{feff}').trim();
    let records = answered.records.map(|found| {
        let list = serde_json::from_str::<Vec<IgnoredAny>>(seen);
        (found, list.map_or(1, |list| list.len()))
    });
    Some(match records {
        _ if raw.trim() != seen => vec![format!(
            "returns {:?}…, the service answered {:?}…",
            cut(raw),
            cut(seen)
        )],
        Some((found, due)) if found != due => {
            vec![format!(
                "returns {found} records, the service answered {due}"
            )]
        }
        _ => Vec::new(),
    })
}

/// The id of what was asked for, or of what was created, by which it can be asked for.
pub(super) fn right_docket(run: &Run, _: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    let (id, raw) = (answered.id.as_deref()?, answered.raw.as_deref()?);
    let operation = run.scenario.operation;
    // Of the ways to write one, that with hyphens.
    let is_uuid = |id: &str| id.len() == 36 && Uuid::try_parse(id).is_ok();
    let written = |name: &str| raw.contains(&format!("\"{name}\":\"{id}\""));
    let right = match operation {
        Operation::MakeCall => written("task_id") && ![".", ".."].contains(&id),
        _ if operation.is_create() => written("docket_id") && is_uuid(id),
        _ => id.eq_ignore_ascii_case(DOCKET_ID),
    };
    Some(match right {
        true => Vec::new(),
        false => vec![format!("the id is {id:?}")],
    })
}

pub(super) fn confirmations(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    if run.scenario.operation != Operation::VerifyDocketCompleted {
        return None;
    }
    let completed = trace.attempts.last().is_some_and(Attempt::is_ready);
    Some(match answered.confirmed {
        None => vec!["a completion is reported as not-a-completion".to_owned()],
        Some(true) if !completed => vec!["confirmed, but the docket is not completed".to_owned()],
        Some(_) => Vec::new(),
    })
}
