//! A service in memory that does what a script says, request by request: answers,
//! failures and silence, whenever a test wants them, without a socket. With tokio's
//! clock paused, hours pass in milliseconds, and every moment is exact.

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;
use voice_calling_host::clock::Clock;
use voice_calling_host::{InMemoryNetwork, Outgoing, Recorder};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// How much of each body is kept, to be compared with what a guest reports of it.
const KEPT_BEGINNING_BYTES: usize = 4_096;

/// What the service does with one request.
#[derive(Clone, Debug)]
pub struct Step {
    after: Duration,
    reading: Reading,
    does: Does,
}

/// What the service does with the body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Reads it, then answers.
    Whole,
    /// Drops it at once, as one does who never takes the request.
    Refused,
    /// Leaves it open and unread, so that nobody can write it whole.
    Never,
}

#[derive(Clone, Debug)]
enum Does {
    Answer {
        status: u16,
        headers: Vec<(String, Vec<u8>)>,
        pieces: Vec<Piece>,
    },
    Fail(ErrorCode),
    Silence,
}

/// A piece of a body.
#[derive(Clone, Debug)]
pub enum Piece {
    /// These bytes.
    Bytes(Bytes),
    /// Nothing, for so long.
    Pause(Duration),
    /// The connection breaks.
    Break(ErrorCode),
    /// The same bytes so many times, each after a pause; none is for ever.
    Repeat {
        /// The bytes.
        bytes: Bytes,
        /// How often; none is for ever.
        times: Option<u64>,
        /// Before each time.
        pause: Duration,
    },
    /// The text that the request has as its `external_id`, so that one script can
    /// answer each item of a batch with what is its own.
    ExternalId,
}

impl Step {
    fn does(does: Does) -> Self {
        Self {
            after: Duration::ZERO,
            reading: Reading::Whole,
            does,
        }
    }

    /// An answer with an empty body.
    pub fn status(status: u16) -> Self {
        Self::does(Does::Answer {
            status,
            headers: Vec::new(),
            pieces: Vec::new(),
        })
    }

    /// 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).body(body)
    }

    /// No answer, but an error of wasi:http.
    pub fn fail(code: ErrorCode) -> Self {
        Self::does(Does::Fail(code))
    }

    /// Neither answer nor error, ever.
    pub fn silence() -> Self {
        Self::does(Does::Silence)
    }

    /// With this body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.pieces([Piece::Bytes(body.into().into())])
    }

    /// With a body that comes like this.
    pub fn pieces(mut self, new: impl Into<Vec<Piece>>) -> Self {
        if let Does::Answer { pieces, .. } = &mut self.does {
            *pieces = new.into();
        }
        self
    }

    /// With one header more.
    pub fn header(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> Self {
        if let Does::Answer { headers, .. } = &mut self.does {
            headers.push((name.into(), value.as_ref().to_vec()));
        }
        self
    }

    /// Lets the head, or the failure, come so much later.
    pub fn after_ms(mut self, after_ms: u64) -> Self {
        self.after = Duration::from_millis(after_ms);
        self
    }

    /// Leaves the request's body unread, but open, so that nobody can write it whole.
    pub fn without_reading(mut self) -> Self {
        self.reading = Reading::Never;
        self
    }

    /// Drops the request's body unread: nobody takes the request.
    pub fn before_reading(mut self) -> Self {
        self.reading = Reading::Refused;
        self
    }

    /// The first value of a header of its answer.
    pub fn header_value(&self, name: &str) -> Option<&[u8]> {
        match &self.does {
            Does::Answer { headers, .. } => headers
                .iter()
                .find(|(header, _)| header == name)
                .map(|(_, value)| value.as_slice()),
            Does::Fail(_) | Does::Silence => None,
        }
    }

    /// The whole body of its answer to a request with this `external_id`, where it
    /// has an end.
    pub fn whole_body(&self, external_id: &str) -> Option<Vec<u8>> {
        let Does::Answer { pieces, .. } = &self.does else {
            return None;
        };
        let mut whole = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => whole.extend_from_slice(bytes),
                Piece::ExternalId => whole.extend_from_slice(external_id.as_bytes()),
                Piece::Pause(_) => {}
                Piece::Break(_) => return None,
                Piece::Repeat { bytes, times, .. } => {
                    (0..(*times)?).for_each(|_| whole.extend_from_slice(bytes));
                }
            }
        }
        Some(whole)
    }
}

