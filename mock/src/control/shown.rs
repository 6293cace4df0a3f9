//! Dockets, calls and requests as the page shows them, without tokens.

use super::{Served, named, problem};
use crate::Changes;
use crate::task::milliseconds;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::{Value, json};

const MASK: &str = "[api token]";

/// The length from which a token is masked in texts: a shorter one could be any word, or part of an
/// id.
const MASKED_FROM_BYTES: usize = 8;

/// Headers whose values are tokens, including ones that the mock does not accept.
const TOKEN_HEADERS: [&str; 2] = ["auth_token", "authorization"];

impl Served {
    /// Returns the value as JSON, with the mock's tokens masked wherever they stand.
    pub(crate) fn masked(&self, value: &impl Serialize) -> Value {
        let mut json = serde_json::to_value(value).expect("the mock's structs are JSON");
        let mut tokens = self.mock.service.state().options.tokens.clone();
        tokens.retain(|token| token.len() >= MASKED_FROM_BYTES);
        mask(&tokens, &mut json);
        json
    }

    /// Returns changes, with where the mock listens and the time of its clock.
    pub(crate) fn changes(&self, changes: &Changes) -> Value {
        let mut shown = self.masked(changes);
        shown["base_url"] = json!(self.mock.base_url());
        shown["now_ms"] = json!(milliseconds(self.mock.now()));
        shown
    }
}

fn mask(tokens: &[String], json: &mut Value) {
    match json {
        Value::String(text) => {
            for token in tokens {
                *text = text.replace(token, MASK);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask(tokens, value)),
        Value::Object(members) => members.values_mut().for_each(|value| mask(tokens, value)),
        _ => {}
    }
}

/// Returns a message with bytes that are not UTF-8 replaced.
fn message<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>, body: &[u8]) -> Value {
    let shown = |(name, value)| match TOKEN_HEADERS.contains(&name) {
        true => (name, MASK.into()),
        false => (name, String::from_utf8_lossy(value)),
    };
    let headers: Vec<_> = headers.map(shown).collect();
    json!({"headers": headers, "body": String::from_utf8_lossy(body)})
}

pub(crate) async fn health(State(served): State<Served>) -> Json<Value> {
    let mock = &served.mock;
    let now_ms = milliseconds(mock.now());
    Json(json!({"status": "ok", "base_url": mock.base_url(), "now_ms": now_ms}))
}

pub(crate) async fn changes(State(served): State<Served>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let mut values = form_urlencoded::parse(query.as_bytes());
    let since = values.find(|(name, _)| name == "since");
    let since = since.map_or(Ok(0), |(_, value)| value.parse());
    match since {
        Ok(since) => Json(served.changes(&served.mock.changes(since))).into_response(),
        Err(_) => problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "since is not a sequence number; allowed: the sequence of an earlier answer",
        ),
    }
}

pub(crate) async fn deliveries(State(served): State<Served>) -> Json<Value> {
    let deliveries = served.mock.deliveries();
    let shown = deliveries.iter().map(|delivery| {
        let outcome = delivery.outcome.as_ref();
        json!({
            "docket_id": delivery.docket_id,
            "body": delivery.body,
            "status": outcome.ok().map(|status| status.as_u16()),
            "error": outcome.err(),
        })
    });
    Json(served.masked(&shown.collect::<Value>()))
}

pub(crate) async fn entry(State(served): State<Served>, uri: Uri) -> Response {
    match served.mock.entry(named(&uri)) {
        Some(details) => Json(served.masked(&details)).into_response(),
        None => problem(
            StatusCode::NOT_FOUND,
            "no docket or direct call has this id",
        ),
    }
}

pub(crate) async fn request(State(served): State<Served>, uri: Uri) -> Response {
    let found = named(&uri)
        .parse()
        .ok()
        .and_then(|n| served.mock.request(n));
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
