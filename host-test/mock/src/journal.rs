//! What changed and when, for a page that shows it: a number for each change, and the requests
//! with their answers.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

use super::answer::Answer;
use super::entry::Entry;
use super::fault::{DeliveryFault, PendingFault};
use super::received::ReceivedRequest;
use super::repeats::Repeats;
use super::state::Target;
use super::timeline::milliseconds;

/// How many requests are kept with their answers, the newest.
const KEPT_REQUESTS: usize = 2_000;

/// How much of each body is kept.
const KEPT_BODY_BYTES: usize = 64 * 1024;

/// How many entries and requests there are in [`Changes`] at most.
const MOST_CHANGES: usize = 1_000;

/// What changed since a sequence number.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// A name for this run of the mock: sequence numbers of other runs mean nothing.
    pub run: String,
    /// Where to go on from.
    pub sequence: u64,
    /// Whether attempts ring until they are ended by hand.
    pub manual: bool,
    /// How much there is of everything.
    pub counts: Counts,
    /// The dockets and direct calls that changed, in the order of their last changes.
    pub entries: Vec<Entry>,
    /// The requests that changed, in the order of their last changes.
    pub requests: Vec<RequestLine>,
    /// All faults that are ordered, in the order of their orders.
    pub orders: Vec<PendingFault>,
    /// All faults of deliveries that are ordered, in order.
    pub delivery_orders: Vec<DeliveryFault>,
    /// Whether there is more than this: 1,000 entries and requests come at once.
    #[serde(skip)]
    pub is_cut: bool,
}

/// How much there is of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Dockets and direct calls that are known.
    pub dockets: usize,
    /// Those that were forgotten.
    pub forgotten: usize,
    /// Requests that are kept.
    pub requests: usize,
    /// Those that were forgotten.
    pub forgotten_requests: u64,
}

/// A request in a list.
#[derive(Clone, Debug, Serialize)]
pub struct RequestLine {
    /// Its number, from 1.
    pub n: u64,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// Path and query as they came.
    pub path: String,
    /// The endpoint's name; none for an unknown path or a wrong method.
    pub endpoint: Option<String>,
    /// The answer's status; none as long as none was sent.
    pub status: Option<u16>,
    /// From the request to the answer.
    pub duration_ms: Option<u64>,
    /// The fault that the mock played.
    pub fault: Option<String>,
    /// The docket or direct call that it created or read.
    pub entry: Option<String>,
    /// Whether it asked for what an earlier request had started within a minute.
    pub repeats: bool,
}

/// A request with its answer, headers and bodies. It has the token in a header: its `Debug` shows
/// the names of headers alone.
#[derive(Clone)]
pub struct RequestDetails {
    /// What a list shows.
    pub line: RequestLine,
    /// When it came.
    pub at: SystemTime,
    /// When it came, since the mock started.
    pub since_start: Duration,
    /// Names in lower case and values, in order. Bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// What was sent.
    pub body: KeptBody,
    /// The answer's headers; none as long as no answer was sent.
    pub answer_headers: Option<Vec<(String, String)>>,
    /// The answer's body.
    pub answer_body: KeptBody,
}

/// A body.
#[derive(Clone, Debug, Default)]
pub struct KeptBody {
    /// Its first 64 KiB.
    pub bytes: Vec<u8>,
    /// How many bytes it had.
    pub size: usize,
}

impl KeptBody {
    fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes[..bytes.len().min(KEPT_BODY_BYTES)].to_vec(),
            size: bytes.len(),
        }
    }
}

impl fmt::Debug for RequestDetails {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("RequestDetails")
            .field("line", &self.line)
            .field("headers", &names)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl RequestDetails {
    /// A request that came, and the answer that it is to get.
    pub(super) fn new(
        line: RequestLine,
        received: &ReceivedRequest,
        at: SystemTime,
        answer: &Answer,
    ) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = received.headers.iter();
        let answer_headers = answer.headers.iter();
        Self {
            line,
            at,
            since_start: received.at,
            headers: headers
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            body: KeptBody::of(&received.body),
            answer_headers: Some(
                answer_headers
                    .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
                    .collect(),
            ),
            answer_body: KeptBody::of(&answer.body),
        }
    }

    /// Without an answer that was not sent.
    fn as_sent(&self) -> Self {
        let mut details = self.clone();
        if details.line.status.is_none() {
            details.answer_headers = None;
            details.answer_body = KeptBody::default();
        }
        details
    }
}

/// What has a sequence number.
#[derive(Clone, Debug)]
pub(super) enum Changed {
    Entry(Target),
    Request(u64),
}

#[derive(Debug)]
struct Kept {
    sequence: u64,
    status: u16,
    details: RequestDetails,
}

