//! Requests as they were received, and their answers.

use std::fmt;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{Method, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use super::answer::Answer;
use super::endpoint::{Endpoint, route};

/// One request, and the status it was answered with. It has the token in a header: its `Debug`
/// shows the names of headers alone.
#[derive(Clone)]
pub struct ReceivedRequest {
    /// Time since the mock started.
    pub at: Duration,
    /// The method.
    pub method: Method,
    /// Path and query as they came.
    pub path_and_query: String,
    /// Names in lower case and raw values, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// The endpoint; none for an unknown path or a wrong method.
    pub endpoint: Option<Endpoint>,
    /// What it was answered with, or would have been where a fault leaves it unanswered.
    pub answered: StatusCode,
}

impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("ReceivedRequest")
            .field("at", &self.at)
            .field("method", &self.method)
            .field("path_and_query", &self.path_and_query)
            .field("headers", &names)
            .field("body", &self.body_text())
            .field("answered", &self.answered)
            .finish()
    }
}

impl ReceivedRequest {
    /// What arrived at `at`, not answered yet.
    pub(super) fn new(parts: &Parts, body: Vec<u8>, at: Duration) -> Self {
        let uri = &parts.uri;
        let headers = parts.headers.iter();
        Self {
            at,
            method: parts.method.clone(),
            path_and_query: uri
                .path_and_query()
                .map_or_else(|| uri.path().to_owned(), ToString::to_string),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
            body,
            endpoint: route(&parts.method, uri.path()).endpoint(),
            answered: StatusCode::OK,
        }
    }

    /// The path alone, percent-encoding untouched.
    pub fn path(&self) -> &str {
        let end = self.path_and_query.find('?');
        &self.path_and_query[..end.unwrap_or(self.path_and_query.len())]
    }

    /// The first value of the header `name` (lower case), where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let first = self.header_values(name).into_iter().next()?;
        std::str::from_utf8(first).ok()
    }

    /// Every value of the header `name` (lower case), in order.
    pub fn header_values(&self, name: &str) -> Vec<&[u8]> {
        let headers = self.headers.iter();
        headers
            .filter(|(header, _)| header == name)
            .map(|(_, value)| &**value)
            .collect()
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The first value of the query's parameter `name`, decoded.
    pub(super) fn query_value(&self, name: &str) -> Option<String> {
        let (_, query) = self.path_and_query.split_once('?')?;
        let mut query = form_urlencoded::parse(query.as_bytes());
        query
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Whether `Content-Type` is `application/json`, with or without parameters.
    pub(super) fn declares_json(&self) -> bool {
        let media_type = self.header("content-type").unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    }
}

/// A request in a list.
#[derive(Clone, Debug, Serialize)]
pub struct RequestLine {
    /// Its number, from 1.
    pub n: usize,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// Path and query as they came.
    pub path: String,
    /// The endpoint's name; none for an unknown path or a wrong method.
    pub endpoint: Option<String>,
    /// The answer's status; none as long as none was sent.
    pub status: Option<u16>,
    /// From the request to the answer.
    pub duration_ms: Option<u64>,
    /// The fault that the mock played.
    pub fault: Option<String>,
    /// The docket or direct call that it created or read.
    pub entry: Option<Uuid>,
    /// Whether it asked for what an earlier request had started within a minute.
    pub repeats: bool,
}

/// A request with its answer.
#[derive(Clone, Debug)]
pub struct RequestDetails {
    /// What a list shows.
    pub line: RequestLine,
    /// When it came.
    pub at: SystemTime,
    /// The request.
    pub received: ReceivedRequest,
    /// Its answer, which is not sent, or not yet, where the line has no status.
    pub answer: Answer,
    /// When it last changed.
    pub(super) sequence: u64,
}

impl RequestDetails {
    /// How much memory it takes, nearly. Unit: bytes.
    pub(super) fn size(&self) -> usize {
        let headers = self.received.headers.iter();
        self.received.body.len()
            + self.received.path_and_query.len() * 2
            + headers
                .map(|(name, value)| name.len() + value.len())
                .sum::<usize>()
            + self.answer.body.len()
    }

    /// The answer is sent, so long after the request came.
    pub(super) fn sent(&mut self, duration: Duration) {
        self.line.status = Some(self.answer.status.as_u16());
        let milliseconds = u64::try_from(duration.as_millis());
        self.line.duration_ms = Some(milliseconds.unwrap_or(u64::MAX));
    }
}
