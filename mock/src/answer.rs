//! Answers and refusals. The specification shows no error bodies (section "Errors"): all of these
//! are invented, modelled on FastAPI.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::json;

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers, in order.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Self {
        Self {
            status,
            headers: vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
            body: json_text(body).into_bytes(),
        }
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}

/// The reason why a request is refused.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// The `auth_token` header is missing or wrong.
    Unauthorized,
    /// The identifier of the named object ("Docket", "Agent", …) is unknown.
    NotFound(&'static str),
    /// The request has a wrong value: names it.
    Invalid(String),
    /// The rate limit is exceeded, for this many seconds.
    RateLimited(u64),
}

impl Refusal {
    pub(super) fn answer(&self) -> Answer {
        match self {
            Self::Unauthorized => detail(StatusCode::UNAUTHORIZED, "Invalid or missing auth_token"),
            Self::NotFound(what) => detail(StatusCode::NOT_FOUND, format!("{what} not found")),
            Self::Invalid(problem) => detail(StatusCode::UNPROCESSABLE_ENTITY, problem),
            Self::RateLimited(seconds) => {
                let text = format!("Rate limit exceeded, try again in {seconds} s");
                let mut answer = detail(StatusCode::TOO_MANY_REQUESTS, text);
                answer.headers.push((RETRY_AFTER, (*seconds).into()));
                answer
            }
        }
    }
}

/// FastAPI's envelope of every error.
pub(super) fn detail(status: StatusCode, detail: impl Serialize) -> Answer {
    Answer::json(status, &json!({"detail": detail}))
}

/// Serializes structs of this crate, which cannot fail: they have only string keys and raw JSON.
pub(super) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the mock's own structs are JSON")
}
