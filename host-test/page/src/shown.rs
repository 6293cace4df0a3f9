//! Dockets, calls and requests as the page shows them, without tokens.

use crate::{Served, problem};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_DISPOSITION;
use http::{StatusCode, Version};
use serde_json::json;
use std::time::Duration;
use voice_calling_core::token;
use voice_calling_mock::RequestDetails;
use voice_calling_record::exchange::{Body, BodyEnd, Ending, Exchange};
use voice_calling_record::{PersonalData, har};

/// Headers whose values are tokens, including ones that the mock does not accept.
const TOKEN_HEADERS: [&str; 2] = ["auth_token", "authorization"];

impl Served {
    /// Returns a request and its answer, without tokens.
    fn exchange(&self, request: RequestDetails) -> Exchange {
        let (line, received) = (request.line, request.received);
        let duration = Duration::from_millis(line.duration_ms.unwrap_or_default());
        let answer = line.status.map(|_| request.answer);
        let (response_headers, response_body) = match answer {
            Some(answer) => {
                let headers = answer.headers.iter();
                let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
                (without_tokens(headers), Some(body(answer.body, duration)))
            }
            None => (Vec::new(), None),
        };
        let headers = received.headers.iter();
        let exchange = Exchange {
            id: line.n as u64,
            method: line.method,
            origin: self.mock.base_url(),
            path_and_query: line.path,
            version: Version::HTTP_11,
            headers: without_tokens(headers.map(|(name, value)| (&**name, &**value))),
            date: request.at,
            started: received.at,
            duration,
            ending: match line.status {
                Some(status) => Ending::Status(status),
                None => Ending::Error("the mock sent no answer".to_owned()),
            },
            response_version: Version::HTTP_11,
            response_headers,
            body: Some(body(received.body, Duration::ZERO)),
            response_body,
        };
        exchange.masked(&self.secrets)
    }
}

/// Returns headers as text, with bytes that are not UTF-8 replaced.
fn without_tokens<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<(String, String)> {
    let masked = |(name, value): (&str, &[u8])| match TOKEN_HEADERS.contains(&name) {
        true => (name.to_owned(), token::MASK.to_owned()),
        false => (name.to_owned(), String::from_utf8_lossy(value).into_owned()),
    };
    headers.map(masked).collect()
}

fn body(bytes: Vec<u8>, until: Duration) -> Body {
    Body {
        is_cut: false,
        size: bytes.len() as u64,
        bytes,
        end: BodyEnd::Complete,
        until,
    }
}

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
    let exchange = served.exchange(details);
    let message = |headers: &[(String, String)], body: &Body| {
        json!({
            "headers": headers,
            "body": String::from_utf8_lossy(&body.bytes),
        })
    };
    let sent = exchange.body.as_ref();
    let answered = exchange.response_body.as_ref();
    shown["request"] = json!(sent.map(|body| message(&exchange.headers, body)));
    shown["answer"] = json!(answered.map(|body| message(&exchange.response_headers, body)));
    Json(shown).into_response()
}

pub(crate) async fn archive(State(served): State<Served>) -> Response {
    let requests = served.mock.exchanges().into_iter();
    let exchanges: Vec<_> = requests.map(|request| served.exchange(request)).collect();
    let archive = har::archive(&exchanges, PersonalData::Shown);
    let as_file = r#"attachment; filename="voice-calling-mock.har""#;
    ([(CONTENT_DISPOSITION, as_file)], Json(archive)).into_response()
}
