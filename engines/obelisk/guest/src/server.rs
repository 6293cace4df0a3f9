//! Answers HTTP requests, as an endpoint of the engine.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;
use wasi::clocks::monotonic_clock;
use wasi::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasi::io::poll::poll;
use wasi::io::streams::{OutputStream, StreamError};

/// The time limit for reading a body.
const READ_MS: u64 = 10_000;

const CHUNK_BYTES: u64 = 65_536;

/// The answer to a request, with a complete body.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub header: Option<(&'static str, &'static str)>,
    /// JSON.
    pub body: String,
}

impl Reply {
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        let header = None;
        match serde_json::to_string(body) {
            Ok(body) => Self {
                status,
                header,
                body,
            },
            Err(error) => Self::reason(500, error.to_string()),
        }
    }

    /// Returns an answer with the body `{"reason": …}`.
    pub fn reason(status: u16, reason: impl Into<String>) -> Self {
        Self::json(status, &json!({ "reason": reason.into() }))
    }

    pub fn send(self, response_out: ResponseOutparam) {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(self.header);
        let body = self.body + "\n";
        stream(self.status, &headers, response_out, |stream| {
            stream.write_all(body.as_bytes())
        });
    }
}

/// Reads the whole body of a request, or returns the answer to one that is broken, too slow or too
/// large. The engine does not limit how slowly it may arrive.
pub fn body(request: &IncomingRequest, most_bytes: usize) -> Result<Vec<u8>, Reply> {
    let broken = || Reply::reason(400, "the body ended early");
    let body = request.consume().map_err(|()| broken())?;
    let stream = body.stream().map_err(|()| broken())?;
    let more = stream.subscribe();
    let late = monotonic_clock::subscribe_duration(READ_MS * 1_000_000);
    let mut bytes = Vec::new();
    loop {
        poll(&[&more, &late]);
        if late.ready() {
            let reason = format!("the body took longer than {READ_MS} ms");
            return Err(Reply::reason(408, reason));
        }
        match stream.read(CHUNK_BYTES) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(_)) => return Err(broken()),
        }
        if bytes.len() > most_bytes {
            let reason = format!("the body is larger than {most_bytes} bytes");
            return Err(Reply::reason(413, reason));
        }
    }
}

/// Streams what `write_body` writes. That fails only if the peer is gone, so its error is ignored.
pub fn stream(
    status: u16,
    headers: &[(&str, &str)],
    response_out: ResponseOutparam,
    write_body: impl FnOnce(&mut OutputStream) -> io::Result<()>,
) {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    // Responses contain phone numbers, which must not be cached.
    let uncached = [("cache-control", "no-store")];
    let headers: Vec<_> = headers.iter().chain(&uncached).map(pair).collect();
    let headers = Fields::from_list(&headers).unwrap_or_else(|_| Fields::new());
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(status);
    let body = response.body();
    ResponseOutparam::set(response_out, Ok(response));
    let Ok(body) = body else { return };
    let Ok(mut stream) = body.write() else { return };
    let is_written = write_body(&mut stream).is_ok() && stream.blocking_flush().is_ok();
    // The stream is a child of the body and must be dropped before it.
    drop(stream);
    if is_written {
        let _ = OutgoingBody::finish(body, None);
    }
}
