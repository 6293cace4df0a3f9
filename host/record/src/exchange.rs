//! A request and what came of it, as data.

use crate::secrets::Secrets;
use http::Version;
use std::fmt;
use std::time::{Duration, SystemTime};

/// How an exchange ended, as far as its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// An answer with this HTTP status.
    Status(u16),
    /// No answer, and why.
    Error(String),
    /// The client gave it up before there was an answer.
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

/// A request and what came of it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Its number: how many exchanges began before it.
    pub id: u64,
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
    /// When it began, since recording did.
    pub started: Duration,
    /// From the beginning to the head of the answer.
    pub duration: Duration,
    /// What came of it.
    pub ending: Ending,
    /// The version of HTTP that was answered with.
    pub answer_version: Version,
    /// Names and values of the answer's headers in order.
    pub answer_headers: Vec<(String, String)>,
    /// What was sent, where bodies are kept.
    pub body: Option<Body>,
    /// What was answered, likewise.
    pub answer_body: Option<Body>,
}

impl Exchange {
    /// How much memory it takes, nearly. Unit: bytes.
    pub fn size(&self) -> usize {
        let header = |(name, value): &(String, String)| name.len() + value.len();
        let headers = self.headers.iter().chain(&self.answer_headers);
        let bodies = self.body.iter().chain(&self.answer_body);
        size_of::<Self>()
            + self.path_and_query.len()
            + headers.map(header).sum::<usize>()
            + bodies.map(|body| body.bytes.len()).sum::<usize>()
    }

    /// The same without the tokens.
    pub fn masked(&self, secrets: &Secrets) -> Self {
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
    /// What was kept of it, from its beginning.
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
    /// It ended early, and why.
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
