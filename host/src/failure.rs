//! The content of the component's errors, whatever their case.

use crate::types::{Attempt, Failure, HttpResponse, RequestError};

impl RequestError {
    /// Returns the record of the error; `None` if the host could not run the component, which it
    /// reports in its own words.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::ExecutionFailed => None,
            Self::PermanentConfiguration(failure)
            | Self::PermanentInvalidInput(failure)
            | Self::PermanentUnauthorized(failure)
            | Self::PermanentNotFound(failure)
            | Self::PermanentRejected(failure)
            | Self::PermanentUnexpectedResponse(failure)
            | Self::PermanentOutcomeUnknown(failure)
            | Self::RateLimited(failure)
            | Self::Unavailable(failure)
            | Self::Unreachable(failure)
            | Self::TimedOut(failure) => Some(failure),
        }
    }

    /// Returns the name of its case in the WIT.
    pub fn case(&self) -> &'static str {
        match self {
            Self::ExecutionFailed => "execution-failed",
            Self::PermanentConfiguration(_) => "permanent-configuration",
            Self::PermanentInvalidInput(_) => "permanent-invalid-input",
            Self::PermanentUnauthorized(_) => "permanent-unauthorized",
            Self::PermanentNotFound(_) => "permanent-not-found",
            Self::PermanentRejected(_) => "permanent-rejected",
            Self::PermanentUnexpectedResponse(_) => "permanent-unexpected-response",
            Self::PermanentOutcomeUnknown(_) => "permanent-outcome-unknown",
            Self::RateLimited(_) => "rate-limited",
            Self::Unavailable(_) => "unavailable",
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timed-out",
        }
    }

    /// Returns all attempts that were made.
    pub fn attempts(&self) -> &[Attempt] {
        self.failure().map_or(&[], |failure| &failure.attempts)
    }

    /// Returns the response that decided.
    pub fn response(&self) -> Option<&HttpResponse> {
        self.failure()?.response.as_ref()
    }
}
