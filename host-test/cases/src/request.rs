//! A request as received by the judge.

use anyhow::{Context, Result, bail};
use httparse::{EMPTY_HEADER, Status};

/// A number that exceeds the headers of any client.
const MAX_HEADERS: usize = 100;

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The path and query, percent-encoding untouched.
    pub path: String,
    /// The names in lower case and the values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// Parses a complete request.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let Status::Complete(head_bytes) = head.parse(bytes).context("a request's head")? else {
            bail!("half a request's head");
        };
        let header = |header: &httparse::Header<'_>| {
            let value = String::from_utf8_lossy(header.value).into_owned();
            (header.name.to_ascii_lowercase(), value)
        };
        let mut request = Self {
            method: head.method.unwrap_or_default().to_owned(),
            path: head.path.unwrap_or_default().to_owned(),
            headers: head.headers.iter().map(header).collect(),
            body: bytes[head_bytes..].to_vec(),
        };
        if request.header("transfer-encoding").is_some() {
            request.body = without_chunks(&request.body)?;
        }
        Ok(request)
    }

    /// Returns the values of a header (lower case), joined.
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter(|(header, _)| header == name);
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

fn without_chunks(mut chunks: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = httparse::parse_chunk_size(chunks);
        let Ok(Status::Complete((start, bytes))) = size else {
            bail!("a body in chunks that cannot be read");
        };
        if bytes == 0 {
            return Ok(body);
        }
        let end = start + usize::try_from(bytes)?;
        body.extend(chunks.get(start..end).context("a truncated chunk")?);
        chunks = chunks.get(end + 2..).context("a chunk without its end")?;
    }
}
