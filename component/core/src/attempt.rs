//! One attempt: a request is sent and its response read, all within the attempt's time.

use crate::json::Value;
use crate::retry_after::parse_retry_after;
use crate::transport::{Delivery, Limits, Request, Response, SendError, Transport};
use futures_util::future::{Either, select};
use std::borrow::Cow;
use std::pin::pin;

/// The maximum number of bytes read from the body of an error.
const ERROR_BODY_BYTES: usize = 65_536;

/// The size up to which a text may always grow when bytes that are not UTF-8 are replaced.
const SMALL_BYTES: usize = 1_024;

/// The maximum length of a header that an error shows. A longer one is cut.
const HEADER_BYTES: usize = 256;

/// The headers that services use for a request's id, the usual one first.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "x-correlation-id"];

/// A response of the service, as far as it arrived and was read.
#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The target of a redirect.
    pub(crate) location: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    /// The part of the body that was read.
    pub(crate) body: Vec<u8>,
    pub(crate) body_end: BodyEnd,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// All of it was read.
    Complete,
    /// It ended early, or not in time: the message says which.
    Failed(String),
    /// It is larger than this, and the rest is not read.
    TooLarge(usize),
}

/// Sends a request once.
pub(crate) async fn attempt<T: Transport>(
    transport: &T,
    request: &Request,
    limits: Limits,
) -> Result<ReceivedResponse, SendError> {
    request.departure.depart();
    let mut time_is_up = pin!(transport.sleep(limits.attempt_ms));
    let head = pin!(transport.send(request, limits));
    let mut response = match select(head, &mut time_is_up).await {
        Either::Left((head, _)) => head?,
        Either::Right(_) => {
            let (delivery, missing) = match request.departure.withdraw() {
                true => (Delivery::NotSent, "connection"),
                false => (Delivery::Unknown, "answer"),
            };
            let message = format!("no {missing} within {} ms", limits.attempt_ms);
            return Err(SendError { delivery, message });
        }
    };

    let status = response.status();
    let max_body_bytes = match status {
        200..=299 => limits.response_bytes,
        _ => limits.response_bytes.min(ERROR_BODY_BYTES),
    };
    let mut body = Vec::new();
    let body_end = {
        let read = pin!(read_body(&mut response, &mut body, max_body_bytes));
        match select(read, &mut time_is_up).await {
            Either::Left((body_end, _)) => body_end,
            Either::Right(_) => BodyEnd::Failed(format!(
                "the body was not complete within {} ms",
                limits.attempt_ms
            )),
        }
    };
    let body_end = match body_end {
        // Nothing but space can follow, so nothing is lost, a docket's id least of all: whether the
        // connection broke, time ran out, or the caller cancelled the operation.
        BodyEnd::Failed(_) if is_whole_json(&body, max_body_bytes) => BodyEnd::Complete,
        body_end => body_end,
    };
    Ok(ReceivedResponse {
        status,
        request_id: REQUEST_ID_HEADERS
            .iter()
            .find_map(|name| shown_header(&response, name)),
        retry_after_ms: text_header(&response, "retry-after").and_then(|value| {
            let date = text_header(&response, "date");
            parse_retry_after(value, date, transport.unix_time_s())
        }),
        location: shown_header(&response, "location"),
        content_type: shown_header(&response, "content-type"),
        content_encoding: shown_header(&response, "content-encoding"),
        body,
        body_end,
    })
}

async fn read_body(response: &mut impl Response, body: &mut Vec<u8>, max_bytes: usize) -> BodyEnd {
    loop {
        match response.chunk().await {
            Ok(None) => return BodyEnd::Complete,
            Ok(Some(chunk)) => {
                let room = max_bytes - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return BodyEnd::TooLarge(max_bytes);
                }
            }
            Err(message) => return BodyEnd::Failed(message),
        }
    }
}

