//! Requests as received, the endpoints that they are for, and their answers.

use std::fmt;
use std::time::Duration;

use http::Method;
use http::request::Parts;
use serde::Serialize;
use strum::{Display, EnumString, VariantNames};
use uuid::Uuid;

use super::answer::Answer;

/// The seven endpoints of the service (specification, section "Endpoints").
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumString, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Endpoint {
    /// `POST /agents/`
    CreateAgent,
    /// `POST /make_call`
    MakeCall,
    /// `GET /call_details/{task_id}`
    GetCallDetails,
    /// `POST /api/v1/dockets`
    CreateDocket,
    /// `POST /api/v2/dockets`
    CreateDocketV2,
    /// `GET /api/v1/dockets/{docket_id}`
    GetDocket,
    /// `GET /api/v1/agents`
    ListAgents,
}

impl Endpoint {
    /// Returns `true` if a request to the endpoint makes a phone ring.
    pub(super) fn starts_calls(self) -> bool {
        matches!(
            self,
            Self::MakeCall | Self::CreateDocket | Self::CreateDocketV2
        )
    }
}

/// Returns the endpoint of `method` and `path` (without query), and the path's last segment as sent
/// if the endpoint takes an id. A method that the path does not have is as unknown as a path.
fn route<'a>(method: &Method, path: &'a str) -> Option<(Endpoint, &'a str)> {
    let (allowed, endpoint, id) = match path {
        "/agents/" => (Method::POST, Endpoint::CreateAgent, ""),
        "/make_call" => (Method::POST, Endpoint::MakeCall, ""),
        "/api/v1/dockets" => (Method::POST, Endpoint::CreateDocket, ""),
        "/api/v2/dockets" => (Method::POST, Endpoint::CreateDocketV2, ""),
        "/api/v1/agents" => (Method::GET, Endpoint::ListAgents, ""),
        _ => {
            if let Some(id) = segment_after("/call_details/", path) {
                (Method::GET, Endpoint::GetCallDetails, id)
            } else {
                let id = segment_after("/api/v1/dockets/", path)?;
                (Method::GET, Endpoint::GetDocket, id)
            }
        }
    };
    (*method == allowed).then_some((endpoint, id))
}

fn segment_after<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    let id = path.strip_prefix(prefix)?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

/// A request. One header contains the token, so `Debug` shows only the names of headers.
#[derive(Clone)]
pub struct ReceivedRequest {
    /// The time since the mock started.
    pub at: Duration,
    /// The method.
    pub method: Method,
    /// The path and query as received.
    pub path_and_query: String,
    /// The names in lower case and the raw values, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// The endpoint, or `None` for an unknown path or a wrong method.
    pub endpoint: Option<Endpoint>,
    /// The path's last segment as sent, if the endpoint takes an id.
    pub(super) id: String,
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
            .finish()
    }
}

impl ReceivedRequest {
    pub(super) fn new(parts: &Parts, body: Vec<u8>, at: Duration) -> Self {
        let uri = &parts.uri;
        let (endpoint, id) = route(&parts.method, uri.path()).unzip();
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
            endpoint,
            id: id.unwrap_or_default().to_owned(),
        }
    }

    /// Returns the path alone, percent-encoding untouched.
    pub fn path(&self) -> &str {
        let end = self.path_and_query.find('?');
        &self.path_and_query[..end.unwrap_or(self.path_and_query.len())]
    }

    /// Returns the first value of the header `name` (lower case), if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let first = self.header_values(name).into_iter().next()?;
        std::str::from_utf8(first).ok()
    }

    /// Returns every value of the header `name` (lower case), in order.
    pub fn header_values(&self, name: &str) -> Vec<&[u8]> {
        let headers = self.headers.iter();
        headers
            .filter(|(header, _)| header == name)
            .map(|(_, value)| &**value)
            .collect()
    }

    /// Returns the body as text, with invalid UTF-8 replaced.
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the approximate memory of the request, in bytes.
    pub(super) fn size(&self) -> usize {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| name.len() + value.len());
        // Of a small request, the most is memory of its fields and of the allocator.
        1024 + headers.sum::<usize>() + self.path_and_query.len() * 2 + self.body.len()
    }

    /// Returns the first value of the query's parameter `name`, decoded.
    pub(super) fn query_value(&self, name: &str) -> Option<String> {
        let (_, query) = self.path_and_query.split_once('?')?;
        let mut query = form_urlencoded::parse(query.as_bytes());
        query
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns `true` if `Content-Type` is `application/json`, with or without parameters.
    pub(super) fn declares_json(&self) -> bool {
        let media_type = self.header("content-type").unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    }
}

/// A request in a list.
#[derive(Clone, Debug, Serialize)]
pub struct RequestLine {
    /// The number of the request, from 1.
    pub n: usize,
    /// The time of arrival, in milliseconds since 1970.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// The path and query as received.
    pub path: String,
    /// The endpoint's name, or `None` for an unknown path or a wrong method.
    pub endpoint: Option<String>,
    /// The answer's status, or `None` until it is sent.
    pub status: Option<u16>,
    /// The time from the request to the answer.
    pub duration_ms: Option<u64>,
    /// The fault that the mock played.
    pub fault: Option<String>,
    /// The docket or direct call that it created or read.
    pub entry: Option<Uuid>,
    /// Whether it repeated a creation that an earlier request had started within a minute.
    pub repeats: bool,
}

/// A request with its answer.
#[derive(Clone, Debug)]
pub struct RequestDetails {
    /// The request as a list shows it.
    pub line: RequestLine,
    /// The request.
    pub received: ReceivedRequest,
    /// The answer. It was not sent, or not yet, if the line has no status.
    pub answer: Answer,
    /// The sequence number of the last change.
    pub(super) sequence: u64,
}

impl RequestDetails {
    /// Returns the approximate memory of the request and its answer, in bytes.
    pub(super) fn size(&self) -> usize {
        self.received.size() + self.answer.body.len()
    }

    /// Records that the answer was sent, `duration` after the request was received.
    pub(super) fn sent(&mut self, duration: Duration) {
        self.line.status = Some(self.answer.status.as_u16());
        let milliseconds = u64::try_from(duration.as_millis());
        self.line.duration_ms = Some(milliseconds.unwrap_or(u64::MAX));
    }
}
