//! Exchanges as an HTTP Archive (HAR 1.2), which the developer tools of browsers open.
//!
//! The archive never contains the token. The people in it are masked by the rules of
//! [`masking`](crate::masking), unless the user wants to see them.

use crate::exchange::{Body, BodyEnd, Ending, Exchange};
use crate::masking::PersonalData;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use voice_calling_core::token;

/// The value that stands for an unknown size or time in HAR.
const UNKNOWN: i64 = -1;

/// Returns the archive of exchanges.
pub fn archive(exchanges: &[Exchange], personal_data: PersonalData) -> Value {
    let (entries, comment): (Vec<_>, _) = match personal_data {
        PersonalData::Masked => (
            exchanges
                .iter()
                .map(|it| entry(&it.without_people()))
                .collect(),
            "The token, phone numbers and call context are masked.",
        ),
        PersonalData::Shown => (
            exchanges.iter().map(entry).collect(),
            "The token is masked. Phone numbers and call context are not.",
        ),
    };
    json!({
        "log": {
            "version": "1.2",
            "creator": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
            "entries": entries,
            "comment": comment,
        },
    })
}

fn entry(exchange: &Exchange) -> Value {
    let date = OffsetDateTime::from(exchange.date).format(&Rfc3339);
    // Sending lasts until the body has passed, if that was seen before the response.
    let sent = match &exchange.body {
        Some(body) if body.end == BodyEnd::Complete => body.until.min(exchange.duration),
        _ => Duration::ZERO,
    };
    let received = exchange.response_body.as_ref();
    let received = received.map_or(exchange.duration, |body| body.until.max(exchange.duration));
    json!({
        "startedDateTime": date.expect("a year of four digits"),
        "time": milliseconds(received),
        "request": request(exchange),
        "response": response(exchange),
        // HAR requires this member, although there is no cache.
        "cache": {},
        // Connections belong to the pool, so that their part is not known.
        "timings": {
            "send": milliseconds(sent),
            "wait": milliseconds(exchange.duration - sent),
            "receive": milliseconds(received - exchange.duration),
        },
    })
}

fn request(exchange: &Exchange) -> Value {
    let mut request = json!({
        "method": exchange.method,
        "url": url(&exchange.origin, &exchange.path_and_query),
        "httpVersion": format!("{:?}", exchange.version),
        "cookies": [],
        "headers": pairs(&exchange.headers),
        "queryString": query(&exchange.path_and_query),
        "headersSize": UNKNOWN,
        "bodySize": size(exchange.body.as_ref()),
    });
    let mime_type = header(&exchange.headers, "content-type");
    // If a request was never sent, only the type of its body may be known.
    let has_body =
        |body: &&Body| body.size > 0 || (body.end != BodyEnd::Complete && mime_type.is_some());
    if let Some(body) = exchange.body.as_ref().filter(has_body) {
        let (text, encoding) = text(body);
        request["postData"] = json!({ "mimeType": mime_type.unwrap_or_default(), "text": text });
        if let Some(encoding) = encoding {
            // HAR has no member for the encoding of a request's body. Browsers use this one.
            request["postData"]["_encoding"] = json!(encoding);
        }
    }
    request
}

fn response(exchange: &Exchange) -> Value {
    let body = exchange.response_body.as_ref();
    let mut content = json!({
        "size": body.map_or(0, |body| body.size),
        "mimeType": header(&exchange.response_headers, "content-type").unwrap_or("x-unknown"),
    });
    if let Some(body) = body {
        let (text, encoding) = text(body);
        content["text"] = json!(text);
        if let Some(encoding) = encoding {
            content["encoding"] = json!(encoding);
        }
        if body.end_is_missing() {
            content["comment"] = json!("The end of the body is missing.");
        }
    }
    let (status, version) = match exchange.ending {
        Ending::Status(status) => (status, format!("{:?}", exchange.response_version)),
        _ => (0, String::new()),
    };
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|it| it.canonical_reason());
    let mut response = json!({
        "status": status,
        "statusText": reason.unwrap_or_default(),
        "httpVersion": version,
        "cookies": [],
        "headers": pairs(&exchange.response_headers),
        "content": content,
        "redirectURL": header(&exchange.response_headers, "location").unwrap_or_default(),
        "headersSize": UNKNOWN,
        "bodySize": size(body),
    });
    let error = match (&exchange.ending, body.map(|body| &body.end)) {
        (Ending::Error(error), _) | (Ending::Status(_), Some(BodyEnd::Failed(error))) => error,
        (Ending::Cancelled, _) => "cancelled",
        (Ending::Status(_), _) => return response,
    };
    // Browsers put the error here if there is no response.
    response["_error"] = json!(error);
    response
}

/// Returns a body's text and its encoding.
fn text(body: &Body) -> (String, Option<&'static str>) {
    match std::str::from_utf8(&body.bytes) {
        Ok(text) => (text.to_owned(), None),
        // A truncated character does not make it binary.
        Err(error) if error.error_len().is_none() && body.end_is_missing() => {
            let whole = &body.bytes[..error.valid_up_to()];
            (String::from_utf8_lossy(whole).into_owned(), None)
        }
        Err(_) => (BASE64_STANDARD.encode(&body.bytes), Some("base64")),
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut headers = headers.iter();
    let found = headers.find(|(header, _)| header == name);
    found.map(|(_, value)| value.as_str())
}

fn pairs(pairs: &[(String, String)]) -> Vec<Value> {
    let pair = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    pairs.iter().map(pair).collect()
}

/// The characters that a URL cannot contain, although a masked one may contain them.
const NO_URL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns a URL, also if a part of it was masked.
fn url(origin: &str, path_and_query: &str) -> String {
    let mut url = origin.replace(token::MASK, "masked.invalid");
    url.extend(utf8_percent_encode(path_and_query, NO_URL));
    url
}

fn query(path_and_query: &str) -> Vec<Value> {
    let Some((_, query)) = path_and_query.split_once('?') else {
        return Vec::new();
    };
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let parameter = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        (decoded(name), decoded(value))
    };
    pairs(&query.split('&').map(parameter).collect::<Vec<_>>())
}