/// All changes, of which each entry and each request has the last.
#[derive(Debug)]
pub(super) struct Journal {
    run: Uuid,
    sequence: watch::Sender<u64>,
    changed: BTreeMap<u64, Changed>,
    requests: VecDeque<Kept>,
    /// The number of the last request.
    last_request: u64,
    pub(super) repeats: Repeats,
}

impl Journal {
    pub(super) fn new() -> Self {
        Self {
            run: Uuid::new_v4(),
            sequence: watch::Sender::new(0),
            changed: BTreeMap::new(),
            requests: VecDeque::new(),
            last_request: 0,
            repeats: Repeats::default(),
        }
    }

    pub(super) fn run(&self) -> String {
        self.run.to_string()
    }

    pub(super) fn sequence(&self) -> watch::Receiver<u64> {
        self.sequence.subscribe()
    }

    /// Something changed that has no number of its own.
    pub(super) fn change(&self) -> u64 {
        self.sequence.send_modify(|sequence| *sequence += 1);
        *self.sequence.borrow()
    }

    /// An entry or a request changed, which it did last at `before`.
    pub(super) fn change_of(&mut self, what: Changed, before: u64) -> u64 {
        let sequence = self.change();
        self.changed.remove(&before);
        self.changed.insert(sequence, what);
        sequence
    }

    /// What changed last at `sequence` is no longer known.
    pub(super) fn forget(&mut self, sequence: u64) {
        self.changed.remove(&sequence);
        self.change();
    }

    /// What changed since, where to go on from, and whether there is more.
    pub(super) fn since(&self, since: u64) -> (Vec<Changed>, u64, bool) {
        let newest = *self.sequence.borrow();
        // A number that was never given: of another run.
        let since = if since > newest { 0 } else { since };
        let mut later = self.changed.range(since + 1..);
        let listed: Vec<_> = later.by_ref().take(MOST_CHANGES).collect();
        let is_cut = later.next().is_some();
        let last = listed.last().map_or(newest, |(sequence, _)| **sequence);
        let changed = listed.into_iter().map(|(_, what)| what.clone()).collect();
        (changed, if is_cut { last } else { newest }, is_cut)
    }

    /// The number of a request that came, and of the change that it is: what it starts changes
    /// later.
    pub(super) fn arrive(&mut self) -> (u64, u64) {
        self.last_request += 1;
        (self.last_request, self.change())
    }

    /// Keeps a request, which is answered with `status` at once or has its answer held back.
    pub(super) fn push(&mut self, details: RequestDetails, status: u16, sequence: u64) {
        let changed = Changed::Request(details.line.n);
        self.changed.insert(sequence, changed);
        self.requests.push_back(Kept {
            sequence,
            status,
            details,
        });
        if self.requests.len() > KEPT_REQUESTS
            && let Some(oldest) = self.requests.pop_front()
        {
            self.changed.remove(&oldest.sequence);
        }
    }

    /// The answer to request `n`, which was held back, was sent.
    pub(super) fn sent(&mut self, n: u64, duration: Duration) {
        let Some(index) = self.index(n) else {
            return;
        };
        let sequence = self.change_of(Changed::Request(n), self.requests[index].sequence);
        let kept = &mut self.requests[index];
        kept.sequence = sequence;
        kept.details.line.status = Some(kept.status);
        kept.details.line.duration_ms = Some(whole_milliseconds(duration));
    }

    pub(super) fn request(&self, n: u64) -> Option<RequestDetails> {
        Some(self.requests[self.index(n)?].details.as_sent())
    }

    pub(super) fn line(&self, n: u64) -> Option<RequestLine> {
        Some(self.requests[self.index(n)?].details.line.clone())
    }

    pub(super) fn requests(&self) -> Vec<RequestDetails> {
        let requests = self.requests.iter();
        requests.map(|kept| kept.details.as_sent()).collect()
    }

    pub(super) fn kept_requests(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn forgotten_requests(&self) -> u64 {
        self.last_request - self.requests.len() as u64
    }

    /// The numbers of those that are kept are consecutive.
    fn index(&self, n: u64) -> Option<usize> {
        let index = usize::try_from(n.checked_sub(self.forgotten_requests() + 1)?).ok()?;
        (index < self.requests.len()).then_some(index)
    }
}

impl RequestLine {
    /// A request that came and was not answered yet.
    pub(super) fn new(n: u64, received: &ReceivedRequest, at: SystemTime) -> Self {
        Self {
            n,
            at_ms: milliseconds(at),
            method: received.method.to_string(),
            path: received.path_and_query.clone(),
            endpoint: received.endpoint.map(|endpoint| endpoint.to_string()),
            status: None,
            duration_ms: None,
            fault: None,
            entry: None,
            repeats: false,
        }
    }
}

pub(super) fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
