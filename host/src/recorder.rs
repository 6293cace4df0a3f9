//! Records every HTTP exchange of a guest, as the host saw it.

use crate::clock::Clock;
use crate::secrets::Secrets;
use http::{Method, Request, Response, Uri};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wasmtime_wasi_http::{Error, WasiBody};

/// The default limit on the size of a recorder, in bytes: that of all its exchanges together, some
/// twenty thousand.
pub const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// A request and its outcome.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The number of exchanges that began before it.
    pub id: u64,
    /// GET or POST.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query.
    pub path_and_query: String,
    /// The time from the beginning of recording to its beginning.
    pub started: Duration,
    /// The time from its beginning to the head of the response.
    pub duration: Duration,
    /// Its outcome.
    pub ending: Ending,
}

/// How an exchange ended, up to the head of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// A response with this HTTP status.
    Status(u16),
    /// No response, for this reason.
    Error(String),
    /// The client cancelled it before there was a response.
    Cancelled,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Status(status) => write!(formatter, "{status}"),
            Ending::Error(error) => formatter.write_str(error),
            Ending::Cancelled => formatter.write_str("cancelled"),
        }
    }
}

impl Exchange {
    /// Returns its approximate size in memory, in bytes.
    fn size(&self) -> usize {
        size_of::<Self>() + self.method.len() + self.origin.len() + self.path_and_query.len()
    }

    /// Returns the exchange without the tokens.
    fn masked(&self, secrets: &Secrets) -> Self {
        Self {
            method: secrets.mask(&self.method),
            origin: secrets.mask(&self.origin),
            path_and_query: secrets.mask(&self.path_and_query),
            ending: match &self.ending {
                Ending::Error(error) => Ending::Error(secrets.mask(error)),
                ending => ending.clone(),
            },
            ..*self
        }
    }
}

/// The latest exchanges, in the order in which they began. Their ids are consecutive.
struct Log {
    exchanges: VecDeque<Exchange>,
    /// The number of exchanges before these, which is the id of the first of these.
    evicted: u64,
    bytes: usize,
    limit_bytes: usize,
}

impl Log {
    fn push(&mut self, exchange: Exchange) {
        self.bytes += exchange.size();
        self.exchanges.push_back(exchange);
        while self.bytes > self.limit_bytes {
            let Some(evicted) = self.exchanges.pop_front() else {
                return;
            };
            self.bytes -= evicted.size();
            self.evicted += 1;
        }
    }

    /// Returns an exchange if it is still kept.
    fn get_mut(&mut self, id: u64) -> Option<&mut Exchange> {
        let index = usize::try_from(id.checked_sub(self.evicted)?).ok()?;
        self.exchanges.get_mut(index)
    }
}

/// Records exchanges, their tokens masked: it logs the end of each (at the level DEBUG, with
/// method, host and outcome), and keeps the latest ones, up to [`KEPT_BYTES`] together. Clones
/// share the exchanges.
#[derive(Clone)]
pub struct Recorder {
    clock: Clock,
    secrets: Secrets,
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
            kept: Arc::new(Mutex::new(Log {
                exchanges: VecDeque::new(),
                evicted: 0,
                bytes: 0,
                limit_bytes,
            })),
        }
    }

    /// Returns the tokens that are masked: those in the environments of guests that record here,
    /// and those that were added. Sending a token does not add it.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns the kept exchanges in the order in which they began.
    pub fn exchanges(&self) -> Vec<Exchange> {
        // Masking takes a while, and requests wait for the lock.
        let kept: Vec<_> = self.lock().exchanges.iter().cloned().collect();
        let masked = |exchange: &Exchange| exchange.masked(&self.secrets);
        kept.iter().map(masked).collect()
    }

    /// Records the beginning of an exchange, which counts as cancelled until it ends.
    pub(crate) fn begin(&self, request: &Request<WasiBody>) -> Recording {
        let (method, uri) = (request.method(), request.uri());
        Recording {
            recorder: self.clone(),
            id: self.keep(method, uri),
            method: method.clone(),
            uri: uri.clone(),
            ending: Ending::Cancelled,
        }
    }

    /// Returns the id of a new exchange; `None` if none are kept.
    fn keep(&self, method: &Method, uri: &Uri) -> Option<u64> {
        let mut kept = self.lock();
        if kept.limit_bytes == 0 {
            return None;
        }
        let id = kept.evicted + kept.exchanges.len() as u64;
        let path = uri.path_and_query();
        kept.push(Exchange {
            id,
            method: method.to_string(),
            origin: origin(uri),
            path_and_query: path.map_or("/", |path| path.as_str()).to_owned(),
            started: self.clock.elapsed(),
            duration: Duration::ZERO,
            ending: Ending::Cancelled,
        });
        Some(id)
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // A panic elsewhere leaves the list of finished records intact.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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

/// An exchange that has begun. It ends when this is dropped, and the log says how.
pub(crate) struct Recording {
    recorder: Recorder,
    id: Option<u64>,
    method: Method,
    uri: Uri,
    ending: Ending,
}

impl Recording {
    /// Records the response, or the error.
    pub(crate) fn end(mut self, sent: &Result<Response<WasiBody>, Error>) {
        self.ending = match sent {
            Ok(response) => Ending::Status(response.status().as_u16()),
            Err(error) => Ending::Error(error.to_string()),
        };
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let secrets = &self.recorder.secrets;
            let method = secrets.mask(self.method.as_str());
            let origin = secrets.mask(&origin(&self.uri));
            let ending = secrets.mask(&self.ending.to_string());
            tracing::debug!(method, origin, ending, "exchange");
        }
        let Some(id) = self.id else { return };
        let now = self.recorder.clock.elapsed();
        if let Some(exchange) = self.recorder.lock().get_mut(id) {
            exchange.duration = now - exchange.started;
            exchange.ending = self.ending.clone();
        }
    }
}
