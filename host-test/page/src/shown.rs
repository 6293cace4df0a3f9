//! Dockets, calls and requests as the page shows them, without tokens.

use crate::{Served, problem};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use voice_calling_core::token;

/// Headers whose values are tokens, including ones that the mock does not accept.
const TOKEN_HEADERS: [&str; 2] = ["auth_token", "authorization"];

impl Served {
    /// Returns the value as JSON, with the mock's token masked wherever it stands.
    pub(crate) fn masked(&self, value: &impl Serialize) -> Value {
        let json = serde_json::to_value(value).expect("the mock's structs are JSON");
        masked(&self.mock.token(), json)
    }
}

fn masked(secret: &str, json: Value) -> Value {
    match json {
        Value::String(text) => token::mask(secret, &text).into(),
        Value::Array(values) => values.into_iter().map(|it| masked(secret, it)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, masked(secret, value)))
            .collect(),
        other => other,
    }
}

/// Returns a message with bytes that are not UTF-8 replaced.
fn message<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>, body: &[u8]) -> Value {
    let shown = |(name, value)| match TOKEN_HEADERS.contains(&name) {
        true => (name, token::MASK.into()),
        false => (name, String::from_utf8_lossy(value)),
    };
    let headers: Vec<_> = headers.map(shown).collect();
    json!({"headers": headers, "body": String::from_utf8_lossy(body)})
}

pub(crate) async fn entry(State(served): State<Served>, Path(id): Path<String>) -> Response {
    match served.mock.entry(&id) {
        Some(details) => Json(served.masked(&details)).into_response(),
        None => problem(
            StatusCode::NOT_FOUND,
            "no docket or direct call has this id",
        ),
    }
}

pub(crate) async fn request(State(served): State<Served>, Path(n): Path<String>) -> Response {
    let found = n.parse().ok().and_then(|n| served.mock.request(n));
    let Some(details) = found else {
        let error = "no request has this number, or it is too old";
        return problem(StatusCode::NOT_FOUND, error);
    };
    let (received, answer) = (&details.received, &details.answer);
    let headers = received.headers.iter();
    let request = message(
        headers.map(|(name, value)| (&**name, &**value)),
        &received.body,
    );
    let headers = answer.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let is_sent = details.line.status.is_some();
    let answer = is_sent.then(|| message(headers, &answer.body));
    let shown = json!({"line": details.line, "request": request, "answer": answer});
    Json(served.masked(&shown)).into_response()
}
