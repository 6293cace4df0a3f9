//! Dockets, calls and requests as the page shows them, without tokens.

use crate::{Served, problem};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use voice_calling_core::token;

/// Headers whose values are tokens, including ones that the mock does not accept.
const TOKEN_HEADERS: [&str; 2] = ["auth_token", "authorization"];

pub(crate) async fn entry(State(served): State<Served>, Path(id): Path<String>) -> Response {
    match served.mock.entry(&id) {
        Some(details) => Json(served.masked(&details)).into_response(),
        None => problem(
            StatusCode::NOT_FOUND,
            "no docket or direct call has this id; the oldest are forgotten",
        ),
    }
}

pub(crate) async fn request(State(served): State<Served>, Path(n): Path<String>) -> Response {
    let found = n.parse().ok().and_then(|n| served.mock.request(n));
    let Some(details) = found else {
        let error = "no request has this number; the oldest are forgotten";
        return problem(StatusCode::NOT_FOUND, error);
    };
    let mut shown = served.masked(&details.line);
    let (received, answer) = (details.received, details.answer);
    let headers = received.headers.iter();
    let headers = headers.map(|(name, value)| (&**name, &**value));
    shown["request"] = served.masked(&message(headers, &received.body));
    shown["answer"] = match details.line.status {
        Some(_) => {
            let headers = answer.headers.iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
            served.masked(&message(headers, &answer.body))
        }
        None => Value::Null,
    };
    Json(shown).into_response()
}

/// Returns headers and body as text, with bytes that are not UTF-8 replaced.
fn message<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>, body: &[u8]) -> Value {
    let shown = |(name, value): (&'a str, &[u8])| match TOKEN_HEADERS.contains(&name) {
        true => (name, token::MASK.to_owned()),
        false => (name, String::from_utf8_lossy(value).into_owned()),
    };
    json!({
        "headers": headers.map(shown).collect::<Vec<_>>(),
        "body": String::from_utf8_lossy(body),
    })
}
