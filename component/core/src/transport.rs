//! The seam between the meaning of the API and the world it runs in.

use std::fmt;

/// The methods that the service's API uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads; may be repeated.
    Get,
    /// Creates; may be repeated only while it is certain that it did nothing, or
    /// where the service asks for it (5xx, 408).
    Post,
}

impl Method {
    /// The method as it stands in a request line.
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
    /// In the clear: for loopback, or where explicitly allowed.
    Http,
    /// Over TLS.
    Https,
}

/// A request, ready for the wire. It has the token in a header: its `Debug` shows neither that nor
/// the body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// GET or POST.
    pub method: Method,
    /// http or https.
    pub scheme: Scheme,
    /// Host, and the port where the base URL names one.
    pub authority: String,
    /// Path and query, percent-encoded.
    pub path_and_query: String,
    /// Headers in lower case. The transport adds `host`.
    pub headers: Vec<(&'static str, String)>,
    /// The body, empty for a GET.
    pub body: Vec<u8>,
    /// For which request of a batch it is: its index.
    pub item: Option<u32>,
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

/// How long the transport may take, and how much of an answer is read. It enforces what it can;
/// the core watches the attempt's whole time and the size of the answer as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the connection, TLS included. Unit: milliseconds.
    pub connect_ms: u64,
    /// For the whole attempt. Unit: milliseconds.
    pub attempt_ms: u64,
    /// How large a body may be. Unit: bytes.
    pub response_bytes: usize,
}

/// Whether a request that got no answer may have reached the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It certainly did not: there was no connection to send it on.
    NotSent,
    /// The host says that there was no connection in time. Some hosts say so of an answer that
    /// did not come in time, after the request was sent.
    ConnectionTimeout,
    /// It did not, and never will: the host's policy denies the address.
    Denied,
    /// It did not, and never will: the host rejects it for what is in it.
    Refused,
    /// The host, or a proxy, rejects it because of what is in it. It may have been sent.
    Rejected,
    /// It is not known.
    Unknown,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError {
    /// Whether the request may have reached the service.
    pub delivery: Delivery,
    /// What happened, for people.
    pub message: String,
}

/// The message of what fails because the caller has given the operation up.
pub const ABANDONED: &str = "cancelled by the caller";

/// What the core needs of the world: send one request, sleep, the time, a
/// little randomness, and a line of log.
///
/// A dropped future cancels what it was doing. The futures of a client can be sent to another
/// thread if those of its transport can; those of guests, which have one thread, need not.
#[allow(async_fn_in_trait)]
pub trait Transport {
    /// An answer whose head has arrived.
    type Response: Response;

    /// Sends a request and waits for the head of the answer. Never follows a
    /// redirect, never repeats anything.
    async fn send(&self, request: &Request, limits: Limits) -> Result<Self::Response, SendError>;

    /// Sleeps for so many milliseconds.
    async fn sleep(&self, duration_ms: u64);

    /// A clock that never goes back. Unit: milliseconds.
    fn now_ms(&self) -> u64;

    /// The date. Unit: seconds since 1970, UTC.
    fn unix_time_s(&self) -> u64;

    /// Any number; need not be secret.
    fn random(&self) -> u64;

    /// Whether the caller has given the operation up that is being polled, and still wants to
    /// learn what is known of it. Its futures are over at once then: `send` and `chunk` fail with
    /// [`ABANDONED`] unless the answer is there, and `sleep` returns.
    fn is_abandoned(&self) -> bool {
        false
    }

    /// Writes a line to the log.
    async fn log(&self, line: &str);
}

/// An answer whose head has arrived.
#[allow(async_fn_in_trait)]
pub trait Response {
    /// The HTTP status.
    fn status(&self) -> u16;

    /// The first header of that name (in lower case), as it came.
    fn header(&self, name: &str) -> Option<Vec<u8>>;

    /// The next piece of the body; none at its end; a message where it breaks.
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
