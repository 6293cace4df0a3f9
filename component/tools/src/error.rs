//! Errors as an agent reads them: what happened, and what to do.

use crate::bindings::voice_calling::client::types::{Failure, RequestError};
use std::fmt::Display;

pub(crate) fn advice(error: RequestError) -> String {
    use RequestError as Error;
    let (failure, is_permanent) = match error {
        Error::ExecutionFailed => return unknown("the component failed"),
        Error::RateLimited(failure)
        | Error::Unavailable(failure)
        | Error::Unreachable(failure)
        | Error::TimedOut(failure) => (failure, false),
        Error::PermanentConfiguration(failure)
        | Error::PermanentInvalidInput(failure)
        | Error::PermanentUnauthorized(failure)
        | Error::PermanentNotFound(failure)
        | Error::PermanentRejected(failure)
        | Error::PermanentUnexpectedResponse(failure)
        | Error::PermanentOutcomeUnknown(failure) => (failure, true),
    };
    let Failure {
        message,
        may_have_created,
        ..
    } = failure;
    match (may_have_created, is_permanent) {
        (true, _) => unknown(&message),
        (false, false) => format!("{message}. Nothing was created; try again later."),
        (false, true) => refused(&message),
    }
}

/// An argument that is not allowed.
pub(crate) fn invalid(name: &str, found: impl Display, allowed: &str) -> String {
    refused(&format!("{name}: found {found}; allowed: {allowed}"))
}

fn refused(message: &str) -> String {
    format!("{message}. Nothing was created; the same call will fail again.")
}

fn unknown(message: &str) -> String {
    format!(
        "OUTCOME UNKNOWN: {message}. A telephone may be ringing. Do not repeat this call; ask a \
         person."
    )
}
