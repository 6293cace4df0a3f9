//! A request as it was received.

use httparse::{EMPTY_HEADER, Status};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A number that exceeds the headers of any client.
const MAX_HEADERS: usize = 100;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The index of its connection, from 0.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The path and query, percent-encoding untouched.
    pub path: String,
    /// The names in lower case and the values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// All bytes, as they were received.
    pub bytes: Vec<u8>,
}

/// Reads one request.
///
/// # Errors
/// Fails with `InvalidData` if it is not HTTP/1, and with `UnexpectedEof` if the client closes the
/// connection before its end.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Request> {
    let mut bytes = Vec::new();
    loop {
        let parsed = parse(&bytes);
        let parsed = parsed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        if let Some(request) = parsed {
            return Ok(Request { bytes, ..request });
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

impl Request {
    /// Returns the values of a header (lower case), joined.
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter(|(header, _)| header == name);
        let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Parses a request, `None` if it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<Request>, httparse::Error> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let Status::Complete(head_bytes) = head.parse(bytes)? else {
        return Ok(None);
    };
    let header = |header: &httparse::Header<'_>| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    };
    let mut request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: head.path.unwrap_or_default().to_owned(),
        headers: head.headers.iter().map(header).collect(),
        ..Request::default()
    };
    let rest = &bytes[head_bytes..];
    let length = request.header("content-length").unwrap_or_default();
    let body = match request.header("transfer-encoding") {
        Some(_) => without_chunks(rest)?,
        None => rest.get(..length.parse().unwrap_or(0)).map(<[u8]>::to_vec),
    };
    Ok(body.map(|body| {
        request.body = body;
        request
    }))
}

/// Returns a body in chunks, `None` if it is not complete.
fn without_chunks(mut chunks: &[u8]) -> Result<Option<Vec<u8>>, httparse::Error> {
    let mut body = Vec::new();
    loop {
        let size = httparse::parse_chunk_size(chunks).map_err(|_| httparse::Error::Token)?;
        let Status::Complete((start, size)) = size else {
            return Ok(None);
        };
        let end = start + usize::try_from(size).unwrap_or(usize::MAX - start);
        let Some(chunk) = chunks.get(start..end) else {
            return Ok(None);
        };
        // Each chunk, and the whole body, ends with an empty line.
        let Some(rest) = chunks.get(end + 2..) else {
            return Ok(None);
        };
        if size == 0 {
            return Ok(Some(body));
        }
        body.extend(chunk);
        chunks = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_request_ends_with_its_length_or_its_last_chunk() {
        for (sent, body) in [
            ("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", Some("")),
            ("GET /a HTTP/1.1\r\nHost: x\r\n", None),
            (
                "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
                Some("ab"),
            ),
            ("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", None),
            (
                "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
                Some("abc"),
            ),
            (
                "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
                None,
            ),
        ] {
            // Byte by byte, as a slow client sends it.
            let (mut client, mut peer) = duplex(1);
            let sends = async move { client.write_all(sent.as_bytes()).await };
            let (read, _) = tokio::join!(read_request(&mut peer), sends);
            let found = read.ok().map(|request| {
                assert_eq!((&*request.path, request.bytes), ("/a", sent.into()));
                String::from_utf8(request.body).unwrap()
            });
            assert_eq!(found.as_deref(), body, "{sent}");
        }
    }
}
