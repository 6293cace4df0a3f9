//! The error of an operation.

use std::fmt::{self, Display};
use std::time::Duration;
use voice_calling_core as core;
use voice_calling_core::types::{Attempt, Failure, FailureKind, HttpResponse, NextStep, Problem};

/// The error of an operation: its [kind](Error::kind), a message, and the details.
///
/// If [`is_permanent`](Error::is_permanent) returns `false`, nothing was created: the same request
/// may be sent again. A permanent error may mean that a phone rings:
/// [`may_have_created`](Error::may_have_created) says whether.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
/// # let service = voice_calling::testing::ScriptedService::new();
/// # let client = service.client();
/// use voice_calling::{CallRequest, FailureKind};
///
/// # service.answer(voice_calling::testing::Answer::lost());
/// let request = CallRequest::new("renewals", "910000000000");
/// let error = client.make_call(&request).await.unwrap_err();
/// assert_eq!(error.kind(), FailureKind::OutcomeUnknown);
/// assert!(error.is_permanent() && error.may_have_created());
/// assert_eq!(error.attempts().len(), 1);
/// assert!(error.response().is_none() && error.problem().is_none());
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<Failure>);

impl Error {
    /// Creates the error of a setting that is wrong.
    pub(crate) fn configuration(subject: &str, found: impl Display, allowed: &str) -> Self {
        let problem = core::problem(subject, found.to_string(), allowed);
        core::configuration_failure(problem).into()
    }

    /// Returns what went wrong.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// Returns what follows for the next request: to the same person, and to others.
    pub fn next_step(&self) -> NextStep {
        self.0.next_step
    }

    /// Returns `true` if the same request would fail again, or might call a person twice.
    pub fn is_permanent(&self) -> bool {
        self.0.kind.is_permanent()
    }

    /// Returns `true` if a call, docket or agent may have been created.
    pub fn may_have_created(&self) -> bool {
        self.0.may_have_created
    }

    /// Returns all that is known.
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    /// Returns the attempts of the operation, in order; empty if nothing was sent.
    pub fn attempts(&self) -> &[Attempt] {
        &self.0.attempts
    }

    /// Returns the setting or argument at fault, if there is one.
    pub fn problem(&self) -> Option<&Problem> {
        self.0.problem.as_ref()
    }

    /// Returns the answer that decided, if there was one.
    pub fn response(&self) -> Option<&HttpResponse> {
        self.0.response.as_ref()
    }

    /// Returns how long the service asks to wait before the next request.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// # service.answer(voice_calling::testing::Answer::status(429).header("retry-after", "60"));
    /// let error = client.list_agents("org-1").await.unwrap_err();
    /// assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(60)));
    /// # Ok(()) }
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        let retry_after_ms = self.response()?.retry_after_ms?;
        Some(Duration::from_millis(retry_after_ms.into()))
    }
}

impl From<Failure> for Error {
    fn from(mut failure: Failure) -> Self {
        if let Some(problem) = &mut failure.problem
            && failure.kind == FailureKind::InvalidInput
        {
            let is_message = failure.message == problem.to_string();
            problem.subject = argument_in_rust(&problem.subject);
            if is_message {
                failure.message = problem.to_string();
            }
        }
        Self(Box::new(failure))
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Failure::from(problem).into()
    }
}

/// Returns the name in Rust of an argument, which the core names as the WIT does. The name of a
/// member of the caller's own JSON, which may follow it, stays as it is.
fn argument_in_rust(name: &str) -> String {
    match name.split_once('.') {
        Some(("options" | "wait", _)) | None => name.replace('-', "_"),
        Some((argument, member)) => format!("{}.{member}", argument.replace('-', "_")),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
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

impl std::error::Error for Error {
    /// Returns the problem, if the message does not have it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let problem = self.problem()?;
        let is_in_message = self.0.message.contains(&problem.to_string());
        (!is_in_message).then_some(problem as _)
    }
}
