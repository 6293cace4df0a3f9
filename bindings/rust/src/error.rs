//! The error of an operation.

use std::fmt;
use std::time::Duration;
use voice_calling_core::types::{Attempt, Failure, HttpResponse, Problem, RequestError};

/// The error of an operation: a [case](Error::kind), a message, and the details.
///
/// If [`is_permanent`](Error::is_permanent) returns `false`, nothing was created: the same request
/// may be sent again. A permanent error may mean that a phone rings:
/// [`may_have_created`](Error::may_have_created) says whether.
#[derive(Clone, PartialEq)]
pub struct Error(Box<RequestError>);

impl Error {
    /// Returns the case of the error, with its record.
    pub fn kind(&self) -> &RequestError {
        &self.0
    }

    /// Returns `true` if the same request would fail again, or might call a person twice.
    pub fn is_permanent(&self) -> bool {
        self.0.is_permanent()
    }

    /// Returns `true` if a call, docket or agent may have been created.
    pub fn may_have_created(&self) -> bool {
        // The error without a record comes from a host, and says nothing about what was created.
        self.failure()
            .is_none_or(|failure| failure.may_have_created)
    }

    /// Returns the attempts of the operation, in order; empty if nothing was sent.
    pub fn attempts(&self) -> &[Attempt] {
        self.failure().map_or(&[], |failure| &failure.attempts)
    }

    /// Returns the setting or argument at fault, if there is one.
    pub fn problem(&self) -> Option<&Problem> {
        self.failure()?.problem.as_ref()
    }

    /// Returns the answer that decided, if there was one.
    pub fn response(&self) -> Option<&HttpResponse> {
        self.failure()?.response.as_ref()
    }

    /// Returns how long the service asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        let retry_after_ms = self.response()?.retry_after_ms?;
        Some(Duration::from_millis(retry_after_ms.into()))
    }

    fn failure(&self) -> Option<&Failure> {
        self.0.failure()
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failure() {
            Some(failure) => formatter.write_str(&failure.message),
            None => formatter.write_str("the operation could not be run"),
        }
    }
}

/// `{:?}` is the message, since that is what a `main` function that returns the error prints.
/// `{:#?}` is the record.
impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if formatter.alternate() {
            return write!(formatter, "{:#?}", self.0);
        }
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Error {}
