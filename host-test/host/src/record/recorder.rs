//! Every HTTP exchange of a guest, as the host saw it.

use crate::clock::Clock;
use crate::record::masking;
use crate::record::secrets::Secrets;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasmtime_wasi::HostWallClock;
use wasmtime_wasi_http::{Error, WasiBody};

/// How much of a body is kept where bodies are kept at all.
pub const KEPT_BODY_BYTES: usize = 1024 * 1024;

/// How an exchange ended, as far as its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// An answer with this HTTP status.
    Status(u16),
    /// No answer; the wasi:http error.
    Error(String),
    /// The guest gave it up before there was an answer.
    Abandoned,
}

impl Ending {
    fn of(sent: &Result<Response<WasiBody>, Error>) -> Self {
        match sent {
            Ok(response) => Ending::Status(response.status().as_u16()),
            Err(error) => Ending::Error(error.to_string()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Status(status) => write!(formatter, "{status}"),
            Ending::Error(error) => formatter.write_str(error),
            Ending::Abandoned => formatter.write_str("abandoned"),
        }
    }
}

/// A request and what came of it. The token is masked in all of it; bodies, which hold
/// phone numbers and context, are there only where [`Recorder::with_bodies`] asked
/// for them.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// GET or POST.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query as they were sent.
    pub path_and_query: String,
    /// The version of HTTP that was asked for.
    pub version: Version,
    /// Header names and values in order.
    pub headers: Vec<(String, String)>,
    /// The date when it began.
    pub date: SystemTime,
    /// When it began, since the recorder was made.
    pub started: Duration,
    /// From the beginning to the head of the answer.
    pub duration: Duration,
    /// What came of it.
    pub ending: Ending,
    /// The version of HTTP that was answered with.
    pub answer_version: Version,
    /// Names and values of the answer's headers in order.
    pub answer_headers: Vec<(String, String)>,
    /// What was sent.
    pub body: Option<Body>,
    /// What was answered.
    pub answer_body: Option<Body>,
}

impl Exchange {
    fn body_mut(&mut self, side: Side) -> &mut Option<Body> {
        match side {
            Side::Request => &mut self.body,
            Side::Answer => &mut self.answer_body,
        }
    }

    /// The same without the tokens.
    fn masked(&self, secrets: &Secrets) -> Self {
        let header = |(name, value): &(String, String)| (secrets.mask(name), secrets.mask(value));
        let headers = |headers: &[_]| headers.iter().map(header).collect();
        let body = |body: &Option<Body>, headers: &[(String, String)]| {
            body.as_ref().map(|body| body.masked(secrets, headers))
        };
        Self {
            method: secrets.mask(&self.method),
            origin: secrets.mask(&self.origin),
            path_and_query: secrets.mask(&self.path_and_query),
            headers: headers(&self.headers),
            answer_headers: headers(&self.answer_headers),
            ending: match &self.ending {
                Ending::Error(error) => Ending::Error(secrets.mask(error)),
                ending => ending.clone(),
            },
            body: body(&self.body, &self.headers),
            answer_body: body(&self.answer_body, &self.answer_headers),
            ..*self
        }
    }
}

/// A body, as far as it passed.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// Its beginning, up to [`KEPT_BODY_BYTES`].
    pub bytes: Vec<u8>,
    /// How many bytes passed.
    pub size: u64,
    /// Whether more passed than was kept.
    pub is_cut: bool,
    /// How it ended.
    pub end: BodyEnd,
    /// When something last happened to it, since the exchange began.
    pub until: Duration,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it passed.
    Whole,
    /// It broke off with this wasi:http error.
    Broken(String),
    /// Nobody wanted the rest, or it is still on its way.
    Unfinished,
}

impl Body {
    /// Whether it goes on after what was kept.
    pub fn end_is_missing(&self) -> bool {
        self.is_cut || self.end != BodyEnd::Whole
    }

    fn masked(&self, secrets: &Secrets, headers: &[(String, String)]) -> Self {
        // A token could not be found in a compressed body, so that none is shown.
        let is_encoded = headers.iter().any(|(name, value)| {
            name == "content-encoding" && !value.eq_ignore_ascii_case("identity")
        });
        let end = match &self.end {
            BodyEnd::Broken(error) => BodyEnd::Broken(secrets.mask(error)),
            end => end.clone(),
        };
        match is_encoded {
            true => Self {
                bytes: Vec::new(),
                is_cut: self.is_cut || !self.bytes.is_empty(),
                end,
                ..*self
            },
            false => Self {
                bytes: secrets.mask_bytes(&self.bytes),
                end,
                ..*self
            },
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, end, .. } = self;
        write!(formatter, "{size} bytes, {end:?}: ")?;
        write!(formatter, "\"{}\"", self.bytes.escape_ascii())
    }
}

/// What a recorder keeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Nothing,
    Exchanges,
    Bodies,
}

/// Keeps exchanges in the order in which they began. Clones share what they keep.
#[derive(Clone)]
pub struct Recorder {
    clock: Clock,
    secrets: Secrets,
    kept: Kept,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            clock: Clock::start(),
            secrets: Secrets::default(),
            kept: Kept::Exchanges,
            exchanges: Arc::default(),
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.exchanges()).finish()
    }
}

impl Recorder {
    /// The same recorder, which from now on keeps bodies as well, [`KEPT_BODY_BYTES`] of
    /// each. The guest does not notice: they are copied while they pass.
    pub fn with_bodies(mut self) -> Self {
        self.kept = Kept::Bodies;
        self
    }

    /// A recorder that keeps nothing but the tokens that it masks: for hosts that make
    /// calls for days, where a record of each would fill the memory.
    pub fn keeping_nothing() -> Self {
        Self {
            kept: Kept::Nothing,
            ..Self::default()
        }
    }

