//! The answers of a scripted service.

use super::time::Sleep;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::{HeaderName, HeaderValue, StatusCode};
use http_body::{Body, Frame};
use http_body_util::StreamBody;
use serde::Serialize;
use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// The fate of a request.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use voice_calling::testing::Answer;
///
/// let created = serde_json::json!({"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"});
/// let late = Answer::status(200).json(created).after(Duration::from_secs(3));
/// let limited = Answer::status(429).header("retry-after", "20");
/// let broken = Answer::status(200).text(r#"{"docket_id":"#).cut_after(9);
/// let outage = Answer::status(503).repeated();
/// ```
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) outcome: Outcome,
    pub(super) after: Duration,
    pub(super) body_after: Duration,
    pub(super) cut_after: Option<usize>,
    pub(super) is_repeated: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Response(http::Response<Bytes>),
    Lost,
    Silence,
    Unreachable,
}

impl Answer {
    /// Creates an answer with this status, and no body.
    ///
    /// # Panics
    /// Panics unless the status is 200 to 999: an earlier one is no answer.
    pub fn status(status: u16) -> Self {
        let mut response = http::Response::new(Bytes::new());
        let is_final = StatusCode::from_u16(status).ok().filter(|_| status >= 200);
        let wrong = || format!("found {status}; allowed: 200 to 999");
        *response.status_mut() = allowed("status", is_final.ok_or_else(wrong));
        Self::of(Outcome::Response(response))
    }

    /// Creates the loss of an answer: the request is sent, and the connection breaks.
    pub fn lost() -> Self {
        Self::of(Outcome::Lost)
    }

    /// Creates an answer that never comes: the request is sent.
    pub fn silence() -> Self {
        Self::of(Outcome::Silence)
    }

    /// Creates a refused connection: the request is not sent. If that comes later than the client
    /// waits for a connection, it is the client that gives up.
    pub fn unreachable() -> Self {
        Self::of(Outcome::Unreachable)
    }

    fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            after: Duration::ZERO,
            body_after: Duration::ZERO,
            cut_after: None,
            is_repeated: false,
        }
    }

    /// Sets the body to a value in JSON.
    ///
    /// # Panics
    /// Panics if the value has no JSON.
    #[must_use]
    pub fn json(self, value: impl Serialize) -> Self {
        let json = allowed("json", serde_json::to_string(&value));
        self.header("content-type", "application/json").text(json)
    }

    /// Sets the body, which may be anything.
    #[must_use]
    pub fn text(mut self, body: impl Into<Bytes>) -> Self {
        if let Outcome::Response(response) = &mut self.outcome {
            *response.body_mut() = body.into();
        }
        self
    }

    /// Adds a header, such as `retry-after`.
    ///
    /// # Panics
    /// Panics if it is not a header of HTTP.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = allowed("name", HeaderName::try_from(name));
        let value = allowed("value", HeaderValue::try_from(value));
        if let Outcome::Response(response) = &mut self.outcome {
            response.headers_mut().append(name, value);
        }
        self
    }

    /// Sets how late it comes, in the service's time.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// Sets how much later than its head its body comes.
    #[must_use]
    pub fn body_after(self, body_after: Duration) -> Self {
        Self { body_after, ..self }
    }

    /// Sets after how many bytes of the body the connection breaks.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        let cut_after = Some(bytes);
        Self { cut_after, ..self }
    }

    /// Makes it the answer to all further requests that it is for.
    #[must_use]
    pub fn repeated(self) -> Self {
        let is_repeated = true;
        Self {
            is_repeated,
            ..self
        }
    }
}

#[track_caller]
fn allowed<T, E: std::fmt::Display>(name: &str, value: Result<T, E>) -> T {
    value.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the body of an answer.
pub(super) fn body(
    delay: Sleep,
    mut content: Bytes,
    cut_after: Option<usize>,
) -> impl Body<Data = Bytes, Error = io::Error> + Send {
    content.truncate(cut_after.unwrap_or(usize::MAX));
    let content = stream::once(async {
        delay.await;
        Ok(Frame::data(content))
    });
    let cut = cut_after.map(|_| Err(io::ErrorKind::ConnectionReset.into()));
    StreamBody::new(content.chain(stream::iter(cut)))
}
