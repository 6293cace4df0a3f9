//! Looking into errors.

use voice_calling_host::types::*;

pub use voice_calling_check::failure::{attempts, case, outcome, response};

pub fn statuses(error: &RequestError) -> Vec<Option<u16>> {
    let attempts = attempts(error).iter();
    attempts.map(|attempt| attempt.status).collect()
}

/// When attempts began and how long they took, in milliseconds.
pub fn times_ms(error: &RequestError) -> Vec<(u32, u32)> {
    let attempts = attempts(error).iter();
    attempts
        .map(|attempt| (attempt.started_ms, attempt.duration_ms))
        .collect()
}

/// What is wrong with an argument: the field, what was found, what is allowed.
pub fn invalid_input<T: std::fmt::Debug>(result: Result<T, RequestError>) -> InvalidInput {
    match result {
        Err(RequestError::PermanentInvalidInput(problem)) => problem,
        other => panic!("no invalid input: {other:?}"),
    }
}

/// What is wrong with a setting.
pub fn configuration<T: std::fmt::Debug>(result: Result<T, RequestError>) -> ConfigurationProblem {
    match result {
        Err(RequestError::PermanentConfiguration(problem)) => problem,
        other => panic!("no configuration problem: {other:?}"),
    }
}
