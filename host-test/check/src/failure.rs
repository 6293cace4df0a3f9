//! Looking into errors of the component: which case, which answer, which attempts.

use voice_calling_host::types::{Attempt, HttpResponse, RequestError};

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
