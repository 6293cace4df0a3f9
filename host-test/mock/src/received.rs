//! Requests as they were received, kept for assertions.

use std::fmt;
use std::time::Duration;

use http::{Method, StatusCode};

use super::endpoint::{Endpoint, route};

/// One request, and the status it was answered with. It has the token in a header: its `Debug`
/// shows the names of headers alone.
#[derive(Clone)]
pub struct ReceivedRequest {
    /// Time since the mock started.
    pub at: Duration,
    /// The method.
    pub method: Method,
    /// Path and query, percent-encoding untouched. The HTTP server underneath resolves
    /// dot segments (`/./`, `/%2e%2e/`) and turns `\` into `/`; where these matter,
    /// `RawPeer` keeps the request's very bytes.
    pub path_and_query: String,
    /// The query's names and values, decoded.
    pub query: Vec<(String, String)>,
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
    pub(super) fn new(request: &wiremock::Request, at: Duration) -> Self {
        let url = &request.url;
        let path_and_query = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let query = url.query_pairs();
        let headers = request.headers.iter();
        Self {
            at,
            method: request.method.clone(),
            path_and_query,
            query: query.map(|(k, v)| (k.into(), v.into())).collect(),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
            body: request.body.clone(),
            endpoint: route(&request.method, url.path()).endpoint(),
            answered: StatusCode::OK,
        }
    }

    /// The path alone, percent-encoding untouched.
    pub fn path(&self) -> &str {
        let (path, _) = self
            .path_and_query
            .split_once('?')
            .unwrap_or((&self.path_and_query, ""));
        path
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

    pub(super) fn query_value(&self, name: &str) -> Option<&str> {
        let mut query = self.query.iter();
        query
            .find(|(key, _)| key == name)
            .map(|(_, value)| &**value)
    }

    /// Whether `Content-Type` is `application/json`, with or without parameters.
    pub(super) fn declares_json(&self) -> bool {
        let media_type = self.header("content-type").unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    }
}