/// Returns the first header with this name.
fn header<'a>(response: &'a impl Response, name: &str) -> Option<&'a [u8]> {
    let mut headers = response.headers();
    let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value)
}

fn shown_header(response: &impl Response, name: &str) -> Option<String> {
    let value = header(response, name)?;
    let shown = String::from_utf8_lossy(&value[..value.len().min(HEADER_BYTES)]);
    Some(shown.into_owned())
}

fn text_header<'a>(response: &'a impl Response, name: &str) -> Option<&'a str> {
    std::str::from_utf8(header(response, name)?).ok()
}

/// Returns `true` if the body is a JSON object or array, which has an end of its own.
fn is_whole_json(body: &[u8], max_bytes: usize) -> bool {
    let text = to_text(body, max_bytes).unwrap_or_default();
    text.trim_end().ends_with(['}', ']']) && Value::parse(&text).is_ok()
}

/// Returns a body as text. Bytes that are not UTF-8 are replaced, so that they do not cost the rest,
/// which may contain a task id. The text may grow by that, but not without limit.
fn to_text(body: &[u8], max_bytes: usize) -> Result<Cow<'_, str>, String> {
    let replaced = |chunk: std::str::Utf8Chunk<'_>| {
        let mark = if chunk.invalid().is_empty() { 0 } else { 3 };
        chunk.valid().len() + mark
    };
    if let Ok(text) = std::str::from_utf8(body) {
        return Ok(text.into());
    }
    match body.utf8_chunks().map(replaced).sum::<usize>() {
        bytes if bytes > max_bytes.max(SMALL_BYTES) => {
            Err("too many bytes that are not UTF-8".to_owned())
        }
        _ => Ok(String::from_utf8_lossy(body)),
    }
}

impl ReceivedResponse {
    /// Returns a body that came compressed although none was asked for. As text it would lose the
    /// id that it may contain.
    pub(crate) fn compressed(&self) -> Option<&[u8]> {
        let is_text = self.content_encoding.is_none() || std::str::from_utf8(&self.body).is_ok();
        (!is_text).then_some(&*self.body)
    }

    /// Returns the content type and encoding of the body as a message shows them.
    pub(crate) fn media(&self) -> Option<String> {
        let content_type = self
            .content_type
            .iter()
            .map(|it| format!("content-type {it}"));
        let encoding = self.content_encoding.iter();
        let encoding = encoding.map(|it| format!("content-encoding {it}"));
        let media: Vec<_> = content_type.chain(encoding).collect();
        (!media.is_empty()).then(|| media.join(", "))
    }

