//! The core's transport on WASI 0.2: wasi:http, wasi:clocks, wasi:random, stderr.

use crate::delivery::send_error;
use crate::executor::ready;
use crate::head::{NANOSECONDS_PER_MS, address, fields, refused, request_options};
use futures_util::future::{Either, select};
use std::pin::pin;
use voice_calling_core::{Delivery, Method, Request, Response, SendError, Timeouts, Transport};
use wasi::clocks::{monotonic_clock, wall_clock};
use wasi::http::outgoing_handler;
use wasi::http::types::{FutureIncomingResponse, IncomingBody, IncomingResponse, OutgoingBody};
// By the names that they have in WASI 0.3.
pub(crate) use wasi::http::types::{
    ErrorCode, Fields, Method as HttpMethod, OutgoingRequest as HttpRequest, RequestOptions,
    Scheme as HttpScheme,
};
use wasi::io::streams::{InputStream, OutputStream, StreamError};
use wasi::random::insecure::get_insecure_random_u64;

const CHUNK_BYTES: u64 = 65_536;

/// The most that `blocking-write-and-flush` takes at a time.
const STDERR_BYTES: usize = 4_096;

pub(crate) struct WasiTransport;

impl Transport for WasiTransport {
    type Response = WasiResponse;

    async fn send(&self, request: &Request, timeouts: Timeouts) -> Result<WasiResponse, SendError> {
        let outgoing = HttpRequest::new(fields(request)?);
        address(&outgoing, request)?;
        let body = match request.method {
            Method::Post => {
                let body = outgoing.body().map_err(|()| refused("the body"))?;
                write_ahead(body, &request.body).map_err(|_| refused("the body"))?
            }
            Method::Get => None,
        };
        let options = request_options(timeouts);
        let answer =
            outgoing_handler::handle(outgoing, Some(options)).map_err(|code| refusal(&code))?;
        let mut head = pin!(head(&answer));
        if let Some(rest) = body {
            // A service may answer before it has read the whole body; and a body
            // that cannot be written says less than the answer does.
            let written = pin!(rest.write());
            if let Either::Left((head, _)) = select(&mut head, written).await {
                return WasiResponse::begin(head?);
            }
        }
        WasiResponse::begin(head.await?)
    }

    async fn sleep(&self, duration_ms: u64) {
        let duration_ns = duration_ms.saturating_mul(NANOSECONDS_PER_MS);
        ready(monotonic_clock::subscribe_duration(duration_ns)).await;
    }

    fn now_ms(&self) -> u64 {
        monotonic_clock::now() / NANOSECONDS_PER_MS
    }

    fn unix_time_s(&self) -> u64 {
        wall_clock::now().seconds
    }

    fn random(&self) -> u64 {
        get_insecure_random_u64()
    }

    async fn log(&self, line: &str) {
        let stderr = wasi::cli::stderr::get_stderr();
        for piece in format!("{line}\n").as_bytes().chunks(STDERR_BYTES) {
            // Nobody is left to tell that the log cannot be written.
            let _ = stderr.blocking_write_and_flush(piece);
        }
    }
}

/// A request that the host refuses to begin with, which is certainly not sent.
fn refusal(code: &ErrorCode) -> SendError {
    let mut error = send_error(code);
    if error.delivery == Delivery::Unknown {
        error.delivery = Delivery::NotSent;
    }
    error
}

async fn head(answer: &FutureIncomingResponse) -> Result<IncomingResponse, SendError> {
    ready(answer.subscribe()).await;
    match answer.get() {
        Some(Ok(Ok(response))) => Ok(response),
        Some(Ok(Err(code))) => Err(send_error(&code)),
        Some(Err(())) | None => Err(SendError {
            delivery: Delivery::Unknown,
            message: "the host gives no answer".to_owned(),
        }),
    }
}

/// What is not written of a body. The stream is dropped before the body.
struct Unwritten<'a> {
    stream: OutputStream,
    body: OutgoingBody,
    rest: &'a [u8],
}

/// Writes what the host takes before the request is on its way, so that head and body
/// may go out together. Most bodies are done with that.
fn write_ahead(body: OutgoingBody, bytes: &[u8]) -> Result<Option<Unwritten<'_>>, StreamError> {
    let stream = body.write().map_err(|()| StreamError::Closed)?;
    let mut unwritten = Unwritten {
        stream,
        body,
        rest: bytes,
    };
    if unwritten.write_some()? {
        unwritten.finish();
        return Ok(None);
    }
    Ok(Some(unwritten))
}

impl Unwritten<'_> {
    /// Writes until the host takes no more for now; true when it has taken everything.
    fn write_some(&mut self) -> Result<bool, StreamError> {
        loop {
            let room = self.stream.check_write()? as usize;
            if room == 0 {
                return Ok(false);
            }
            if self.rest.is_empty() {
                return Ok(true);
            }
            let (piece, later) = self.rest.split_at(self.rest.len().min(room));
            self.stream.write(piece)?;
            self.rest = later;
            if later.is_empty() {
                self.stream.flush()?;
            }
        }
    }

    /// Writes all that is left.
    async fn write(mut self) {
        loop {
            match self.write_some() {
                Ok(true) => return self.finish(),
                Ok(false) => ready(self.stream.subscribe()).await,
                // The host says in its answer what is wrong with the body.
                Err(_) => return,
            }
        }
    }

    fn finish(self) {
        drop(self.stream);
        // What is wrong with the body, the host says in its answer.
        let _ = OutgoingBody::finish(self.body, None);
    }
}

/// An answer. Fields are dropped in this order: a stream goes before its body, body and
/// headers before their response.
pub(crate) struct WasiResponse {
    stream: InputStream,
    _body: IncomingBody,
    headers: Fields,
    response: IncomingResponse,
}

impl WasiResponse {
    fn begin(response: IncomingResponse) -> Result<Self, SendError> {
        let no_body = |()| SendError {
            delivery: Delivery::Unknown,
            message: "the host gives no body of the answer".to_owned(),
        };
        let body = response.consume().map_err(no_body)?;
        let stream = body.stream().map_err(no_body)?;
        Ok(Self {
            stream,
            _body: body,
            headers: response.headers(),
            response,
        })
    }
}

impl Response for WasiResponse {
    fn status(&self) -> u16 {
        self.response.status()
    }

    fn header(&self, name: &str) -> Option<Vec<u8>> {
        self.headers.get(name).into_iter().next()
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            match self.stream.read(CHUNK_BYTES) {
                Ok(chunk) if chunk.is_empty() => ready(self.stream.subscribe()).await,
                Ok(chunk) => return Ok(Some(chunk)),
                Err(StreamError::Closed) => return Ok(None),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(error.to_debug_string());
                }
            }
        }
    }
}
