//! A request and its outcome, as data.

use crate::masking::{self, Part};
use crate::secrets::Secrets;
use http::Version;
use std::fmt;
use std::time::{Duration, SystemTime};

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

/// A request and its outcome.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The number of exchanges that began before it.
    pub id: u64,
    /// GET or POST.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query, unchanged.
    pub path_and_query: String,
    /// The HTTP version of the request.
    pub version: Version,
    /// Header names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The date when it began.
    pub date: SystemTime,
    /// The time from the beginning of recording to its beginning.
    pub started: Duration,
    /// The time from its beginning to the head of the response.
    pub duration: Duration,
    /// Its outcome.
    pub ending: Ending,
    /// The HTTP version of the response.
    pub response_version: Version,
    /// The names and values of the response's headers, in order.
    pub response_headers: Vec<(String, String)>,
    /// The body of the request, if bodies are kept.
    pub body: Option<Body>,
    /// The body of the response, if bodies are kept.
    pub response_body: Option<Body>,
}

impl Exchange {
    /// Returns its approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        let header = |(name, value): &(String, String)| name.len() + value.len();
        let headers = self.headers.iter().chain(&self.response_headers);
        let bodies = self.body.iter().chain(&self.response_body);
        size_of::<Self>()
            + self.path_and_query.len()
            + headers.map(header).sum::<usize>()
            + bodies.map(|body| body.bytes.len()).sum::<usize>()
    }

    /// Returns the exchange without the tokens.
    pub fn masked(&self, secrets: &Secrets) -> Self {
        // A compressed body is not shown, since a token could not be found in it.
        let is_encoded = |(name, value): &(String, String)| {
            name == "content-encoding" && !value.eq_ignore_ascii_case("identity")
        };
        let body = |body: &Body, headers: &[(String, String)]| match headers.iter().any(is_encoded)
        {
            true => Body {
                is_cut: body.is_cut || !body.bytes.is_empty(),
                ..body.with_bytes(Vec::new())
            },
            false => body.with_bytes(secrets.mask_bytes(&body.bytes)),
        };
        self.map(|_, text| secrets.mask(text), body)
    }

    /// Returns the exchange without the people, by the rules of [`masking`].
    pub fn without_people(&self) -> Self {
        let body = |body: &Body, _: &[_]| {
            body.with_bytes(match body.is_cut {
                // The beginning alone is not JSON.
                true => format!("[masked: {} bytes]", body.size).into_bytes(),
                false => masking::body(&body.bytes).into_bytes(),
            })
        };
        self.map(masking::text, body)
    }

    /// Returns the exchange with other texts and bodies. A body is mapped together with its
    /// headers.
    fn map(
        &self,
        text: impl Fn(Part<'_>, &str) -> String,
        body: impl Fn(&Body, &[(String, String)]) -> Body,
    ) -> Self {
        let header = |(name, value): &(String, String)| {
            (
                text(Part::HeaderName, name),
                text(Part::Header(name), value),
            )
        };
        let headers = |headers: &[_]| headers.iter().map(header).collect();
        let body = |found: &Option<Body>, headers: &[_]| {
            let mut found = body(found.as_ref()?, headers);
            if let BodyEnd::Failed(error) = &mut found.end {
                *error = text(Part::Error, error);
            }
            Some(found)
        };
        Self {
            method: text(Part::Method, &self.method),
            origin: text(Part::Origin, &self.origin),
            path_and_query: text(Part::PathAndQuery, &self.path_and_query),
            headers: headers(&self.headers),
            response_headers: headers(&self.response_headers),
            ending: match &self.ending {
                Ending::Error(error) => Ending::Error(text(Part::Error, error)),
                ending => ending.clone(),
            },
            body: body(&self.body, &self.headers),
            response_body: body(&self.response_body, &self.response_headers),
            ..*self
        }
    }
}

/// A body, as far as it passed.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// The part that was kept, from the beginning.
    pub bytes: Vec<u8>,
    /// The number of bytes that passed.
    pub size: u64,
    /// Whether more passed than was kept.
    pub is_cut: bool,
    /// How it ended.
    pub end: BodyEnd,
    /// The time from the beginning of the exchange to the latest event of the body.
    pub until: Duration,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it passed.
    Complete,
    /// It ended early, for this reason.
    Failed(String),
    /// The rest was not read, or is still on its way.
    Unfinished,
}

impl Body {
    /// Returns `true` if it continues after the kept part.
    pub fn end_is_missing(&self) -> bool {
        self.is_cut || self.end != BodyEnd::Complete
    }

    fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        let end = self.end.clone();
        Self {
            bytes,
            end,
            ..*self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_in_no_part_of_a_masked_exchange() {
        const CANARY: &str = "canary-5f1e0c77a1b2";
        let secrets = Secrets::default();
        secrets.add(CANARY);
        let echo = |name: &str| (name.to_owned(), format!("it is {CANARY}"));
        let body = |bytes: &[u8]| Body {
            bytes: bytes.to_vec(),
            size: 1,
            is_cut: false,
            end: BodyEnd::Failed(format!("sent {CANARY}")),
            until: Duration::ZERO,
        };
        let gzip = [b"\x1f\x8b\x08\xff", CANARY.as_bytes()].concat();
        for (encoding, bytes) in [
            ("gzip", ""),
            ("identity", "\u{1f}\u{fffd}\u{8}\u{fffd}[api token]"),
        ] {
            let exchange = Exchange {
                id: 0,
                method: CANARY.to_owned(),
                origin: format!("http://{CANARY}.example"),
                path_and_query: format!("/{}?{CANARY}", CANARY.replace('c', "%63")),
                version: Version::HTTP_11,
                headers: vec![echo(CANARY)],
                date: SystemTime::UNIX_EPOCH,
                started: Duration::ZERO,
                duration: Duration::ZERO,
                ending: Ending::Error(format!("sent {CANARY}")),
                response_version: Version::HTTP_11,
                response_headers: vec![("content-encoding".to_owned(), encoding.to_owned())],
                body: Some(body(CANARY.as_bytes())),
                response_body: Some(body(&gzip)),
            };
            let masked = exchange.masked(&secrets);
            let shown = format!("{masked:?}");
            assert!(
                !shown.contains("canary") && !shown.contains("%63"),
                "{shown}"
            );
            let answered = masked.response_body.unwrap();
            assert_eq!(String::from_utf8(answered.bytes).unwrap(), bytes);
            assert_eq!(answered.is_cut, bytes.is_empty());
        }
    }
}
