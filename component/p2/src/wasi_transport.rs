//! The core's transport on WASI 0.2: wasi:http, wasi:clocks, wasi:random, stderr.

use crate::executor::ready;
use crate::http::{
    NANOSECONDS_PER_MS, Writing, address, fields, refused, request_options, send_error,
    while_writing,
};
use crate::wasi::HttpRequest;
use crate::wasi::cli::stderr::get_stderr;
use crate::wasi::clocks::{monotonic_clock, wall_clock};
use crate::wasi::http::outgoing_handler;
use crate::wasi::http::types::{
    FutureIncomingResponse, IncomingBody, IncomingResponse, OutgoingBody,
};
use crate::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::wasi::random::insecure::get_insecure_random_u64;
use futures_util::FutureExt;
use futures_util::future::select;
use std::pin::pin;
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
        let mut writing: Option<Writing> = match request.method {
            Method::Post => {
                let body = outgoing.body().map_err(|()| refused("the body"))?;
                Some(Box::pin(write_body(body, request.body.clone())))
            }
            Method::Get => None,
        };
        // Writes as much as the host accepts before the request is sent, so that head and body may
        // go out together.
        writing.take_if(|writing| writing.as_mut().now_or_never().is_some());
        let options = request_options(limits);
        let future_response =
            outgoing_handler::handle(outgoing, Some(options)).map_err(|code| send_error(&code))?;
        let response = while_writing(&mut writing, head(&future_response)).await?;
        WasiResponse::begin(response, writing)
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
        let line = format!("{line}\n").into_bytes();
        // No call waits long for its log. Errors while writing are ignored: there is nowhere to
        // report them.
        let _ = select(pin!(write(get_stderr(), &line)), pin!(self.sleep(LOG_MS))).await;
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

/// Writes the body of a request. The response reports what is wrong with it.
async fn write_body(body: OutgoingBody, bytes: Vec<u8>) {
    if let Ok(stream) = body.write()
        && write(stream, &bytes).await.is_ok()
    {
        let _ = OutgoingBody::finish(body, None);
    }
}

/// Writes bytes to a stream, and drops it.
async fn write(stream: OutputStream, mut bytes: &[u8]) -> Result<(), StreamError> {
    loop {
        let room = usize::try_from(stream.check_write()?).unwrap_or(usize::MAX);
        if room == 0 {
            ready(stream.subscribe()).await;
        } else if bytes.is_empty() {
            return Ok(());
        } else {
            let (piece, rest) = bytes.split_at(bytes.len().min(room));
            stream.write(piece)?;
            bytes = rest;
            if bytes.is_empty() {
                stream.flush()?;
            }
        }
    }
}

/// A response. Fields are dropped in this order: a stream before its body, and a body before its
/// response.
pub(crate) struct WasiResponse {
    /// The unwritten part of the request's body when the response begins.
    writing: Option<Writing>,
    headers: Vec<(String, Vec<u8>)>,
    stream: InputStream,
    _body: IncomingBody,
    response: IncomingResponse,
}

impl WasiResponse {
    fn begin(response: IncomingResponse, writing: Option<Writing>) -> Result<Self, SendError> {
        let no_body = |()| SendError {
            delivery: Delivery::Unknown,
            message: "the host returned no response body".to_owned(),
        };
        let body = response.consume().map_err(no_body)?;
        Ok(Self {
            writing,
            headers: response.headers().entries(),
            stream: body.stream().map_err(no_body)?,
            _body: body,
            response,
        })
    }
}

impl Response for WasiResponse {
    fn status(&self) -> u16 {
        self.response.status()
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            match self.stream.read(CHUNK_BYTES) {
                Ok(chunk) if chunk.is_empty() => {
                    while_writing(&mut self.writing, ready(self.stream.subscribe())).await;
                }
                Ok(chunk) => return Ok(Some(chunk)),
                Err(StreamError::Closed) => return Ok(None),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(error.to_debug_string());
                }
            }
        }
    }
}
