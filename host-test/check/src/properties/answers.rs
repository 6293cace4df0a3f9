//! Compares results with the service's answers.

use super::time::began_ms;
use super::token::shows_token;
use super::{
    Judgement, KEPT_BODY_BYTES, ROUNDING_MS, cut, describe, reported_attempts, reported_part,
};
use crate::checks::Check;
use crate::operation::{Answered, DOCKET_ID, Operation, Returned, outcome};
use crate::scenario::{CANARY, Run};
use crate::script::ReceivedBody;
use crate::trace::{Attempt, Outcome, Trace};
use serde::de::IgnoredAny;
use uuid::Uuid;
use voice_calling_host::types::{FailureKind, RequestError};

pub(super) fn judge_result(judgement: &mut Judgement, trace: &Trace, returned: &Returned) {
    error_kind(judgement, trace, returned);
    if let Some(seen) = reported_part(trace, returned) {
        attempts_are_reported(judgement, &seen, returned);
    }
    match returned {
        Ok(answered) => {
            if let Some(finding) = not_whole(trace, answered) {
                judgement.extend(Check::AnswerIsWhole, finding);
            }
            right_docket(judgement, trace.run, answered);
            confirmation(judgement, trace, answered);
        }
        Err(error) => {
            if let Some(finding) = not_kept(trace, error) {
                judgement.extend(Check::AnswerIsKept, finding);
            }
        }
    }
}

fn error_kind(judgement: &mut Judgement, trace: &Trace, returned: &Returned) {
    let operation = trace.run.scenario.operation;
    // A wait that succeeds may have received anything before.
    let is_any_allowed = operation.is_wait() && returned.is_ok();
    let Some(trace) =
        reported_part(trace, returned).filter(|trace| !trace.on_the_edge() && !is_any_allowed)
    else {
        return;
    };
    let is_sent = !trace.attempts.is_empty() || operation == Operation::CreateDocketsV2;
    judgement.expect(Check::ErrorKind, is_sent, || "nothing was sent".to_owned());
    let (found, allowed) = (outcome(returned), trace.allowed_kinds());
    judgement.expect(
        Check::ErrorKind,
        !is_sent || allowed.contains(&found),
        || format!("{found}; expected {}", allowed.join(" or ")),
    );
    if let Err(error) = returned {
        let is_permanent = matches!(error, RequestError::Permanent(_));
        judgement.expect(
            Check::ErrorKind,
            is_permanent != is_transient(found),
            || format!("{found} is permanent: {is_permanent}"),
        );
    }
}

/// Returns `true` if an error of this kind may be retried.
fn is_transient(kind: &str) -> bool {
    let kinds = [
        "rate-limited",
        "unavailable",
        "unreachable",
        "timed-out",
        "not-begun",
    ];
    kinds.contains(&kind)
}

fn attempts_are_reported(judgement: &mut Judgement, seen: &Trace, returned: &Returned) {
    let check = Check::AttemptsAreReported;
    let reported = reported_attempts(returned);
    let (count, sent) = (reported.len(), seen.attempts.len());
    judgement.expect(check, count == sent, || {
        format!("reports {count} attempts, there were {sent}")
    });
    if count != sent {
        return;
    }
    let (began_ms, ended_ms) = (began_ms(seen, returned), seen.run.ended_ms);
    for (attempt, seen) in reported.iter().zip(&seen.attempts) {
        let started_ms = seen.sent.at_ms - began_ms;
        let took_ms = seen.ended_ms().unwrap_or(ended_ms) - seen.sent.at_ms;
        let near = |reported: u32, seen: u64| u64::from(reported).abs_diff(seen) <= ROUNDING_MS;
        let is_timed = near(attempt.started_ms, started_ms) && near(attempt.duration_ms, took_ms);
        judgement.expect(check, is_timed, || {
            format!(
                "reports an attempt at {} ms for {} ms, there was one at {started_ms} for {took_ms}",
                attempt.started_ms, attempt.duration_ms
            )
        });
        let (status, broken) = match seen.outcome() {
            Outcome::Status(status, body) => (Some(status), body == ReceivedBody::Broken),
            _ => (None, true),
        };
        let why = attempt.transport_error.as_deref().unwrap_or_default();
        let is_reported = attempt.status == status && (!broken || !why.is_empty());
        judgement.expect(check, is_reported || seen.on_the_edge, || {
            let seen = describe(seen.sent);
            format!("reports {:?} and {why:?}, there was {seen}", attempt.status)
        });
    }
}

