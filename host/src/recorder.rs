//! Records every HTTP exchange of a guest, as the host saw it.

use crate::clock::Clock;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, UNIX_EPOCH};
use voice_calling_record::Secrets;
use voice_calling_record::exchange::{Body, BodyEnd, Ending, Exchange};
use voice_calling_record::masking::{self, Part};
use wasmtime_wasi::HostWallClock;
use wasmtime_wasi_http::{Error, WasiBody};

/// The maximum size of a kept body, in bytes.
pub const KEPT_BODY_BYTES: usize = 1024 * 1024;

/// The default limit on the size of a recorder, in bytes: headers and bodies of all its exchanges
/// together, some ten thousand exchanges without bodies.
pub const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// The latest exchanges, in the order in which they began. Their ids are consecutive.
struct Log {
    exchanges: VecDeque<Exchange>,
    /// The number of exchanges before these, which is the id of the first of these.
    evicted: u64,
    bytes: usize,
    limit_bytes: usize,
}

impl Log {
    fn next_id(&self) -> u64 {
        self.evicted + self.exchanges.len() as u64
    }

    fn push(&mut self, exchange: Exchange) {
        self.bytes += exchange.size();
        self.exchanges.push_back(exchange);
        self.evict();
    }

    /// Changes an exchange. It has no effect on one that is no longer kept.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Exchange)) {
        let index = id.checked_sub(self.evicted);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let Some(exchange) = index.and_then(|index| self.exchanges.get_mut(index)) else {
            return;
        };
        self.bytes -= exchange.size();
        change(exchange);
        self.bytes += exchange.size();
        self.evict();
    }

    fn evict(&mut self) {
        while self.bytes > self.limit_bytes {
            let Some(evicted) = self.exchanges.pop_front() else {
                return;
            };
            self.bytes -= evicted.size();
            self.evicted += 1;
        }
    }
}

/// Records exchanges, their tokens masked: it logs the end of each (at the level DEBUG, with
/// method, host and outcome), and keeps the latest ones, up to [`KEPT_BYTES`] together. Clones
/// share the exchanges.
#[derive(Clone)]
pub struct Recorder {
    clock: Clock,
    secrets: Secrets,
    with_bodies: bool,
    kept: Arc<Mutex<Log>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::with_limit(KEPT_BYTES)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.exchanges()).finish()
    }
}

impl Recorder {
    /// Creates a recorder that keeps the latest exchanges, up to so many bytes together: with 0
    /// none, only the tokens to mask; with `usize::MAX` all, for programs that end.
    pub fn with_limit(limit_bytes: usize) -> Self {
        Self {
            clock: Clock::start(),
            secrets: Secrets::default(),
            with_bodies: false,
            kept: Arc::new(Mutex::new(Log {
                exchanges: VecDeque::new(),
                evicted: 0,
                bytes: 0,
                limit_bytes,
            })),
        }
    }

    /// Returns the recorder, which from now on keeps bodies as well, [`KEPT_BODY_BYTES`] of each.
    /// This does not affect the guest: bodies are copied while they pass.
    pub fn with_bodies(mut self) -> Self {
        self.with_bodies = true;
        self
    }

    /// Returns the tokens that are masked: those in the environments of guests that record here,
    /// and those that were added. Sending a token does not add it; the value of `auth_token` is
    /// always masked.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns the kept exchanges in the order in which they began. A body that is still on its way
    /// is included as far as it has passed.
    pub fn exchanges(&self) -> Vec<Exchange> {
        // Masking takes a while, and requests wait for the lock.
        let kept: Vec<_> = self.lock().exchanges.iter().cloned().collect();
        let masked = |exchange: &Exchange| exchange.masked(&self.secrets);
        kept.iter().map(masked).collect()
    }

    /// Records the beginning of an exchange, which counts as cancelled until it ends, and returns
    /// the request to send.
    pub(crate) fn begin(&self, request: Request<WasiBody>) -> (Request<WasiBody>, Recording) {
        let (head, body) = request.into_parts();
        let (id, is_kept) = self.keep(&head);
        let recording = Recording {
            recorder: self.clone(),
            id,
            is_kept,
            method: head.method.clone(),
            uri: head.uri.clone(),
            ending: Ending::Cancelled,
        };
        let body = recording.tee(|exchange| &mut exchange.body, &head.headers, body);
        (Request::from_parts(head, body), recording)
    }

    /// Returns the id of a new exchange, and whether it is kept at all.
    fn keep(&self, head: &http::request::Parts) -> (u64, bool) {
        let mut kept = self.lock();
        let id = kept.next_id();
        if kept.limit_bytes == 0 {
            kept.evicted += 1;
            return (id, false);
        }
        let path = head.uri.path_and_query();
        kept.push(Exchange {
            id,
            method: head.method.to_string(),
            origin: origin(&head.uri),
            path_and_query: path.map_or("/", |path| path.as_str()).to_owned(),
            version: head.version,
            headers: masked_headers(&head.headers),
            date: UNIX_EPOCH + self.clock.now(),
            started: self.clock.elapsed(),
            duration: Duration::ZERO,
            ending: Ending::Cancelled,
            response_version: Version::HTTP_11,
            response_headers: Vec::new(),
            body: None,
            response_body: None,
        });
        (id, true)
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Exchange)) {
        self.lock().change(id, change);
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // A panic elsewhere leaves the list of finished records intact.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ending_of(sent: &Result<Response<WasiBody>, Error>) -> Ending {
    match sent {
        Ok(response) => Ending::Status(response.status().as_u16()),
        Err(error) => Ending::Error(error.to_string()),
    }
}

