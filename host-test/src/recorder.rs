//! Every HTTP exchange of a guest, as the host saw it.

use crate::clock::Clock;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Status(status) => write!(formatter, "{status}"),
            Ending::Error(error) => formatter.write_str(error),
            Ending::Abandoned => formatter.write_str("abandoned"),
        }
    }
}

/// A request and what came of it. Bodies are not kept, since they hold phone
/// numbers and context; the token is masked.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// GET or POST.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query as they were sent.
    pub path_and_query: String,
    /// Header names and values in order, the token's value masked.
    pub headers: Vec<(String, String)>,
    /// When it began, since the recorder was made.
    pub started: Duration,
    /// From the beginning to the head of the answer.
    pub duration: Duration,
    /// What came of it.
    pub ending: Ending,
}

/// Keeps exchanges in the order in which they began. Clones share what they keep.
#[derive(Debug, Clone)]
pub struct Recorder {
    clock: Clock,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            clock: Clock::start(),
            exchanges: Arc::default(),
        }
    }
}

impl Recorder {
    /// What was recorded so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.lock().clone()
    }

    /// Notes the beginning of an exchange, which counts as abandoned until it is
    /// ended.
    pub(crate) fn begin<B>(&self, request: &http::Request<B>) -> Recording {
        let uri = request.uri();
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            let value = match name.as_str() {
                "auth_token" if value.as_bytes().starts_with(b"Bearer ") => {
                    "Bearer [masked]".into()
                }
                "auth_token" => "[masked]".into(),
                _ => String::from_utf8_lossy(value.as_bytes()),
            };
            (name.to_string(), value.into_owned())
        };
        let started = self.clock.elapsed();
        let mut exchanges = self.lock();
        exchanges.push(Exchange {
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
            headers: request.headers().iter().map(header).collect(),
            started,
            duration: Duration::ZERO,
            ending: Ending::Abandoned,
        });
        Recording {
            recorder: self.clone(),
            index: exchanges.len() - 1,
            ending: None,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Exchange>> {
        // A list of finished records is whole, whoever panicked meanwhile.
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An exchange that has begun. Dropped, it has ended.
pub(crate) struct Recording {
    recorder: Recorder,
    index: usize,
    ending: Option<Ending>,
}

impl Recording {
    pub(crate) fn end(mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let now = self.recorder.clock.elapsed();
        let exchange = &mut self.recorder.lock()[self.index];
        exchange.duration = now - exchange.started;
        if let Some(ending) = self.ending.take() {
            exchange.ending = ending;
        }
    }
}