/// Returns how an error fails to keep the answer; `None` if there is nothing to keep.
fn not_kept(trace: &Trace, error: &RequestError) -> Option<Option<String>> {
    let failure = error.failure()?;
    let status = |attempt: &Attempt| match attempt.outcome() {
        Outcome::Status(status, body) => Some((status, body)),
        _ => None,
    };
    let failed = |attempt: &&Attempt| {
        status(attempt).is_some_and(|(status, _)| matches!(status, 408 | 500..=599))
    };
    // For a create that may have been processed, the service's own failure must be kept.
    let decisive = match failure.kind {
        FailureKind::OutcomeUnknown if !trace.on_the_edge() => {
            trace.attempts.iter().rev().find(failed)
        }
        _ => None,
    };
    let Some(response) = &failure.response else {
        let last = decisive.or(trace.attempts.last())?;
        // A read without a complete answer reports its attempts.
        let is_create = trace.run.scenario.operation.is_create();
        let due = status(last).is_some() && !last.on_the_edge && is_create;
        return due.then(|| Some(format!("{} has no response", error.kind())));
    };
    let decisive = decisive.or_else(|| {
        let mut latest = trace.attempts.iter().rev();
        latest.find(|attempt| status(attempt).is_some_and(|(status, _)| status == response.status))
    });
    let Some((attempt, (status, received))) = decisive
        .and_then(|one| Some((one, status(one)?)))
        .filter(|(_, (status, _))| *status == response.status)
    else {
        return Some(Some(format!(
            "has the response {}, which did not occur or did not decide the result",
            response.status
        )));
    };
    // If a body and its time end at once, either may be received first.
    if received != ReceivedBody::Whole && !response.body_cut && !attempt.on_the_edge {
        return Some(Some("has half of a body as if it were complete".to_owned()));
    }
    let body = String::from_utf8_lossy(&attempt.sent.body_beginning);
    // A body that echoes the token is masked, in a way that each component chooses.
    let clean = body.find(&CANARY[..8]).unwrap_or(body.len());
    let due = &body[..body.floor_char_boundary(clean.min(KEPT_BODY_BYTES))];
    if !response.body.starts_with(due) {
        let (kept, due) = (cut(&response.body), cut(due));
        return Some(Some(format!(
            "has {kept:?}… of a body that begins with {due:?}…"
        )));
    }
    let location = attempt
        .header("location")
        .filter(|_| (300..=399).contains(&status));
    let hidden =
        location.filter(|location| !shows_token(location) && !failure.message.contains(location));
    Some(hidden.map(|location| format!("does not report the location {location}")))
}

/// Returns how a result differs from the answer; `None` if that is unknown.
fn not_whole(trace: &Trace, answered: &Answered) -> Option<Option<String>> {
    let whole = |attempt: &&Attempt| {
        matches!(
            attempt.outcome(),
            Outcome::Status(200..=299, ReceivedBody::Whole)
        )
    };
    let seen = trace.attempts.iter().rev().find(whole);
    let (seen, raw) = match (seen, &answered.raw) {
        (Some(seen), Some(raw)) if seen.satisfies() => (seen.body()?, raw),
        // A wait may end without having received anything, and say so.
        (None, None) if trace.run.scenario.operation.is_wait() => return Some(None),
        _ if trace.on_the_edge() => return None,
        (_, None) => return Some(Some("returns nothing of what was answered".to_owned())),
        _ => return Some(Some("returns what the service never answered".to_owned())),
    };
    let seen = String::from_utf8_lossy(&seen);
    let seen = seen.trim_start_matches('\u{feff}').trim();
    let records = answered.records.map(|found| {
        let list = serde_json::from_str::<Vec<IgnoredAny>>(seen);
        (found, list.map_or(1, |list| list.len()))
    });
    Some(match records {
        _ if raw.trim() != seen => {
            let (raw, seen) = (cut(raw), cut(seen));
            Some(format!("returns {raw:?}…, the service answered {seen:?}…"))
        }
        Some((found, due)) if found != due => Some(format!(
            "returns {found} records, the service answered {due}"
        )),
        _ => None,
    })
}

/// Checks that the id is the requested one, or the created one, by which it can be requested.
fn right_docket(judgement: &mut Judgement, run: &Run, answered: &Answered) {
    let (Some(id), Some(raw)) = (&answered.id, &answered.raw) else {
        return;
    };
    let operation = run.scenario.operation;
    // Only the notation with hyphens is accepted.
    let is_uuid = id.len() == 36 && Uuid::try_parse(id).is_ok();
    let written = |name: &str| raw.contains(&format!("\"{name}\":\"{id}\""));
    let right = match operation {
        Operation::MakeCall => written("task_id") && ![".", ".."].contains(&&**id),
        _ if operation.is_create() => written("docket_id") && is_uuid,
        _ => id.eq_ignore_ascii_case(DOCKET_ID),
    };
    judgement.expect(Check::RightDocket, right, || format!("the id is {id:?}"));
}

fn confirmation(judgement: &mut Judgement, trace: &Trace, answered: &Answered) {
    if trace.run.scenario.operation == Operation::VerifyDocketCompleted {
        let completed = trace.attempts.last().is_some_and(Attempt::is_ready);
        let check = Check::Confirmations;
        judgement.expect(check, answered.confirmed.is_some(), || {
            "a completion is reported as not-a-completion".to_owned()
        });
        judgement.expect(check, answered.confirmed != Some(true) || completed, || {
            "confirmed, but the docket is not completed".to_owned()
        });
    }
}
