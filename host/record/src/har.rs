//! Exchanges as an HTTP Archive (HAR 1.2), which the developer tools of browsers open.
//!
//! The token is in none of it. The people in it are masked by the rules of
//! [`masking`], unless the user wants to see them.

use crate::exchange::{Body, BodyEnd, Ending, Exchange};
use crate::masking::{self, PersonalData};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use voice_calling_core::token;

/// What HAR has for a size or a time that is not known.
const UNKNOWN: i64 = -1;

/// The archive of exchanges.
pub fn archive(exchanges: &[Exchange], personal_data: PersonalData) -> Value {
    let entry = |exchange| {
        View {
            exchange,
            personal_data,
        }
        .entry()
    };
    json!({
        "log": {
            "version": "1.2",
            "creator": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
            "entries": exchanges.iter().map(entry).collect::<Vec<_>>(),
            "comment": match personal_data {
                PersonalData::Masked => "The token, phone numbers and call context are masked.",
                PersonalData::Shown => "The token is masked. Phone numbers and call context are not.",
            },
        },
    })
}

/// An exchange, and how much of it is to be seen.
struct View<'a> {
    exchange: &'a Exchange,
    personal_data: PersonalData,
}

impl View<'_> {
    /// What may be seen of a text, which is all of it where personal data is shown.
    fn seen(&self, text: &str, masked: impl FnOnce(&str) -> String) -> String {
        match self.personal_data {
            PersonalData::Masked => masked(text),
            PersonalData::Shown => text.to_owned(),
        }
    }

    fn entry(&self) -> Value {
        let exchange = self.exchange;
        let date = OffsetDateTime::from(exchange.date).format(&Rfc3339);
        // A request is sent until its body has passed, if that was seen before the answer.
        let sent = match &exchange.body {
            Some(body) if body.end == BodyEnd::Whole => body.until.min(exchange.duration),
            _ => Duration::ZERO,
        };
        let received = exchange.answer_body.as_ref();
        let received = received.map_or(exchange.duration, |body| body.until.max(exchange.duration));
        json!({
            "startedDateTime": date.expect("a year of four digits"),
            "time": milliseconds(received),
            "request": self.request(),
            "response": self.response(),
            // There is none, and HAR wants it said.
            "cache": {},
            // Connections are the pool's, so that their part is not known.
            "timings": {
                "send": milliseconds(sent),
                "wait": milliseconds(exchange.duration - sent),
                "receive": milliseconds(received - exchange.duration),
            },
        })
    }

    fn request(&self) -> Value {
        let exchange = self.exchange;
        let path_and_query = self.seen(&exchange.path_and_query, masking::path_and_query);
        let origin = self.seen(&exchange.origin, masking::origin);
        let mut request = json!({
            "method": self.seen(&exchange.method, masking::method),
            "url": url(&origin, &path_and_query),
            "httpVersion": format!("{:?}", exchange.version),
            "cookies": [],
            "headers": self.headers(&exchange.headers),
            "queryString": query(&path_and_query),
            "headersSize": UNKNOWN,
            "bodySize": size(exchange.body.as_ref()),
        });
        let mime_type = self.mime_type(&exchange.headers);
        // Of a request that never went out, nothing but its kind may be known.
        let has_body =
            |body: &&Body| body.size > 0 || (body.end != BodyEnd::Whole && mime_type.is_some());
        if let Some(body) = exchange.body.as_ref().filter(has_body) {
            let (text, encoding) = self.text(body);
            request["postData"] =
                json!({ "mimeType": mime_type.unwrap_or_default(), "text": text });
            if let Some(encoding) = encoding {
                // HAR knows no encoding for what is sent, so that it says so here, as browsers do.
                request["postData"]["_encoding"] = json!(encoding);
            }
        }
        request
    }

    fn response(&self) -> Value {
        let exchange = self.exchange;
        let body = exchange.answer_body.as_ref();
        let mime_type = self.mime_type(&exchange.answer_headers);
        let mut content = json!({
            "size": body.map_or(0, |body| body.size),
            "mimeType": mime_type.as_deref().unwrap_or("x-unknown"),
        });
        if let Some(body) = body {
            let (text, encoding) = self.text(body);
            content["text"] = json!(text);
            if let Some(encoding) = encoding {
                content["encoding"] = json!(encoding);
            }
            if body.end_is_missing() {
                content["comment"] = json!("The end of the body is missing.");
            }
        }
        let (status, version) = match exchange.ending {
            Ending::Status(status) => (status, format!("{:?}", exchange.answer_version)),
            _ => (0, String::new()),
        };
        let reason = StatusCode::from_u16(status)
            .ok()
            .and_then(|it| it.canonical_reason());
        let location = header(&exchange.answer_headers, "location").unwrap_or_default();
        let mut response = json!({
            "status": status,
            "statusText": reason.unwrap_or_default(),
            "httpVersion": version,
            "cookies": [],
            "headers": self.headers(&exchange.answer_headers),
            "content": content,
            "redirectURL": self.seen(location, |location| masking::header("location", location)),
            "headersSize": UNKNOWN,
            "bodySize": size(body),
        });
        let error = match (&exchange.ending, body.map(|body| &body.end)) {
            (Ending::Error(error), _) | (Ending::Status(_), Some(BodyEnd::Broken(error))) => {
                Some(self.seen(error, masking::error))
            }
            (Ending::Abandoned, _) => Some("abandoned".to_owned()),
            (Ending::Status(_), _) => None,
        };
        if let Some(error) = error {
            // Where browsers put what they have instead of an answer.
            response["_error"] = json!(error);
        }
        response
    }

    fn headers(&self, headers: &[(String, String)]) -> Vec<Value> {
        let header = |(name, value): &(String, String)| {
            let value = self.seen(value, |value| masking::header(name, value));
            name_value(&self.seen(name, masking::header_name), &value)
        };
        headers.iter().map(header).collect()
    }

    fn mime_type(&self, headers: &[(String, String)]) -> Option<String> {
        let mime_type = header(headers, "content-type")?;
        Some(self.seen(mime_type, |value| masking::header("content-type", value)))
    }

    /// A body's text as it may be seen, and its encoding.
    fn text(&self, body: &Body) -> (String, Option<&'static str>) {
        if self.personal_data == PersonalData::Masked {
            return match body.is_cut {
                // The beginning alone is not JSON.
                true => (format!("[masked: {} bytes]", body.size), None),
                false => (masking::body(&body.bytes), None),
            };
        }
        match std::str::from_utf8(&body.bytes) {
            Ok(text) => (text.to_owned(), None),
            // A letter that was cut in two does not make it binary.
            Err(error) if error.error_len().is_none() && body.end_is_missing() => {
                let whole = &body.bytes[..error.valid_up_to()];
                (String::from_utf8_lossy(whole).into_owned(), None)
            }
            Err(_) => (BASE64_STANDARD.encode(&body.bytes), Some("base64")),
        }
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

fn name_value(name: &str, value: &str) -> Value {
    json!({ "name": name, "value": value })
}

/// What no URL has as it is, though what is left of one that was masked may have it.
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

/// A URL, also where something in it was masked.
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
        name_value(&decoded(name), &decoded(value))
    };
    query.split('&').map(parameter).collect()
}