/// Returns a body's size, which is unknown if the body was not kept or did not pass whole.
fn size(body: Option<&Body>) -> i64 {
    match body {
        Some(body) if body.end == BodyEnd::Complete => body.size as i64,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Version;
    use std::time::SystemTime;

    fn body(bytes: &[u8], end: BodyEnd, until_ms: u64) -> Body {
        Body {
            bytes: bytes.to_vec(),
            size: bytes.len() as u64,
            is_cut: false,
            end,
            until: Duration::from_millis(until_ms),
        }
    }

    fn exchange(ending: Ending, response_body: Option<Body>) -> Exchange {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Exchange {
            id: 0,
            method: "POST".to_owned(),
            origin: "http://127.0.0.1:8080".to_owned(),
            path_and_query: "/make_call?name=Asha".to_owned(),
            version: Version::HTTP_11,
            headers: vec![header("content-type", "application/json")],
            date: SystemTime::UNIX_EPOCH,
            started: Duration::ZERO,
            duration: Duration::from_millis(40),
            ending,
            response_version: Version::HTTP_11,
            response_headers: vec![header("location", "/Asha")],
            body: Some(body(br#"{"to_phone_number":"91"}"#, BodyEnd::Complete, 10)),
            response_body,
        }
    }

    fn entry(exchange: Exchange, personal_data: PersonalData) -> Value {
        archive(&[exchange], personal_data)["log"]["entries"][0].take()
    }

    /// The required members are listed in <http://www.softwareishard.com/blog/har-12-spec/>.
    #[test]
    fn an_entry_is_whole_and_its_times_add_up() {
        let answered = body(br#"{"task_id":"t-1"}"#, BodyEnd::Complete, 290);
        let entry = entry(
            exchange(Ending::Status(302), Some(answered)),
            PersonalData::Masked,
        );
        let expected = json!({
            "startedDateTime": "1970-01-01T00:00:00Z",
            "time": 290.0,
            "request": {
                "method": "POST",
                "url": "http://127.0.0.1:8080/make_call?%5Bmasked%5D=%5Bmasked%5D",
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [{ "name": "content-type", "value": "application/json" }],
                "queryString": [{ "name": "[masked]", "value": "[masked]" }],
                "headersSize": -1,
                "bodySize": 24,
                "postData": {
                    "mimeType": "application/json",
                    "text": r#"{"to_phone_number":"[masked]"}"#,
                },
            },
            "response": {
                "status": 302,
                "statusText": "Found",
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [{ "name": "location", "value": "[masked]" }],
                "content": {
                    "size": 17,
                    "mimeType": "x-unknown",
                    "text": r#"{"task_id":"t-1"}"#,
                },
                "redirectURL": "[masked]",
                "headersSize": -1,
                "bodySize": 17,
            },
            "cache": {},
            "timings": { "send": 10.0, "wait": 30.0, "receive": 250.0 },
        });
        assert_eq!(entry, expected);
    }

    #[test]
    fn an_entry_shows_personal_data_if_that_is_asked_for() {
        let entry = entry(exchange(Ending::Status(302), None), PersonalData::Shown);
        let (request, response) = (&entry["request"], &entry["response"]);
        assert_eq!(request["url"], "http://127.0.0.1:8080/make_call?name=Asha");
        assert_eq!(request["postData"]["text"], r#"{"to_phone_number":"91"}"#);
        assert_eq!(response["redirectURL"], "/Asha");
        let archive = archive(&[], PersonalData::Shown);
        for member in ["/version", "/creator/name", "/creator/version"] {
            assert!(archive["log"].pointer(member).is_some_and(Value::is_string));
        }
    }

    #[test]
    fn an_exchange_without_a_complete_response_has_the_error() {
        let cut = body(
            b"{\"a",
            BodyEnd::Failed("connection terminated".to_owned()),
            50,
        );
        let refused = Ending::Error("connection refused (os error 111)".to_owned());
        for (ending, body, status, error) in [
            (refused, None, 0, "connection refused"),
            (Ending::Cancelled, None, 0, "cancelled"),
            (Ending::Status(200), Some(cut), 200, "connection terminated"),
        ] {
            let entry = entry(exchange(ending, body.clone()), PersonalData::Masked);
            let response = &entry["response"];
            assert_eq!(
                (&response["status"], &response["_error"]),
                (&json!(status), &json!(error))
            );
            let remark = body.map(|_| "The end of the body is missing.");
            assert_eq!(response["content"]["comment"], json!(remark));
            assert_eq!(response["bodySize"], UNKNOWN);
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_base64() {
        for (bytes, end, text, encoding) in [
            (&b"\xff\xfe"[..], BodyEnd::Complete, "//4=", Some("base64")),
            // A truncated character.
            (b"x\xc3", BodyEnd::Unfinished, "x", None),
        ] {
            let exchange = exchange(Ending::Status(422), Some(body(bytes, end, 50)));
            let shown = entry(exchange.clone(), PersonalData::Shown);
            let content = &shown["response"]["content"];
            assert_eq!(
                (&content["text"], &content["encoding"]),
                (&json!(text), &json!(encoding))
            );
            let masked = entry(exchange, PersonalData::Masked);
            let text = format!("[masked: {} bytes]", bytes.len());
            assert_eq!(masked["response"]["content"]["text"], text);
        }
    }
}