/// Returns scheme, host and port.
fn origin(uri: &Uri) -> String {
    format!(
        "{}://{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |authority| authority.as_str())
    )
}

/// Returns header names and values, with the token's value masked, however short it is.
fn masked_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = match name.as_str() {
            "auth_token" if value.as_bytes().starts_with(b"Bearer ") => "Bearer [masked]".into(),
            "auth_token" => "[masked]".into(),
            _ => String::from_utf8_lossy(value.as_bytes()),
        };
        (name.to_string(), value.into_owned())
    };
    headers.iter().map(shown).collect()
}

/// An exchange that has begun. It ends when this is dropped, and the log says how.
pub(crate) struct Recording {
    recorder: Recorder,
    id: u64,
    is_kept: bool,
    method: Method,
    uri: Uri,
    ending: Ending,
}

impl Recording {
    /// Records the response, and returns it.
    pub(crate) fn end(
        mut self,
        sent: Result<Response<WasiBody>, Error>,
    ) -> Result<Response<WasiBody>, Error> {
        self.ending = ending_of(&sent);
        let (head, body) = sent?.into_parts();
        if self.is_kept {
            self.recorder.change(self.id, |exchange| {
                exchange.response_version = head.version;
                exchange.response_headers = masked_headers(&head.headers);
            });
        }
        let body = self.tee(|exchange| &mut exchange.response_body, &head.headers, body);
        Ok(Response::from_parts(head, body))
    }

    /// Returns a body that is copied while it passes, if bodies are kept.
    fn tee(&self, body_of: BodyOf, headers: &HeaderMap, body: WasiBody) -> WasiBody {
        if !self.is_kept || !self.recorder.with_bodies {
            return body;
        }
        let length = headers.get("content-length").and_then(|length| {
            let length = length.to_str().ok()?;
            length.parse().ok()
        });
        let tee = Tee {
            recorder: self.recorder.clone(),
            id: self.id,
            body_of,
            length: length.or(body.size_hint().exact()),
            body,
        };
        tee.update(|_| {});
        if tee.length == Some(0) || tee.body.is_end_stream() {
            tee.update(|body| body.end = BodyEnd::Complete);
        }
        tee.boxed_unsync()
    }

    fn log(&self) {
        let secrets = &self.recorder.secrets;
        let method = masking::text(Part::Method, self.method.as_str());
        let origin = masking::text(Part::Origin, &secrets.mask(&origin(&self.uri)));
        let ending = masking::text(Part::Error, &secrets.mask(&self.ending.to_string()));
        tracing::debug!(method, origin, ending, "exchange");
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.log();
        }
        if self.is_kept {
            let now = self.recorder.clock.elapsed();
            self.recorder.change(self.id, |exchange| {
                exchange.duration = now - exchange.started;
                exchange.ending = self.ending.clone();
            });
        }
    }
}

/// Selects a body of an exchange.
type BodyOf = fn(&mut Exchange) -> &mut Option<Body>;

/// Passes on a body, and records it.
struct Tee {
    recorder: Recorder,
    id: u64,
    /// Selects the request's body or the response's.
    body_of: BodyOf,
    /// The length of the body, if it is known: no more is read once that much has passed.
    length: Option<u64>,
    body: WasiBody,
}

impl Tee {
    fn update(&self, change: impl FnOnce(&mut Body)) {
        let now = self.recorder.clock.elapsed();
        self.recorder.change(self.id, |exchange| {
            let until = now - exchange.started;
            let body = (self.body_of)(exchange).get_or_insert(Body {
                bytes: Vec::new(),
                size: 0,
                is_cut: false,
                end: BodyEnd::Unfinished,
                until,
            });
            if body.end == BodyEnd::Unfinished {
                body.until = until;
                change(body);
            }
        });
    }

    fn record_data(&self, data: &[u8]) {
        self.update(|body| {
            let room = KEPT_BODY_BYTES - body.bytes.len();
            body.bytes.extend_from_slice(&data[..data.len().min(room)]);
            body.is_cut |= data.len() > room;
            body.size += data.len() as u64;
            if self.length == Some(body.size) || self.body.is_end_stream() {
                body.end = BodyEnd::Complete;
            }
        });
    }
}

impl http_body::Body for Tee {
    type Data = bytes::Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => self.record_data(frame.data_ref().map_or(&[], |data| data)),
            Some(Err(error)) => self.update(|body| body.end = BodyEnd::Failed(error.to_string())),
            None => self.update(|body| body.end = BodyEnd::Complete),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
