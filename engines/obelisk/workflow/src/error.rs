//! Descriptions of errors for people to read.

use voice_calling_core::types::{Failure, Problem};

use crate::bindings::voice_calling::workflows::types::RunError;

/// Describes a failure.
pub(crate) fn describe(failure: &Failure) -> String {
    format!("{}: {}", failure.kind.name(), failure.message)
}

/// Returns the problem with an argument; a long `found` is cut.
pub(crate) fn problem(subject: &str, found: &str, allowed: &str) -> Problem {
    Problem {
        subject: subject.to_owned(),
        found: found.chars().take(60).collect(),
        allowed: allowed.to_owned(),
    }
}

/// Explains why no docket exists or why that is unknown.
pub(crate) fn reason(error: RunError) -> String {
    match error {
        RunError::ExecutionFailed => "the engine could not run the workflow".to_owned(),
        RunError::PermanentInvalidInput(problem) => problem.to_string(),
        RunError::PermanentNotCreated(failure) | RunError::PermanentOutcomeUnknown(failure) => {
            describe(&failure)
        }
        RunError::PermanentSpared(reason) | RunError::PermanentGivenUp(reason) => reason,
    }
}
