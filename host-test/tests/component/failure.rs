//! Looking into errors.

use host_test::types::*;

/// The name of an error's case in the WIT.
pub fn case(error: &RequestError) -> &'static str {
    match error {
        RequestError::ExecutionFailed => "execution-failed",
        RequestError::PermanentConfiguration(_) => "permanent-configuration",
        RequestError::PermanentInvalidInput(_) => "permanent-invalid-input",
        RequestError::PermanentUnauthorized(_) => "permanent-unauthorized",
        RequestError::PermanentNotFound(_) => "permanent-not-found",
        RequestError::PermanentRejected(_) => "permanent-rejected",
        RequestError::PermanentUnexpectedResponse(_) => "permanent-unexpected-response",
        RequestError::PermanentOutcomeUnknown(_) => "permanent-outcome-unknown",
        RequestError::RateLimited(_) => "rate-limited",
        RequestError::Unavailable(_) => "unavailable",
        RequestError::Unreachable(_) => "unreachable",
        RequestError::TimedOut(_) => "timed-out",
    }
}

/// The case of what an operation came to; `ok` where it succeeded.
pub fn outcome<T>(result: &Result<T, RequestError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => case(error),
    }
}

/// The attempts that an error tells of.
pub fn attempts(error: &RequestError) -> &[Attempt] {
    match error {
        RequestError::ExecutionFailed | RequestError::PermanentInvalidInput(_) => &[],
        RequestError::PermanentConfiguration(problem) => &problem.attempts,
        RequestError::PermanentUnauthorized(failure)
        | RequestError::PermanentNotFound(failure)
        | RequestError::PermanentRejected(failure)
        | RequestError::PermanentUnexpectedResponse(failure)
        | RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure) => &failure.attempts,
        RequestError::PermanentOutcomeUnknown(unknown) => &unknown.attempts,
        RequestError::Unreachable(failure) | RequestError::TimedOut(failure) => &failure.attempts,
    }
}

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

/// The answer that an error keeps.
pub fn response(error: &RequestError) -> Option<&HttpResponse> {
    match error {
        RequestError::PermanentUnauthorized(failure)
        | RequestError::PermanentNotFound(failure)
        | RequestError::PermanentRejected(failure)
        | RequestError::PermanentUnexpectedResponse(failure)
        | RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure) => Some(&failure.response),
        RequestError::PermanentOutcomeUnknown(unknown) => unknown.response.as_ref(),
        _ => None,
    }
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
