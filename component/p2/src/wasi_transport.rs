//! The core's transport on WASI 0.2: wasi:http, wasi:clocks, wasi:random, stderr.

use crate::executor::ready;
use crate::http::{NANOSECONDS_PER_MS, address, fields, request_options, send_error};
use crate::wasi::cli::stderr::get_stderr;
use crate::wasi::clocks::{monotonic_clock, wall_clock};
use crate::wasi::http::outgoing_handler;
use crate::wasi::http::types::{
    FutureIncomingResponse, IncomingBody, IncomingResponse, OutgoingBody,
};
use crate::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::wasi::random::insecure::get_insecure_random_u64;
use crate::wasi::{Fields, HttpRequest};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::pin::{Pin, pin};
use voice_calling_core::{Delivery, Limits, Method, Request, Response, SendError, Transport};

const CHUNK_BYTES: u64 = 65_536;

/// The time limit for a line of the log.
const LOG_MS: u64 = 100;

pub(crate) struct WasiTransport;

impl Transport for WasiTransport {
    type Response = WasiResponse;

    async fn send(&self, request: &Request, limits: Limits) -> Result<WasiResponse, SendError> {
        let outgoing = HttpRequest::new(fields(request)?);
        address(&outgoing, request)?;
        let outgoing_body = match request.method {
            Method::Post => write_ahead(&outgoing, &request.body).map_err(|()| SendError {
                delivery: Delivery::NotSent,
                message: "the host rejected the body of the request".to_owned(),
            })?,
            Method::Get => None,
        };
        let options = request_options(limits);
        let future_response =
            outgoing_handler::handle(outgoing, Some(options)).map_err(|code| send_error(&code))?;
        let mut head = pin!(head(&future_response));
        let Some(outgoing_body) = outgoing_body else {
            return WasiResponse::begin(head.await?, None);
        };
        // A service may respond before it has read the whole body, and the response says more than
        // a failure to write the body does.
        let mut writing: Writing = Box::pin(outgoing_body.write());
        match select(&mut head, &mut writing).await {
            Either::Left((head, _)) => {
                // All of the body may have been written by now: an unfinished body would end the
                // exchange.
                let written = writing.as_mut().now_or_never().is_some();
                WasiResponse::begin(head?, (!written).then_some(writing))
            }
            Either::Right(((), head)) => WasiResponse::begin(head.await?, None),
        }
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
        let mut line = PendingWrite::new(get_stderr(), format!("{line}\n").into_bytes());
        // No call waits long for its log. Errors while writing are ignored: there is nowhere to
        // report them.
        let _ = select(pin!(line.write()), pin!(self.sleep(LOG_MS))).await;
    }
}

async fn head(future_response: &FutureIncomingResponse) -> Result<IncomingResponse, SendError> {
    ready(future_response.subscribe()).await;
    match future_response.get() {
        Some(Ok(Ok(response))) => Ok(response),
        Some(Ok(Err(code))) => Err(send_error(&code)),
        Some(Err(())) | None => Err(SendError {
            delivery: Delivery::Unknown,
            message: "the host returned no response".to_owned(),
        }),
    }
}

/// Writes the rest of a request's body.
type Writing = Pin<Box<dyn Future<Output = ()>>>;

/// The unwritten part of a body. The stream is dropped before the body.
struct UnsentBody {
    pending: PendingWrite,
    body: OutgoingBody,
}

/// Writes as much as the host accepts before the request is sent, so that head and body may go out
/// together. Most bodies are done with that.
fn write_ahead(outgoing: &HttpRequest, bytes: &[u8]) -> Result<Option<UnsentBody>, ()> {
    let body = outgoing.body()?;
    let pending = PendingWrite::new(body.write()?, bytes.to_vec());
    let mut outgoing_body = UnsentBody { pending, body };
    if outgoing_body.pending.write_some().map_err(drop)? {
        outgoing_body.finish();
        return Ok(None);
    }
    Ok(Some(outgoing_body))
}

impl UnsentBody {
    async fn write(mut self) {
        // The response reports what is wrong with the body.
        if self.pending.write().await.is_ok() {
            self.finish();
        }
    }

    fn finish(self) {
        drop(self.pending);
        // The response reports what is wrong with the body.
        let _ = OutgoingBody::finish(self.body, None);
    }
}

/// Bytes to write to a stream.
struct PendingWrite {
    stream: OutputStream,
    bytes: Vec<u8>,
    written: usize,
}

impl PendingWrite {
    fn new(stream: OutputStream, bytes: Vec<u8>) -> Self {
        Self {
            stream,
            bytes,
            written: 0,
        }
    }

    /// Writes until the host accepts no more for now; returns `true` if all bytes are written.
    fn write_some(&mut self) -> Result<bool, StreamError> {
        loop {
            let room = usize::try_from(self.stream.check_write()?).unwrap_or(usize::MAX);
            let rest = &self.bytes[self.written..];
            if room == 0 {
                return Ok(false);
            }
            if rest.is_empty() {
                return Ok(true);
            }
            let piece = &rest[..rest.len().min(room)];
            self.stream.write(piece)?;
            self.written += piece.len();
            if self.written == self.bytes.len() {
                self.stream.flush()?;
            }
        }
    }

    async fn write(&mut self) -> Result<(), StreamError> {
        while !self.write_some()? {
            ready(self.stream.subscribe()).await;
        }
        Ok(())
    }
}

/// A response. Fields are dropped in this order: a stream before its body, body and headers before
/// their response.
pub(crate) struct WasiResponse {
    /// The unwritten part of the request's body when the response begins.
    writing: Option<Writing>,
    stream: InputStream,
    _body: IncomingBody,
    headers: Fields,
    response: IncomingResponse,
}

impl WasiResponse {
    fn begin(response: IncomingResponse, writing: Option<Writing>) -> Result<Self, SendError> {
        let no_body = |()| SendError {
            delivery: Delivery::Unknown,
            message: "the host returned no response body".to_owned(),
        };
        let body = response.consume().map_err(no_body)?;
        let stream = body.stream().map_err(no_body)?;
        Ok(Self {
            writing,
            stream,
            _body: body,
            headers: response.headers(),
            response,
        })
    }

    /// Waits until more of the body can be read, and continues to write meanwhile.
    async fn readable(&mut self) {
        let readable = ready(self.stream.subscribe());
        let Some(writing) = &mut self.writing else {
            return readable.await;
        };
        if let Either::Right(((), readable)) = select(pin!(readable), writing).await {
            self.writing = None;
            readable.await;
        }
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
                Ok(chunk) if chunk.is_empty() => self.readable().await,
                Ok(chunk) => return Ok(Some(chunk)),
                Err(StreamError::Closed) => return Ok(None),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(error.to_debug_string());
                }
            }
        }
    }
}
