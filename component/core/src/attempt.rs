//! One attempt: a request sent, the answer read, all within the attempt's time.

use crate::retry_after::parse_retry_after;
use crate::transport::{Delivery, Request, Response, SendError, Timeouts, Transport};
use futures_util::future::{Either, select};
use std::pin::pin;

/// How much of the body of an error is read.
const ERROR_BODY_BYTES: usize = 65_536;

/// How long a header may be that an error shows. A longer one is cut.
const HEADER_BYTES: usize = 256;

/// The headers that services use for a request's id, the usual one first.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "x-correlation-id"];

/// An answer of the service, as much of it as came and was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
    /// Where a redirect points.
    pub(crate) location: Option<String>,
    /// What kind of body it says that it has.
    pub(crate) media: Option<String>,
    /// What came of the body.
    pub(crate) body: Vec<u8>,
    pub(crate) body_end: BodyEnd,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// As it should.
    Whole,
    /// In the middle, or not in time; the message says which.
    Broken(String),
    /// It is larger than this, and no more is read.
    TooLarge(usize),
}

/// Sends a request once.
pub(crate) async fn attempt<T: Transport>(
    transport: &T,
    request: &Request,
    timeouts: Timeouts,
    max_response_bytes: usize,
) -> Result<Answer, SendError> {
    let mut time_is_up = pin!(transport.sleep(timeouts.attempt_ms));
    let head = pin!(transport.send(request, timeouts));
    let mut response = match select(head, &mut time_is_up).await {
        Either::Left((head, _)) => head?,
        Either::Right(_) => {
            return Err(SendError {
                delivery: Delivery::Unknown,
                message: format!("no answer within {} ms", timeouts.attempt_ms),
            });
        }
    };

    let status = response.status();
    let max_body_bytes = match status {
        200..=299 => max_response_bytes,
        _ => max_response_bytes.min(ERROR_BODY_BYTES),
    };
    let mut body = Vec::new();
    let body_end = {
        let read = pin!(read_body(&mut response, &mut body, max_body_bytes));
        match select(read, &mut time_is_up).await {
            Either::Left((body_end, _)) => body_end,
            Either::Right(_) => BodyEnd::Broken(format!(
                "no end of the body within {} ms",
                timeouts.attempt_ms
            )),
        }
    };
    Ok(Answer {
        status,
        request_id: REQUEST_ID_HEADERS
            .iter()
            .find_map(|name| header(&response, name)),
        retry_after_ms: header(&response, "retry-after").and_then(|value| {
            let date = header(&response, "date");
            parse_retry_after(&value, date.as_deref(), transport.unix_time_s())
        }),
        location: header(&response, "location"),
        media: media(&response),
        body,
        body_end,
    })
}

async fn read_body(response: &mut impl Response, body: &mut Vec<u8>, max_bytes: usize) -> BodyEnd {
    loop {
        match response.chunk().await {
            Ok(None) => return BodyEnd::Whole,
            Ok(Some(chunk)) => {
                let room = max_bytes - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return BodyEnd::TooLarge(max_bytes);
                }
            }
            Err(message) => return BodyEnd::Broken(message),
        }
    }
}

fn header(response: &impl Response, name: &str) -> Option<String> {
    let value = response.header(name)?;
    let kept = &value[..value.len().min(HEADER_BYTES)];
    Some(String::from_utf8_lossy(kept).into_owned())
}

fn media(response: &impl Response) -> Option<String> {
    let named = ["content-type", "content-encoding"].map(|name| {
        let value = header(response, name)?;
        Some(format!("{name} {value}"))
    });
    let media: Vec<_> = named.into_iter().flatten().collect();
    (!media.is_empty()).then(|| media.join(", "))
}

impl Answer {
    /// The body as text. Bytes that are not UTF-8 are replaced, so that they cost only
    /// themselves: there may be a task id beside them. That makes it larger, but not without end.
    pub(crate) fn into_text(self, max_bytes: usize) -> Result<String, String> {
        let replaced = |chunk: std::str::Utf8Chunk<'_>| {
            let mark = if chunk.invalid().is_empty() { 0 } else { 3 };
            chunk.valid().len() + mark
        };
        match String::from_utf8(self.body) {
            Ok(text) => Ok(text),
            Err(error) => match error.as_bytes().utf8_chunks().map(replaced).sum::<usize>() {
                bytes if bytes > max_bytes => Err("too many bytes that are not UTF-8".to_owned()),
                _ => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            },
        }
    }
}
