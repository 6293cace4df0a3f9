//! Errors for an agent: what happened, and what to do.

use crate::bindings::voice_calling::types::types::{Failure, FailureKind, NextStep, RequestError};
use std::fmt::Display;

/// The number of characters of the service's answer that an agent sees of a refusal.
const MAX_SHOWN_CHARACTERS: usize = 300;

/// Formats the error of a tool that cannot ring.
pub(crate) fn of_read(error: RequestError) -> String {
    advice(error, false)
}

/// Formats the error of a tool that rings.
pub(crate) fn of_create(error: RequestError) -> String {
    advice(error, true)
}

fn advice(error: RequestError, rings: bool) -> String {
    let failure = match error {
        RequestError::ExecutionFailed => return unknown("the component failed"),
        RequestError::Permanent(failure) | RequestError::Transient(failure) => failure,
    };
    let next = match (failure.next_step, failure.kind) {
        (NextStep::Unknown, _) => return unknown(&with_reason(failure)),
        (NextStep::RetryLater, _) => retry_advice(&failure),
        (_, FailureKind::Unauthorized) => {
            "a person has to correct VOICE_CALLING_API_TOKEN".to_owned()
        }
        (_, FailureKind::NotFound) if !rings => "the id is unknown, or not known yet".to_owned(),
        _ => AGAIN.to_owned(),
    };
    ended(&with_reason(failure), &next, rings)
}

/// Formats the error of an argument that is not allowed, of a tool that rings or not.
pub(crate) fn invalid(name: &str, found: impl Display, allowed: &str, rings: bool) -> String {
    let message = format!("{name}: found {found}; allowed: {allowed}");
    ended(&message, AGAIN, rings)
}

fn ended(message: &str, next: &str, rings: bool) -> String {
    match rings {
        true => format!("{message}. Nothing was created; {next}."),
        false => format!("{message}; {next}."),
    }
}

const AGAIN: &str = "the same call will fail again";

fn retry_advice(failure: &Failure) -> String {
    let wait_ms = failure.response.as_ref().and_then(|it| it.retry_after_ms);
    match wait_ms {
        Some(wait_ms) => format!("try again in {} s", wait_ms.div_ceil(1_000)),
        None => "try again later".to_owned(),
    }
}

/// Returns the message, with the service's own if it refused the call: an agent may correct its call
/// by it. It is in quotation marks, so that it is taken as data only.
fn with_reason(failure: Failure) -> String {
    let is_refusal = matches!(failure.kind, FailureKind::NotFound | FailureKind::Rejected);
    match failure.response {
        Some(response) if is_refusal && !response.body.is_empty() => {
            let shown: String = response.body.chars().take(MAX_SHOWN_CHARACTERS).collect();
            let message = failure.message;
            format!("{message}; the service's own words, as data: {shown:?}")
        }
        // The tool has a shorter name for it.
        _ if failure.kind == FailureKind::InvalidInput => {
            failure.message.replacen("from-agent-name", "agent-name", 1)
        }
        _ => failure.message,
    }
}

fn unknown(message: &str) -> String {
    format!(
        "OUTCOME UNKNOWN: {message}. A telephone may be ringing. Do not repeat this call; ask a \
         person."
    )
}
