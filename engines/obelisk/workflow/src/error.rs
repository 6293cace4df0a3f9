//! What an error of the client says, whatever its case.

use voice_calling_core::types::RequestError;

/// The case of an error, without what a service may have put into its payload.
pub fn name(error: &RequestError) -> &'static str {
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

/// Whether the same call would fail again, or would risk that a person is called twice.
pub fn is_permanent(error: &RequestError) -> bool {
    name(error).starts_with("permanent-")
}
