//! Descriptions of errors, whatever their case.

use voice_calling_core::types::{Problem, RequestError};
use voice_calling_obelisk_guest::failure;

use crate::bindings::voice_calling::workflows::types::RunError;

/// Describes an error for people to read.
pub fn describe(error: &RequestError) -> String {
    match error.failure() {
        Some(failure) => format!("{}: {}", error.case(), failure.message),
        None => error.case().to_owned(),
    }
}

/// Returns the error for a request that was never sent.
pub fn unreachable(message: String) -> RequestError {
    RequestError::Unreachable(failure(message, false))
}

/// Describes the problem with an argument for people to read.
pub fn describe_problem(problem: &Problem) -> String {
    let (found, allowed) = (&problem.found, &problem.allowed);
    format!("{}: found {found}; allowed: {allowed}", problem.subject)
}

/// Returns the problem with an argument, for people to read; a long `found` is cut.
pub fn problem(subject: &str, found: &str, allowed: &str) -> Problem {
    Problem {
        subject: subject.to_owned(),
        found: found.chars().take(60).collect(),
        allowed: allowed.to_owned(),
    }
}

/// Explains, for people to read, why no docket exists or why that is unknown.
pub fn reason(error: RunError) -> String {
    match error {
        RunError::ExecutionFailed => "the engine could not run the workflow".to_owned(),
        RunError::PermanentInvalidInput(problem) => describe_problem(&problem),
        RunError::PermanentNotCreated(error) | RunError::PermanentOutcomeUnknown(error) => {
            describe(&error)
        }
        RunError::PermanentSpared(reason) | RunError::PermanentGivenUp(reason) => reason,
    }
}
