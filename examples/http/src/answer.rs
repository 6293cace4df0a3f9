//! The answers to callers: a status and a JSON object.

use crate::bindings::voice_calling::types::types::{Failure, NextStep, RequestError};
use serde_json::{Value, json};
use wstd::http::{Body, Error, Response};

/// An answer: a status, a header, and the body.
pub(crate) struct Answer {
    status: u16,
    header: Option<(&'static str, String)>,
    body: Value,
}

impl Answer {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            header: None,
            body,
        }
    }

    pub(crate) fn error(status: u16, message: impl Into<String>) -> Self {
        Self::new(status, json!({ "error": message.into() }))
    }

    pub(crate) fn with_header(self, name: &'static str, value: impl Into<String>) -> Self {
        Self {
            header: Some((name, value.into())),
            ..self
        }
    }

    /// Returns the answer for an error of the client. 503 alone allows a retry.
    pub(crate) fn of(error: &RequestError) -> Self {
        let failure = match error {
            RequestError::ExecutionFailed => {
                return Self::unknown("the component did not complete");
            }
            RequestError::Permanent(failure) | RequestError::Transient(failure) => failure,
        };
        let status = match failure.next_step {
            NextStep::Unknown => return Self::unknown(&failure.message),
            NextStep::Refused => 422,
            NextStep::FixSetting => 500,
            NextStep::RetryLater => 503,
        };
        let answer = Self::error(status, &failure.message);
        match retry_after_s(failure) {
            Some(seconds) if status == 503 => answer.with_header("retry-after", seconds),
            _ => answer,
        }
    }

    fn unknown(message: &str) -> Self {
        let body = json!({
            "outcome": "unknown",
            "error": message,
            "advice": "a phone may be ringing: do not retry; ask a person",
        });
        Self::new(502, body)
    }

    pub(crate) fn into_response(self) -> Result<Response<Body>, Error> {
        let response = Response::builder()
            .status(self.status)
            .header("content-type", "application/json");
        let response = match self.header {
            Some((name, value)) => response.header(name, value),
            None => response,
        };
        Ok(response.body(self.body.to_string().into())?)
    }
}

/// Returns the pause that the service asked for, in whole seconds.
fn retry_after_s(failure: &Failure) -> Option<String> {
    let wait_ms = failure.response.as_ref()?.retry_after_ms?;
    Some(wait_ms.div_ceil(1000).to_string())
}
