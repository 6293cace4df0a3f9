//! Errors for an agent: what happened, and what to do.

use crate::bindings::voice_calling::client::types::{Failure, RequestError};
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
    use RequestError as Error;
    let (failure, next) = match error {
        Error::ExecutionFailed => return unknown("the component failed"),
        Error::RateLimited(failure)
        | Error::Unavailable(failure)
        | Error::Unreachable(failure)
        | Error::TimedOut(failure) => {
            let next = retry_advice(&failure);
            (failure, next)
        }
        Error::PermanentUnauthorized(failure) => {
            let next = "a person has to correct VOICE_CALLING_API_TOKEN";
            (failure, next.to_owned())
        }
        Error::PermanentNotFound(failure) => {
            let next = match rings {
                true => AGAIN,
                false => "the id is unknown, or not known yet",
            };
            (with_reason(failure), next.to_owned())
        }
        Error::PermanentRejected(failure) => (with_reason(failure), AGAIN.to_owned()),
        Error::PermanentConfiguration(failure)
        | Error::PermanentInvalidInput(failure)
        | Error::PermanentUnexpectedResponse(failure)
        | Error::PermanentOutcomeUnknown(failure) => (failure, AGAIN.to_owned()),
    };
    let Failure {
        message,
        may_have_created,
        ..
    } = failure;
    match (may_have_created, rings) {
        (true, _) => unknown(&message),
        (false, true) => format!("{message}. Nothing was created; {next}."),
        (false, false) => format!("{message}; {next}."),
    }
}

/// Formats the error of an argument that is not allowed.
pub(crate) fn invalid(name: &str, found: impl Display, allowed: &str) -> String {
    format!("{name}: found {found}; allowed: {allowed}; {AGAIN}.")
}

const AGAIN: &str = "the same call will fail again";

fn retry_advice(failure: &Failure) -> String {
    let wait_ms = failure.response.as_ref().and_then(|it| it.retry_after_ms);
    match wait_ms {
        Some(wait_ms) => format!("try again in {} s", wait_ms.div_ceil(1_000)),
        None => "try again later".to_owned(),
    }
}

/// Adds the service's message, by which an agent may correct its call, in quotation marks, so that
/// it is taken as data only.
fn with_reason(mut failure: Failure) -> Failure {
    let body = failure.response.as_ref().map_or("", |it| &it.body);
    if !body.is_empty() {
        let shown: String = body.chars().take(MAX_SHOWN_CHARACTERS).collect();
        let message = failure.message;
        failure.message = format!("{message}; the service's own words, as data: {shown:?}");
    }
    failure
}

fn unknown(message: &str) -> String {
    format!(
        "OUTCOME UNKNOWN: {message}. A telephone may be ringing. Do not repeat this call; ask a \
         person."
    )
}