/// A body's size, which is not known if it was not kept or did not pass whole.
fn size(body: Option<&Body>) -> i64 {
    match body {
        Some(body) if body.end == BodyEnd::Whole => body.size as i64,
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

    fn exchange(ending: Ending, answer_body: Option<Body>) -> Exchange {
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
            answer_version: Version::HTTP_11,
            answer_headers: vec![header("location", "/Asha")],
            body: Some(body(br#"{"to_phone_number":"91"}"#, BodyEnd::Whole, 10)),
            answer_body,
        }
    }

    fn entry(exchange: Exchange, personal_data: PersonalData) -> Value {
        archive(&[exchange], personal_data)["log"]["entries"][0].take()
    }

    /// The specification is at <http://www.softwareishard.com/blog/har-12-spec/>.
    #[test]
    fn an_archive_has_every_member_that_har_1_2_requires() {
        let whole = body(b"{}", BodyEnd::Whole, 290);
        for ending in [Ending::Status(200), Ending::Abandoned] {
            let exchange = exchange(ending, Some(whole.clone()));
            let archive = archive(&[exchange], PersonalData::Masked);
            for (place, members) in [
                ("/log", &["version", "creator", "entries"][..]),
                ("/log/creator", &["name", "version"]),
                (
                    "/log/entries/0",
                    &[
                        "startedDateTime",
                        "time",
                        "request",
                        "response",
                        "cache",
                        "timings",
                    ],
                ),
                ("/log/entries/0/timings", &["send", "wait", "receive"]),
                (
                    "/log/entries/0/request",
                    &[
                        "method",
                        "url",
                        "httpVersion",
                        "cookies",
                        "headers",
                        "queryString",
                        "headersSize",
                        "bodySize",
                    ],
                ),
                ("/log/entries/0/request/postData", &["mimeType", "text"]),
                (
                    "/log/entries/0/response",
                    &[
                        "status",
                        "statusText",
                        "httpVersion",
                        "cookies",
                        "headers",
                        "content",
                        "redirectURL",
                        "headersSize",
                        "bodySize",
                    ],
                ),
                ("/log/entries/0/response/content", &["size", "mimeType"]),
            ] {
                let object = archive.pointer(place).and_then(Value::as_object);
                let object = object.unwrap_or_else(|| panic!("{place} in {archive:#}"));
                for member in members {
                    assert!(
                        object.get(*member).is_some_and(|it| !it.is_null()),
                        "{place}/{member}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_times_of_an_entry_add_up() {
        let slow = body(b"{}", BodyEnd::Whole, 290);
        let entry = entry(
            exchange(Ending::Status(200), Some(slow)),
            PersonalData::Masked,
        );
        let timings = json!({ "send": 10.0, "wait": 30.0, "receive": 250.0 });
        assert_eq!(
            (&entry["timings"], &entry["time"]),
            (&timings, &json!(290.0))
        );
        assert_eq!(entry["startedDateTime"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn people_are_in_an_entry_only_if_they_are_to_be_seen() {
        for (personal_data, url, location, sent) in [
            (
                PersonalData::Masked,
                "http://127.0.0.1:8080/make_call?%5Bmasked%5D=%5Bmasked%5D",
                "[masked]",
                r#"{"to_phone_number":"[masked]"}"#,
            ),
            (
                PersonalData::Shown,
                "http://127.0.0.1:8080/make_call?name=Asha",
                "/Asha",
                r#"{"to_phone_number":"91"}"#,
            ),
        ] {
            let entry = entry(exchange(Ending::Status(302), None), personal_data);
            assert_eq!(entry["request"]["url"], url);
            assert_eq!(entry["request"]["postData"]["text"], sent);
            assert_eq!(entry["response"]["redirectURL"], location);
            assert_eq!(entry["response"]["statusText"], "Found");
        }
    }

    #[test]
    fn an_exchange_without_a_whole_answer_has_the_error() {
        let cut = body(
            b"{\"a",
            BodyEnd::Broken("connection terminated".to_owned()),
            50,
        );
        let refused = Ending::Error("connection refused (os error 111)".to_owned());
        for (ending, body, status, error) in [
            (refused, None, 0, "connection refused"),
            (Ending::Abandoned, None, 0, "abandoned"),
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
    fn bytes_that_are_no_text_are_base64_if_they_are_shown() {
        for (bytes, end, text, encoding) in [
            (&b"\xff\xfea"[..], BodyEnd::Whole, "//5h", json!("base64")),
            // A letter that was cut in two.
            (b"x\xc3", BodyEnd::Unfinished, "x", Value::Null),
        ] {
            let exchange = exchange(Ending::Status(422), Some(body(bytes, end, 50)));
            let shown = entry(exchange.clone(), PersonalData::Shown);
            let content = &shown["response"]["content"];
            assert_eq!(
                (&content["text"], &content["encoding"]),
                (&json!(text), &encoding)
            );
            let masked = entry(exchange, PersonalData::Masked);
            let text = format!("[masked: {} bytes]", bytes.len());
            assert_eq!(masked["response"]["content"]["text"], text);
        }
    }
}