    /// The tokens that are masked: those in the environments of guests that record
    /// here, and those that were sent.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What was recorded so far. A body that is still on its way is there as far as it
    /// has passed.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let masked = |exchange: &Exchange| exchange.masked(&self.secrets);
        self.lock().iter().map(masked).collect()
    }

    /// Notes the beginning of an exchange, which counts as abandoned until it is
    /// ended, and gives back the request to be sent.
    pub(crate) fn begin(
        &self,
        request: Request<WasiBody>,
    ) -> (Request<WasiBody>, Option<Recording>) {
        for token in request.headers().get_all("auth_token") {
            self.secrets
                .learn(&String::from_utf8_lossy(token.as_bytes()));
        }
        if self.kept == Kept::Nothing {
            return (request, None);
        }
        let uri = request.uri();
        let exchange = Exchange {
            method: request.method().to_string(),
            origin: format!(
                "{}://{}",
                uri.scheme_str().unwrap_or_default(),
                uri.authority().map_or("", |authority| authority.as_str())
            ),
            path_and_query: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
            version: request.version(),
            headers: shown(request.headers()),
            date: UNIX_EPOCH + self.clock.now(),
            started: self.clock.elapsed(),
            duration: Duration::ZERO,
            ending: Ending::Abandoned,
            answer_version: Version::HTTP_11,
            answer_headers: Vec::new(),
            body: None,
            answer_body: None,
        };
        let mut exchanges = self.lock();
        exchanges.push(exchange);
        let recording = Recording {
            recorder: self.clone(),
            index: exchanges.len() - 1,
            ending: None,
        };
        drop(exchanges);
        let (head, body) = request.into_parts();
        let body = recording.tee(Side::Request, &head.headers, body);
        (Request::from_parts(head, body), Some(recording))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Exchange>> {
        // A list of finished records is whole, whoever panicked meanwhile.
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Header names and values, the token's value masked, however short it is.
fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
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

/// An exchange that has begun. Dropped, it has ended.
pub(crate) struct Recording {
    recorder: Recorder,
    index: usize,
    ending: Option<Ending>,
}

impl Recording {
    /// Notes what was sent back, and passes it on.
    pub(crate) fn end(
        mut self,
        sent: Result<Response<WasiBody>, Error>,
    ) -> Result<Response<WasiBody>, Error> {
        let ending = Ending::of(&sent);
        self.ending = Some(ending);
        let (head, body) = sent?.into_parts();
        let mut exchanges = self.recorder.lock();
        let exchange = &mut exchanges[self.index];
        exchange.answer_version = head.version;
        exchange.answer_headers = shown(&head.headers);
        drop(exchanges);
        let body = self.tee(Side::Answer, &head.headers, body);
        Ok(Response::from_parts(head, body))
    }

    /// A body that is copied while it passes, where bodies are kept.
    fn tee(&self, side: Side, headers: &HeaderMap, body: WasiBody) -> WasiBody {
        if self.recorder.kept < Kept::Bodies {
            return body;
        }
        let length = headers.get("content-length").and_then(|length| {
            let length = length.to_str().ok()?;
            length.parse().ok()
        });
        let tee = Tee {
            recorder: self.recorder.clone(),
            index: self.index,
            side,
            length: length.or(body.size_hint().exact()),
            body,
        };
        tee.note(|_| {});
        if tee.length == Some(0) || tee.body.is_end_stream() {
            tee.note(|body| body.end = BodyEnd::Whole);
        }
        tee.boxed_unsync()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let now = self.recorder.clock.elapsed();
        let mut exchanges = self.recorder.lock();
        let exchange = &mut exchanges[self.index];
        exchange.duration = now - exchange.started;
        if let Some(ending) = self.ending.take() {
            exchange.ending = ending;
        }
        if tracing::enabled!(tracing::Level::DEBUG) {
            let secrets = &self.recorder.secrets;
            let method = masking::method(&exchange.method).to_owned();
            let origin = masking::origin(&secrets.mask(&exchange.origin));
            let ending = secrets.mask(&exchange.ending.to_string());
            drop(exchanges);
            let ending = masking::error(&ending);
            tracing::debug!(method, origin, ending, "exchange");
        }
    }
}

/// Whose body it is.
#[derive(Clone, Copy)]
enum Side {
    Request,
    Answer,
}

/// A body that passes on what it is, and notes it.
struct Tee {
    recorder: Recorder,
    index: usize,
    side: Side,
    /// Where the length is known, nobody asks for more once that much has passed.
    length: Option<u64>,
    body: WasiBody,
}

impl Tee {
    fn note(&self, change: impl FnOnce(&mut Body)) {
        let now = self.recorder.clock.elapsed();
        let exchange = &mut self.recorder.lock()[self.index];
        let until = now - exchange.started;
        let body = exchange.body_mut(self.side).get_or_insert(Body {
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
    }

    fn note_data(&self, data: &[u8]) {
        self.note(|body| {
            let room = KEPT_BODY_BYTES - body.bytes.len();
            body.bytes.extend_from_slice(&data[..data.len().min(room)]);
            body.is_cut |= data.len() > room;
            body.size += data.len() as u64;
            if self.length == Some(body.size) || self.body.is_end_stream() {
                body.end = BodyEnd::Whole;
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
            Some(Ok(frame)) => self.note_data(frame.data_ref().map_or(&[], |data| data)),
            Some(Err(error)) => self.note(|body| body.end = BodyEnd::Broken(error.to_string())),
            None => self.note(|body| body.end = BodyEnd::Whole),
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
