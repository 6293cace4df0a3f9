//! A service in memory that follows a script, request by request: answers, failures and silence at
//! any time, without a socket. With tokio's clock paused, hours pass in milliseconds, and every
//! moment is exact.

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;
use voice_calling_host::clock::Clock;
use voice_calling_host::{InMemoryNetwork, Outgoing};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// The number of bytes of each body that are kept for comparison with a guest's report.
const KEPT_BEGINNING_BYTES: usize = 4_096;

/// The service's reaction to one request.
#[derive(Clone, Debug)]
pub struct Step {
    after: Duration,
    reading: Reading,
    does: Does,
}

/// The service's treatment of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Reads the body, then answers.
    Whole,
    /// Drops the body at once, as a peer does that never accepts the request.
    Refused,
    /// Leaves the body open and unread, so that it cannot be written completely.
    Never,
}

#[derive(Clone, Debug)]
enum Does {
    Answer {
        status: u16,
        headers: Vec<(String, Bytes)>,
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
    /// Nothing for this time.
    Pause(Duration),
    /// The connection breaks.
    Break(ErrorCode),
    /// Repeats bytes, each time after a pause.
    Repeat {
        /// The bytes.
        bytes: Bytes,
        /// The number of times; `None` is without end.
        times: Option<u64>,
        /// The pause before each time.
        pause: Duration,
    },
    /// The `external_id` of the request, so that one script can answer each item of a batch
    /// individually.
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

    /// Returns an answer with an empty body.
    pub fn status(status: u16) -> Self {
        Self::does(Does::Answer {
            status,
            headers: Vec::new(),
            pieces: Vec::new(),
        })
    }

    /// Returns a 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).body(body)
    }

    /// Returns an error of wasi:http instead of an answer.
    pub fn fail(code: ErrorCode) -> Self {
        Self::does(Does::Fail(code))
    }

    /// Returns a step without any answer or error.
    pub fn silence() -> Self {
        Self::does(Does::Silence)
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.pieces([Piece::Bytes(body.into().into())])
    }

    /// Sets the pieces of the body.
    pub fn pieces(mut self, new: impl Into<Vec<Piece>>) -> Self {
        if let Does::Answer { pieces, .. } = &mut self.does {
            *pieces = new.into();
        }
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> Self {
        if let Does::Answer { headers, .. } = &mut self.does {
            headers.push((name.into(), Bytes::copy_from_slice(value.as_ref())));
        }
        self
    }

    /// Delays the head, or the failure.
    pub fn after_ms(mut self, after_ms: u64) -> Self {
        self.after = Duration::from_millis(after_ms);
        self
    }

    /// Leaves the request's body unread, but open, so that it cannot be written completely.
    pub fn without_reading(mut self) -> Self {
        self.reading = Reading::Never;
        self
    }

    /// Drops the request's body unread: the request is not accepted.
    pub fn before_reading(mut self) -> Self {
        self.reading = Reading::Refused;
        self
    }

    /// Returns the first value of a header of the answer.
    pub fn header_value(&self, name: &str) -> Option<&[u8]> {
        match &self.does {
            Does::Answer { headers, .. } => headers
                .iter()
                .find(|(header, _)| header == name)
                .map(|(_, value)| value.as_ref()),
            Does::Fail(_) | Does::Silence => None,
        }
    }

    /// Returns the complete body of the answer to a request with this `external_id`, if it has an
    /// end.
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
                Piece::Break(_) => return is_whole_json(&whole).then_some(whole),
                Piece::Repeat { bytes, times, .. } => {
                    (0..(*times)?).for_each(|_| whole.extend_from_slice(bytes));
                }
            }
        }
        Some(whole)
    }
}

/// Returns `true` if these bytes are a JSON object or array, which nothing can follow.
fn is_whole_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|json| json.is_object() || json.is_array())
}

/// Returns the host's error for a code. wasmtime-wasi-http 48.0.8 confuses the response's header
/// size with the request's.
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
    /// The time of arrival, in milliseconds since the service began.
    pub at_ms: u64,
    /// GET or POST.
    pub method: String,
    /// The full URI.
    pub uri: http::Uri,
    /// The names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The part of the body that was read.
    pub body: Vec<u8>,
    /// The timeouts that the guest requested.
    pub options: RequestOptions,
    /// The index of the request, in order of arrival.
    pub index: usize,
    /// The index of the step of the script that served it.
    pub step: usize,
    /// The part of the answer that the guest has received.
    pub received: Received,
    /// The beginning of the answer's body.
    pub body_beginning: Vec<u8>,
    /// The time of the service's last action on the request, or of the next if it is about to act;
    /// `None` if it stays silent. In milliseconds since the service began.
    pub acted_ms: Option<u64>,
    /// The time at which the exchange ended, in milliseconds since the service began; `None` while
    /// it is open.
    pub ended_ms: Option<u64>,
}

/// The answer, as far as the guest has received it.
#[derive(Clone, Debug)]
pub enum Received {
    /// Nothing: the guest has given up, or is waiting.
    Nothing,
    /// A failure instead of an answer.
    Failure(ErrorCode),
    /// An answer with this status, and this part of its body.
    Answer(u16, ReceivedBody),
}

