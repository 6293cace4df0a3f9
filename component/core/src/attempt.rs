//! One attempt: a request sent, the answer read, all within the attempt's time.

use crate::retry_after::parse_retry_after;
use crate::transport::{Delivery, Request, Response, SendError, Timeouts, Transport};
use futures_util::future::{Either, select};
use std::pin::pin;

/// How much of the body of an error is read.
const ERROR_BODY_BYTES: usize = 65_536;

/// How long a request id may be. A longer one is cut.
const REQUEST_ID_BYTES: usize = 256;

/// The headers that services use for a request's id, the usual one first.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "x-correlation-id"];

/// What came of an attempt.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// At least the head of an answer.
    Answer(Answer),
    /// No answer.
    NoAnswer(SendError),
}

/// An answer of the service.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
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
) -> Outcome {
    let mut time_is_up = pin!(transport.sleep(timeouts.attempt_ms));
    let head = pin!(transport.send(request, timeouts));
    let mut response = match select(head, &mut time_is_up).await {
        Either::Left((Ok(response), _)) => response,
        Either::Left((Err(error), _)) => return Outcome::NoAnswer(error),
        Either::Right(_) => {
            return Outcome::NoAnswer(SendError {
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
    Outcome::Answer(Answer {
        status,
        request_id: request_id(&response),
        retry_after_ms: retry_after_ms(transport, &response),
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

fn request_id(response: &impl Response) -> Option<String> {
    let value = REQUEST_ID_HEADERS
        .iter()
        .find_map(|name| response.header(name))?;
    let kept = &value[..value.len().min(REQUEST_ID_BYTES)];
    Some(String::from_utf8_lossy(kept).into_owned())
}

fn retry_after_ms<T: Transport>(transport: &T, response: &impl Response) -> Option<u64> {
    let value = response.header("retry-after")?;
    parse_retry_after(std::str::from_utf8(&value).ok()?, transport.unix_time_s())
}