    /// Returns the body as text, in which marks replace the bytes that are not UTF-8.
    pub(crate) fn text(&self, max_bytes: usize) -> Result<Cow<'_, str>, String> {
        to_text(&self.body, max_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::departure::Departure;
    use crate::simulation::{Piece, Step, World};
    use crate::transport::{Method, Scheme};

    fn attempt_once(step: Step) -> ReceivedResponse {
        attempt_of(step).unwrap()
    }

    /// Makes an attempt when the service does this; at most 9 bytes of a body are read.
    fn attempt_of(step: Step) -> Result<ReceivedResponse, SendError> {
        let world = World::with_script([step]);
        let request = Request {
            method: Method::Get,
            scheme: Scheme::Https,
            authority: "api.example".into(),
            path_and_query: "/".into(),
            headers: Vec::new(),
            body: Vec::new(),
            item: None,
            departure: Departure::default(),
        };
        let limits = Limits {
            connect_ms: 75,
            attempt_ms: 100,
            response_bytes: 9,
        };
        world.run(attempt(&world, &request, limits))
    }

    fn response_with(body: &[u8]) -> ReceivedResponse {
        attempt_once(Step::status(200).with_body(vec![Piece::Bytes(0, body.to_vec())]))
    }

    #[test]
    fn a_request_that_is_held_back_until_its_time_is_up_was_not_sent() {
        for (step, delivery, message) in [
            (
                Step::connecting(),
                Delivery::NotSent,
                "no connection within 100 ms",
            ),
            (
                Step::silence(),
                Delivery::Unknown,
                "no answer within 100 ms",
            ),
        ] {
            let error = attempt_of(step).unwrap_err();
            assert_eq!((error.delivery, &*error.message), (delivery, message));
        }
    }

    #[test]
    fn a_body_is_read_until_its_end_its_limit_or_its_failure() {
        let part = |bytes: &str| Piece::Bytes(0, bytes.into());
        let broken = "simulated: the body ended early".to_owned();
        let too_late = "the body was not complete within 100 ms".to_owned();
        for (second, read, body_end) in [
            (part("6789"), "123456789", BodyEnd::Complete),
            (part("67890"), "123456789", BodyEnd::TooLarge(9)),
            (Piece::Fail(0), "12345", BodyEnd::Failed(broken)),
            (
                Piece::Bytes(101, b"6".into()),
                "12345",
                BodyEnd::Failed(too_late),
            ),
        ] {
            let body = vec![part("12345"), second];
            let response = attempt_once(Step::status(200).with_body(body));
            assert_eq!((response.body, response.body_end), (read.into(), body_end));
        }
    }

    #[test]
    fn a_body_is_complete_once_its_json_is_however_it_ends() {
        for (first, is_complete) in [
            (&br#"{"a":1}"#[..], true),
            (b"[1] ", true),
            // Latin-1.
            (b"{\"a\":\"\xfc\"}", true),
            (b"[\"\xfc\"", false),
            (br#"{"a":1"#, false),
            (b"1", false),
            (b"a}", false),
        ] {
            for end in [Piece::Fail(0), Piece::Bytes(101, b" ".into())] {
                let body = vec![Piece::Bytes(0, first.into()), end];
                let response = attempt_once(Step::status(200).with_body(body));
                let found = response.body_end == BodyEnd::Complete;
                assert_eq!(found, is_complete, "{first:?}");
            }
        }
    }

    #[test]
    fn a_request_id_is_read_from_three_headers_the_usual_one_first() {
        let id = |headers: &[(&'static str, &str)]| {
            let step = headers.iter().fold(Step::status(200), |step, (name, id)| {
                step.with_header(name, id)
            });
            attempt_once(step).request_id
        };
        let all = [
            ("x-correlation-id", "c"),
            ("Request-Id", "b"),
            ("x-request-id", "a"),
        ];
        assert_eq!(id(&all).as_deref(), Some("a"));
        assert_eq!(id(&all[..2]).as_deref(), Some("b"));
        assert_eq!(id(&all[..1]).as_deref(), Some("c"));
        assert_eq!(id(&[]), None);
    }

    #[test]
    fn a_long_header_is_cut_and_a_long_time_to_wait_is_read_whole() {
        let long = Step::status(200).with_header("x-request-id", &"i".repeat(300));
        assert_eq!(attempt_once(long).request_id.map(|id| id.len()), Some(256));
        let padded = Step::status(429).with_header("retry-after", &format!("{}7", "0".repeat(300)));
        assert_eq!(attempt_once(padded).retry_after_ms, Some(7_000));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_as_long_as_the_text_fits() {
        assert_eq!(
            response_with(b"a\xffb\xff").text(0).as_deref(),
            Ok("a\u{fffd}b\u{fffd}")
        );
        let broken = || ReceivedResponse {
            body: vec![0xff; 700],
            ..response_with(b"")
        };
        assert!(broken().text(2_099).is_err());
        assert!(broken().text(2_100).is_ok());
        // A truncated character becomes one mark, as in the standard library.
        assert_eq!(
            response_with(b"\xe2\x82").text(3).as_deref(),
            Ok("\u{fffd}")
        );
        assert_eq!(response_with(b"plain").text(0).as_deref(), Ok("plain"));
    }
}