/// The host's error for a code. wasmtime-wasi-http 48.0.8 takes the response's header
/// size for the request's.
pub fn error(code: ErrorCode) -> Error {
    match code {
        ErrorCode::HttpResponseHeaderSize(payload) => Error::HttpResponseHeaderSize {
            field_name: payload.field_name,
            field_size: payload.field_size,
        },
        code => code.into(),
    }
}

/// A request that reached the service.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When it came. Unit: milliseconds since the service began.
    pub at_ms: u64,
    /// GET or POST.
    pub method: String,
    /// The whole of it.
    pub uri: http::Uri,
    /// Names and values in order.
    pub headers: Vec<(String, String)>,
    /// What was read of its body.
    pub body: Vec<u8>,
    /// The timeouts that the guest asks for.
    pub options: RequestOptions,
    /// Which step of the script it met, from 0.
    pub step: usize,
    /// What the guest has received.
    pub received: Received,
    /// The beginning of the body that came with it.
    pub heard_beginning: Vec<u8>,
    /// When the service last did something about it, or was just about to; none where it
    /// keeps silent. Unit: milliseconds since the service began.
    pub acted_ms: Option<u64>,
    /// When that was over; none while it is open. Unit: milliseconds since the service
    /// began.
    pub ended_ms: Option<u64>,
}

/// What the guest has received of the service about a request.
#[derive(Clone, Debug)]
pub enum Received {
    /// Nothing: it has given up, or is waiting.
    Nothing,
    /// No answer, but this.
    Failure(ErrorCode),
    /// An answer with this status, and so much of its body.
    Answer(u16, ReceivedBody),
}

/// How much of a body was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedBody {
    /// Not its end: the guest has given it up, or is still reading.
    Begun,
    /// All of it.
    Whole,
    /// Up to where it ended early.
    Broken,
}

impl Sent {
    /// Path and query.
    pub fn path_and_query(&self) -> &str {
        self.uri.path_and_query().map_or("", |path| path.as_str())
    }

    /// The values of a header, separated by a bar.
    pub fn header(&self, name: &str) -> String {
        let values = self.headers.iter().filter(|(header, _)| header == name);
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        values.join("|")
    }

    /// The `external_id` in its body; empty where there is none.
    pub fn external_id(&self) -> String {
        let body: Option<serde_json::Value> = serde_json::from_slice(&self.body).ok();
        let id = body.as_ref().and_then(|body| body["external_id"].as_str());
        id.unwrap_or_default().to_owned()
    }
}

/// How many requests were open at once, at most. One is open until its answer has ended,
/// or the guest has dropped it; one that ends at the millisecond in which another begins
/// has ended before.
pub fn most_open(sent: &[Sent]) -> usize {
    let ends = sent.iter().filter_map(|sent| sent.ended_ms);
    let mut changes: Vec<(u64, isize)> = ends.map(|ended_ms| (ended_ms, -1)).collect();
    changes.extend(sent.iter().map(|sent| (sent.at_ms, 1)));
    // At the same moment, what ends comes first.
    changes.sort_unstable();
    let open = changes.into_iter().scan(0_isize, |open, (_, change)| {
        *open += change;
        Some(*open)
    });
    open.max().map_or(0, |most| most.unsigned_abs())
}

/// A service in memory. The last step of its script is for all further requests.
pub struct Script {
    outgoing: Outgoing,
    record: Record,
}

/// What happened so far.
#[derive(Clone)]
struct Record {
    clock: Clock,
    history: Arc<Mutex<History>>,
}

#[derive(Default)]
struct History {
    sent: Vec<Sent>,
    /// Bodies that nobody reads and nobody may drop.
    unread: Vec<WasiBody>,
}

impl Record {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is open for as long as this lives.
struct Open {
    record: Record,
    index: usize,
}

impl Open {
    fn begin(record: &Record, head: &http::request::Parts, options: RequestOptions) -> Self {
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), value.into_owned())
        };
        let at_ms = record.now_ms();
        let mut history = record.history();
        let index = history.sent.len();
        history.sent.push(Sent {
            at_ms,
            method: head.method.to_string(),
            uri: head.uri.clone(),
            headers: head.headers.iter().map(header).collect(),
            body: Vec::new(),
            options,
            step: index,
            received: Received::Nothing,
            heard_beginning: Vec::new(),
            acted_ms: None,
            ended_ms: None,
        });
        let record = record.clone();
        Self { record, index }
    }

    fn note(&self, note: impl FnOnce(&mut Sent)) {
        note(&mut self.record.history().sent[self.index]);
    }

    /// Lets time pass until the service does something.
    async fn act_after(&self, pause: Duration) {
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let acts_ms = self.record.now_ms().saturating_add(pause_ms);
        self.note(|sent| sent.acted_ms = Some(acts_ms));
        sleep(pause).await;
    }

    /// Notes what is given of a body.
    fn give(&self, bytes: Bytes) -> Bytes {
        self.note(|sent| {
            let room = KEPT_BEGINNING_BYTES - sent.heard_beginning.len();
            let kept = &bytes[..bytes.len().min(room)];
            sent.heard_beginning.extend_from_slice(kept);
        });
        bytes
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let now_ms = self.record.now_ms();
        self.record.history().sent[self.index].ended_ms = Some(now_ms);
    }
}