/// The part of a body that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedBody {
    /// The beginning: the guest has given up, or is still reading.
    Begun,
    /// All of it, or a JSON object or array, which nothing can follow.
    Whole,
    /// The part before it broke off.
    Broken,
}

impl Sent {
    /// Returns the path and query.
    pub fn path_and_query(&self) -> &str {
        self.uri.path_and_query().map_or("", |path| path.as_str())
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", |it| it.as_str());
        format!("{scheme}://{authority}")
    }

    /// Returns the values of a header, separated by a bar.
    pub fn header(&self, name: &str) -> String {
        let values = self.headers.iter().filter(|(header, _)| header == name);
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        values.join("|")
    }

    /// Returns the `external_id` in the body, or an empty string if there is none.
    pub fn external_id(&self) -> String {
        let body: Option<serde_json::Value> = serde_json::from_slice(&self.body).ok();
        let id = body.as_ref().and_then(|body| body["external_id"].as_str());
        id.unwrap_or_default().to_owned()
    }
}

/// Returns the largest number of requests that were open at once. A request is open until its
/// answer has ended or the guest has dropped it; one that ends in the millisecond in which another
/// begins counts as ended before.
pub fn most_open(sent: &[Sent]) -> usize {
    let ends = sent.iter().filter_map(|sent| sent.ended_ms);
    let mut changes: Vec<(u64, isize)> = ends.map(|ended_ms| (ended_ms, -1)).collect();
    changes.extend(sent.iter().map(|sent| (sent.at_ms, 1)));
    // At the same moment, ends come first.
    changes.sort_unstable();
    let open = changes.into_iter().scan(0_isize, |open, (_, change)| {
        *open += change;
        Some(*open)
    });
    open.max().map_or(0, |most| most.unsigned_abs())
}

/// A service in memory. The last step of its script serves all further requests.
pub struct Script {
    outgoing: Outgoing,
    record: Record,
}

/// The record of what has happened so far.
#[derive(Clone)]
struct Record {
    clock: Clock,
    history: Arc<Mutex<History>>,
}

#[derive(Default)]
struct History {
    sent: Vec<Sent>,
    /// Bodies that must be neither read nor dropped.
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

/// A request that is open while this value lives.
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
            index,
            step: index,
            received: Received::Nothing,
            body_beginning: Vec::new(),
            acted_ms: None,
            ended_ms: None,
        });
        let record = record.clone();
        Self { record, index }
    }

    fn note(&self, note: impl FnOnce(&mut Sent)) {
        note(&mut self.record.history().sent[self.index]);
    }

    /// Lets time pass until the service's next action.
    async fn act_after(&self, pause: Duration) {
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let acts_ms = self.record.now_ms().saturating_add(pause_ms);
        self.note(|sent| sent.acted_ms = Some(acts_ms));
        sleep(pause).await;
    }

    /// Records the bytes of a body that are sent.
    fn give(&self, bytes: Bytes) -> Bytes {
        self.note(|sent| {
            let room = KEPT_BEGINNING_BYTES - sent.body_beginning.len();
            let kept = &bytes[..bytes.len().min(room)];
            sent.body_beginning.extend_from_slice(kept);
        });
        bytes
    }

    /// Returns what was received of a body that breaks off now.
    fn broken(&self) -> ReceivedBody {
        match is_whole_json(&self.record.history().sent[self.index].body_beginning) {
            true => ReceivedBody::Whole,
            false => ReceivedBody::Broken,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let now_ms = self.record.now_ms();
        self.record.history().sent[self.index].ended_ms = Some(now_ms);
    }
}

impl Script {
    /// Returns a service that follows these steps.
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
        Self {
            outgoing: Outgoing::over(network),
            record,
        }
    }

    /// Returns the network that leads to the service.
    pub fn outgoing(&self) -> Outgoing {
        self.outgoing.clone()
    }

    /// Returns the requests so far, in order of arrival.
    pub fn sent(&self) -> Vec<Sent> {
        self.record.history().sent.clone()
    }

    /// Returns the largest number of requests that were open at once.
    pub fn most_open(&self) -> usize {
        most_open(&self.sent())
    }

    /// Returns the milliseconds since the service began.
    pub fn now_ms(&self) -> u64 {
        self.record.now_ms()
    }
}

async fn answer(step: Step, open: Open) -> Result<http::Response<WasiBody>, Error> {
    match step.does {
        Does::Silence => std::future::pending().await,
        Does::Fail(code) => {
            open.act_after(step.after).await;
            open.note(|sent| sent.received = Received::Failure(code.clone()));
            Err(error(code))
        }
        Does::Answer {
            status,
            headers,
            pieces,
        } => {
            open.act_after(step.after).await;
            open.note(|sent| sent.received = Received::Answer(status, ReceivedBody::Begun));
            let mut response = http::Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value.as_ref());
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
            // A body that has ended is not polled again.
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
                        let body = open.broken();
                        received(&open, body);
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
