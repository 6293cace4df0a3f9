//! The core's transport on WASI 0.3: wasi:http, wasi:clocks, wasi:random, stderr.

use crate::bindings::{wit_future, wit_stream};
use crate::http::{
    NANOSECONDS_PER_MS, Writing, address, fields, request_options, send_error, while_writing,
};
use crate::wasi::cli::stderr;
use crate::wasi::clocks::{monotonic_clock, system_clock};
use crate::wasi::http::client;
use crate::wasi::http::types::{Response as HttpResponse, Trailers};
use crate::wasi::random::insecure::get_insecure_random_u64;
use crate::wasi::{ErrorCode, HttpRequest};
use futures_util::future::{join, select};
use std::pin::pin;
use voice_calling_core::{Limits, Method, Request, Response, SendError, Transport};
use wit_bindgen::{
    FutureReader, FutureWriter, StreamReader, StreamResult, StreamWriter, yield_async,
};

/// The number of bytes read from a body at a time: at first, since most responses are small and
/// many calls wait for one at the same time, and at most.
const FIRST_CHUNK_BYTES: usize = 4_096;
const CHUNK_BYTES: usize = 16_384;

/// The time limit for a line of the log.
const LOG_NS: u64 = 100 * NANOSECONDS_PER_MS;

type BodyEnd = Result<Option<Trailers>, ErrorCode>;

/// The result of a request's transmission. The response reports it as well, so nothing waits for
/// it; but a host may treat dropping it as the end of the exchange and close the connection
/// (wasmtime 49 does).
type Transmission = FutureReader<Result<(), ErrorCode>>;

pub(crate) struct WasiTransport;

impl Transport for WasiTransport {
    type Response = WasiResponse;

    async fn send(&self, request: &Request, limits: Limits) -> Result<WasiResponse, SendError> {
        let (outgoing, body, transmission) = outgoing_request(request, limits)?;
        let mut writing: Option<Writing> = Some(Box::pin(body.write(request.body.clone())));
        // Both run at once: the host reads the body only while it sends the request.
        let head = while_writing(&mut writing, client::send(outgoing)).await;
        head.map(|response| WasiResponse::begin(response, writing, transmission))
            .map_err(|code| send_error(&code))
    }

    async fn sleep(&self, duration_ms: u64) {
        monotonic_clock::wait_for(duration_ms.saturating_mul(NANOSECONDS_PER_MS)).await;
        // An event of the same moment comes first: a response is not discarded because its time is
        // just up.
        yield_async().await;
    }

    fn now_ms(&self) -> u64 {
        monotonic_clock::now() / NANOSECONDS_PER_MS
    }

    fn unix_time_s(&self) -> u64 {
        // No clock is before 1970.
        u64::try_from(system_clock::now().seconds).unwrap_or(0)
    }

    fn random(&self) -> u64 {
        get_insecure_random_u64()
    }

    async fn log(&self, line: &str) {
        let (mut pipe, end) = wit_stream::new();
        let written = stderr::write_via_stream(end);
        let line = format!("{line}\n").into_bytes();
        let write = async move {
            // Errors while writing are ignored: there is nowhere to report them.
            let _ = pipe.write_all(line).await;
        };
        // No call waits long for its log.
        let written = pin!(join(write, written.into_future()));
        let time_is_up = pin!(monotonic_clock::wait_for(LOG_NS));
        let _ = select(written, time_is_up).await;
    }
}

fn outgoing_request(
    request: &Request,
    limits: Limits,
) -> Result<(HttpRequest, UnsentBody, Transmission), SendError> {
    let (stream, contents) = match request.method {
        Method::Post => {
            let (stream, contents) = wit_stream::new();
            (Some(stream), Some(contents))
        }
        Method::Get => (None, None),
    };
    // A body that is dropped must not look complete.
    let (end, trailers) = wit_future::new(|| Err(ErrorCode::InternalError(None)));
    let options = request_options(limits);
    let headers = fields(request)?;
    let (outgoing, transmission) = HttpRequest::new(headers, contents, trailers, Some(options));
    address(&outgoing, request)?;
    Ok((outgoing, UnsentBody { stream, end }, transmission))
}

/// The guest's end of a request's body.
struct UnsentBody {
    stream: Option<StreamWriter<u8>>,
    end: FutureWriter<BodyEnd>,
}

impl UnsentBody {
    /// Writes all of the body; the response reports what is wrong with it.
    async fn write(self, bytes: Vec<u8>) {
        if let Some(mut stream) = self.stream
            && !stream.write_all(bytes).await.is_empty()
        {
            return;
        }
        let _ = self.end.write(Ok(None)).await;
    }
}

/// A response.
pub(crate) struct WasiResponse {
    /// The unwritten part of the request's body when the response begins.
    writing: Option<Writing>,
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Body>,
    room: usize,
    _transmission: Transmission,
}

/// The unread part of a body: its pieces, and then how it ended.
struct Body {
    stream: StreamReader<u8>,
    end: FutureReader<BodyEnd>,
}

impl WasiResponse {
    fn begin(response: HttpResponse, writing: Option<Writing>, transmission: Transmission) -> Self {
        let status = response.get_status_code();
        let headers = response.get_headers().copy_all();
        let (handled, handling) = wit_future::new(|| Ok(()));
        drop(handled);
        let (stream, end) = HttpResponse::consume_body(response, handling);
        Self {
            writing,
            status,
            headers,
            body: Some(Body { stream, end }),
            room: FIRST_CHUNK_BYTES,
            _transmission: transmission,
        }
    }
}

impl Response for WasiResponse {
    fn status(&self) -> u16 {
        self.status
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(body) = &mut self.body else {
            return Ok(None);
        };
        loop {
            let reading = body.stream.read(Vec::with_capacity(self.room));
            let (result, chunk) = while_writing(&mut self.writing, reading).await;
            self.room = (2 * self.room).min(CHUNK_BYTES);
            match result {
                _ if !chunk.is_empty() => return Ok(Some(chunk)),
                StreamResult::Complete(_) => {}
                StreamResult::Dropped | StreamResult::Cancelled => break,
            }
        }
        let Some(body) = self.body.take() else {
            return Ok(None);
        };
        match while_writing(&mut self.writing, body.end.into_future()).await {
            Ok(_) => Ok(None),
            Err(code) => Err(send_error(&code).message),
        }
    }
}