impl Script {
    /// A service that does this.
    pub fn new(steps: impl Into<Arc<[Step]>>) -> Self {
        let steps: Arc<[Step]> = steps.into();
        let record = Record {
            clock: Clock::start(),
            history: Arc::default(),
        };
        let kept = record.clone();
        let network = InMemoryNetwork(move |request: http::Request<WasiBody>, options| {
            let (head, body) = request.into_parts();
            let open = Open::begin(&kept, &head, options);
            let step = steps.get(open.index).or(steps.last()).cloned();
            open.note(|sent| sent.step = sent.step.min(steps.len().saturating_sub(1)));
            async move {
                let Some(step) = step else {
                    return Err(Error::InternalError(Some("the script is empty".to_owned())));
                };
                match step.reading {
                    Reading::Whole => {
                        let read = body.collect().await?.to_bytes();
                        open.note(|sent| sent.body = read.to_vec());
                    }
                    Reading::Refused => drop(body),
                    Reading::Never => open.record.history().unread.push(body),
                }
                answer(step, open).await
            }
        });
        let mut outgoing = Outgoing::loopback(network);
        outgoing.recorder = Recorder::keeping(usize::MAX);
        Self { outgoing, record }
    }

    /// The way to it.
    pub fn outgoing(&self) -> Outgoing {
        self.outgoing.clone()
    }

    /// The requests so far, in the order in which they came.
    pub fn sent(&self) -> Vec<Sent> {
        self.record.history().sent.clone()
    }

    /// How many requests were open at once, at most.
    pub fn most_open(&self) -> usize {
        most_open(&self.sent())
    }

    /// Milliseconds since the service began.
    pub fn now_ms(&self) -> u64 {
        self.record.now_ms()
    }
}

async fn answer(step: Step, open: Open) -> Result<http::Response<WasiBody>, Error> {
    if let Does::Silence = step.does {
        return std::future::pending().await;
    }
    open.act_after(step.after).await;
    match step.does {
        Does::Silence => std::future::pending().await,
        Does::Fail(code) => {
            open.note(|sent| sent.received = Received::Failure(code.clone()));
            Err(error(code))
        }
        Does::Answer {
            status,
            headers,
            pieces,
        } => {
            open.note(|sent| sent.received = Received::Answer(status, ReceivedBody::Begun));
            let mut response = http::Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            let invalid = |error: http::Error| Error::InternalError(Some(error.to_string()));
            response.body(body(pieces, open)).map_err(invalid)
        }
    }
}

fn body(pieces: Vec<Piece>, open: Open) -> WasiBody {
    let received = |open: &Open, body| {
        open.note(|sent| {
            if let Received::Answer(_, received) = &mut sent.received {
                *received = body;
            }
        });
    };
    let external_id = open.record.history().sent[open.index].external_id();
    let rest = (VecDeque::from(pieces), Some(open));
    let frames = stream::unfold(rest, move |(mut pieces, open)| {
        let external_id = external_id.clone();
        async move {
            // A body that has ended is not asked again.
            let open: Open = open?;
            loop {
                let bytes = match pieces.pop_front() {
                    Some(Piece::Pause(pause)) => {
                        open.act_after(pause).await;
                        continue;
                    }
                    Some(Piece::Bytes(bytes)) => bytes,
                    Some(Piece::ExternalId) => external_id.into(),
                    Some(Piece::Repeat { times: Some(0), .. }) => continue,
                    Some(Piece::Repeat {
                        bytes,
                        times,
                        pause,
                    }) => {
                        open.act_after(pause).await;
                        pieces.push_front(Piece::Repeat {
                            bytes: bytes.clone(),
                            times: times.map(|times| times - 1),
                            pause,
                        });
                        bytes
                    }
                    Some(Piece::Break(code)) => {
                        received(&open, ReceivedBody::Broken);
                        return Some((Err(error(code)), (pieces, None)));
                    }
                    None => {
                        received(&open, ReceivedBody::Whole);
                        return None;
                    }
                };
                return Some((Ok(Frame::data(open.give(bytes))), (pieces, Some(open))));
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}
