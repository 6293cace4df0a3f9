//! The wasi:http handler.

use voice_calling_obelisk_guest::MOST_DOCUMENT_BYTES;
use wasi::clocks::monotonic_clock;
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasi::io::poll::poll;
use wasi::io::streams::StreamError;

use crate::answer::Answer;
use crate::bindings::obelisk::log::log;
use crate::delivery;
use crate::secret::{self, Entry};

/// The time limit for reading a body.
const READ_MS: u64 = 10_000;

const CHUNK_BYTES: u64 = 65_536;

/// The exports of the component.
pub struct Receiver;

impl Guest for Receiver {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        let environment = wasi::cli::environment::get_environment();
        let answer = match secret::check(&environment) {
            Entry::Allowed(account) => match read(&request) {
                Ok(body) => delivery::take(&body, account, &environment),
                Err(answer) => answer,
            },
            // The same answer as for any unknown path.
            Entry::Unknown => Answer::new(404, "not found"),
            Entry::Unprotected(why) => {
                log::error(&why);
                Answer::new(503, "the receiver is not configured")
            }
        };
        respond(&answer, response_out);
    }
}

/// Reads the whole body. The engine does not limit how slowly it may arrive.
fn read(request: &IncomingRequest) -> Result<Vec<u8>, Answer> {
    let broken = || Answer::new(400, "the body ended early");
    let body = request.consume().map_err(|()| broken())?;
    let stream = body.stream().map_err(|()| broken())?;
    let more = stream.subscribe();
    let late = monotonic_clock::subscribe_duration(READ_MS * 1_000_000);
    let mut bytes = Vec::new();
    loop {
        poll(&[&more, &late]);
        if late.ready() {
            return Err(Answer::new(
                408,
                format!("the body took longer than {READ_MS} ms"),
            ));
        }
        match stream.read(CHUNK_BYTES) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(_)) => return Err(broken()),
        }
        if bytes.len() > MOST_DOCUMENT_BYTES {
            let reason = format!("the body is larger than {MOST_DOCUMENT_BYTES} bytes");
            return Err(Answer::new(413, reason));
        }
    }
}

/// Sends the answer. An error is ignored: the peer is gone.
fn respond(answer: &Answer, response_out: ResponseOutparam) {
    let content_type = [("content-type".to_owned(), b"application/json".to_vec())];
    let headers = Fields::from_list(&content_type).unwrap_or_else(|_| Fields::new());
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(answer.status);
    let body = response.body();
    ResponseOutparam::set(response_out, Ok(response));
    let Ok(body) = body else { return };
    if let Ok(stream) = body.write() {
        let _ = stream.blocking_write_and_flush(answer.body().as_bytes());
    }
    let _ = OutgoingBody::finish(body, None);
}
