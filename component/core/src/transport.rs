//! The interface between the meaning of the API and the environment that it runs in.

use crate::departure::Departure;
use serde::Deserialize;
use std::fmt;

/// The methods that the service's API uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads; may be retried.
    Get,
    /// Creates; may be retried only if it certainly created nothing, or if the service asks for it
    /// (5xx, 408).
    Post,
}

impl Method {
    /// Returns the method as it is written in a request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// The schemes that a base URL may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Unencrypted: for loopback, or if explicitly allowed.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// Returns the scheme as it is written in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// A request, ready to be sent. It carries the token in a header; its `Debug` shows neither the
/// token nor the body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// GET or POST.
    pub method: Method,
    /// http or https.
    pub scheme: Scheme,
    /// Host, and the port if the base URL has one.
    pub authority: String,
    /// Path and query, percent-encoded.
    pub path_and_query: String,
    /// Headers in lower case. The transport adds `host`.
    pub headers: Vec<(&'static str, String)>,
    /// The body, empty for a GET.
    pub body: Vec<u8>,
    /// The index of the request in its batch.
    pub item: Option<u32>,
    /// Whether it may have left.
    pub departure: Departure,
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Request")
            .field("method", &self.method)
            .field("scheme", &self.scheme)
            .field("authority", &self.authority)
            .field("path_and_query", &self.path_and_query)
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .field("item", &self.item)
            .finish()
    }
}

/// The limits of an attempt. The transport enforces those that it can; the core watches the
/// attempt's total time and the size of the response as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for the connection, TLS included, in milliseconds.
    pub connect_ms: u64,
    /// The time for the whole attempt, in milliseconds.
    pub attempt_ms: u64,
    /// The maximum size of the body, in bytes.
    pub response_bytes: usize,
}

/// Whether a request that got no response may have reached the service. Those that are skipped are
/// for wasi:http: other hosts know more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Delivery {
    /// It certainly did not: there was no connection to send it on.
    NotSent,
    /// The host reports that there was no connection in time. Some hosts also report this for a
    /// response that did not arrive in time, after the request was sent.
    #[serde(skip)]
    ConnectionTimeout,
    /// It did not, and never will: the host's policy denies the address.
    Denied,
    /// It did not, and never will: the host rejects its content.
    Refused,
    /// The host, or a proxy, rejects its content. It may have been sent.
    #[serde(skip)]
    Rejected,
    /// It is not known.
    Unknown,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError {
    /// Whether the request may have reached the service.
    pub delivery: Delivery,
    /// The cause, for people.
    pub message: String,
}

impl SendError {
    /// Creates the error of a request that has, or may have, reached the service, or has not.
    pub fn new(delivery: Delivery, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { delivery, message }
    }
}

/// The message of errors that are due to a cancellation by the caller.
pub const CANCELLED: &str = "cancelled by the caller";

/// The environment of the core: it sends one request, sleeps, provides the time and random numbers,
/// and writes to the log.
///
/// Dropping a future cancels its work. The futures of a client are `Send` if those of its transport
/// are; guests, which have one thread, do not need that.
#[allow(async_fn_in_trait)]
pub trait Transport {
    /// A response whose head has arrived.
    type Response: Response;

    /// Sends a request and waits for the head of the response. It never follows a redirect and
    /// never retries.
    async fn send(&self, request: &Request, limits: Limits) -> Result<Self::Response, SendError>;

    /// Sleeps for `duration_ms` milliseconds.
    async fn sleep(&self, duration_ms: u64);

    /// Returns the time of a clock that never goes back, in milliseconds.
    fn now_ms(&self) -> u64;

    /// Returns the date, in seconds since 1970, UTC.
    fn unix_time_s(&self) -> u64;

    /// Returns a random number, which need not be secret.
    fn random(&self) -> u64;

    /// Returns `true` if the caller has cancelled the operation that is being polled, but still
    /// wants its result. Then `send` and `chunk` fail at once with [`CANCELLED`], unless the
    /// response is there, and `sleep` returns.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Is called if an operation is dropped before its end, and its create may have created
    /// something. Nothing else reports it.
    fn on_dropped(&self, _create: &Request) {}

    /// Writes a line to the log.
    async fn log(&self, line: &str);
}

/// A response whose head has arrived.
#[allow(async_fn_in_trait)]
pub trait Response {
    /// Returns the HTTP status.
    fn status(&self) -> u16;

    /// Returns the headers, whose names may be in upper case.
    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])>;

    /// Returns the next piece of the body, or `None` at its end. The error says how it broke off.
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_printed_shows_neither_its_token_nor_its_body() {
        let request = Request {
            method: Method::Post,
            scheme: Scheme::Https,
            authority: "api.example".into(),
            path_and_query: "/make_call".into(),
            headers: vec![("auth_token", "Bearer secret-token".into())],
            body: br#"{"to_phone_number":"919876543210"}"#.to_vec(),
            item: None,
            departure: Departure::default(),
        };
        let shown = format!("{request:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("9198"),
            "{shown}"
        );
        for part in ["Post", "api.example", "/make_call", "auth_token", "34"] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}
