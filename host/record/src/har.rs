//! Exchanges as an HTTP Archive (HAR 1.2), which the developer tools of browsers open.
//!
//! The token is in none of it. The people in it are masked by the rules of
//! [`masking`], unless the user wants to see them.

use crate::exchange::{Body, BodyEnd, Ending, Exchange};
use crate::masking::{self, PersonalData};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{StatusCode, Version};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::Serialize;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use voice_calling_core::token;

/// What HAR has for a size or a time that is not known.
const UNKNOWN: i64 = -1;

/// An HTTP Archive.
#[derive(Debug, Clone, Serialize)]
pub struct Har {
    log: Log,
}

#[derive(Debug, Clone, Serialize)]
struct Log {
    version: &'static str,
    creator: Creator,
    entries: Vec<Entry>,
    comment: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Creator {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    time: f64,
    request: Request,
    response: Response,
    cache: Cache,
    timings: Timings,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

/// There is no cache, and HAR wants it said.
#[derive(Debug, Clone, Serialize)]
struct Cache {}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    http_version: String,
    cookies: [NameValue; 0],
    headers: Vec<NameValue>,
    query_string: Vec<NameValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_data: Option<PostData>,
    headers_size: i64,
    body_size: i64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    status_text: &'static str,
    http_version: String,
    cookies: [NameValue; 0],
    headers: Vec<NameValue>,
    content: Content,
    #[serde(rename = "redirectURL")]
    redirect_url: String,
    headers_size: i64,
    body_size: i64,
    /// Where browsers put what they have instead of an answer.
    #[serde(rename = "_error", skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct NameValue {
    name: String,
    value: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: String,
    /// HAR knows no encoding for what is sent, so that it says so here, as browsers do.
    #[serde(rename = "_encoding", skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    size: u64,
    mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

/// In milliseconds. Connections are the pool's, so that their part is not known.
#[derive(Debug, Clone, Serialize)]
struct Timings {
    blocked: i64,
    dns: i64,
    connect: i64,
    ssl: i64,
    send: f64,
    wait: f64,
    receive: f64,
}

/// The archive of exchanges.
pub fn archive(exchanges: &[Exchange], personal_data: PersonalData) -> Har {
    Har {
        log: Log {
            version: "1.2",
            creator: Creator {
                name: env!("CARGO_PKG_NAME"),
                version: env!("CARGO_PKG_VERSION"),
            },
            entries: exchanges
                .iter()
                .map(|exchange| entry(exchange, personal_data))
                .collect(),
            comment: match personal_data {
                PersonalData::Masked => "The token, phone numbers and call context are masked.",
                PersonalData::Shown => {
                    "The token is masked. Phone numbers and call context are not."
                }
            },
        },
    }
}

fn entry(exchange: &Exchange, personal_data: PersonalData) -> Entry {
    let view = View {
        exchange,
        personal_data,
    };
    let timings = timings(exchange);
    Entry {
        started_date_time: rfc_3339(exchange.date),
        time: timings.send + timings.wait + timings.receive,
        request: view.request(),
        response: view.response(),
        cache: Cache {},
        timings,
        comment: view.comment(),
    }
}

/// A request is sent until its body has passed, if that was seen before the answer.
fn timings(exchange: &Exchange) -> Timings {
    let sent = match &exchange.body {
        Some(body) if body.end == BodyEnd::Whole => body.until.min(exchange.duration),
        _ => Duration::ZERO,
    };
    let received = exchange.answer_body.as_ref().map(|body| body.until);
    let receive = received.map_or(Duration::ZERO, |received| {
        received.saturating_sub(exchange.duration)
    });
    Timings {
        blocked: UNKNOWN,
        dns: UNKNOWN,
        connect: UNKNOWN,
        ssl: UNKNOWN,
        send: milliseconds(sent),
        wait: milliseconds(exchange.duration - sent),
        receive: milliseconds(receive),
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
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

    fn request(&self) -> Request {
        let exchange = self.exchange;
        let path_and_query = self.seen(&exchange.path_and_query, masking::path_and_query);
        let origin = self.seen(&exchange.origin, masking::origin);
        Request {
            method: self.seen(&exchange.method, |method| {
                masking::method(method).to_owned()
            }),
            url: url(&origin, &path_and_query),
            http_version: version(exchange.version),
            cookies: [],
            headers: self.headers(&exchange.headers),
            query_string: query(&path_and_query),
            post_data: self.post_data(),
            headers_size: UNKNOWN,
            body_size: size(exchange.body.as_ref()),
        }
    }

    fn post_data(&self) -> Option<PostData> {
        let body = self.exchange.body.as_ref()?;
        let mime_type = self.mime_type(&self.exchange.headers);
        // Of a request that never went out, nothing but its kind may be known.
        if body.size == 0 && (body.end == BodyEnd::Whole || mime_type.is_none()) {
            return None;
        }
        let (text, encoding) = self.text(body);
        Some(PostData {
            mime_type: mime_type.unwrap_or_default(),
            encoding,
            text,
            comment: self.remark(body),
        })
    }

    fn response(&self) -> Response {
        let exchange = self.exchange;
        let body = exchange.answer_body.as_ref();
        let (text, encoding) = match body {
            Some(body) => {
                let (text, encoding) = self.text(body);
                (Some(text), encoding)
            }
            None => (None, None),
        };
        let location = header(&exchange.answer_headers, "location");
        let (status, http_version) = match exchange.ending {
            Ending::Status(status) => (status, version(exchange.answer_version)),
            _ => (0, String::new()),
        };
        let broken = body.and_then(|body| match &body.end {
            BodyEnd::Broken(error) => Some(self.error(error)),
            _ => None,
        });
        Response {
            status,
            status_text: StatusCode::from_u16(status)
                .ok()
                .and_then(|status| status.canonical_reason())
                .unwrap_or_default(),
            http_version,
            cookies: [],
            headers: self.headers(&exchange.answer_headers),
            content: Content {
                size: body.map_or(0, |body| body.size),
                mime_type: self
                    .mime_type(&exchange.answer_headers)
                    .unwrap_or_else(|| "x-unknown".to_owned()),
                text,
                encoding,
                comment: body.and_then(|body| self.remark(body)),
            },
            redirect_url: location.map_or_else(String::new, |location| {
                self.seen(location, |location| masking::header("location", location))
            }),
            headers_size: UNKNOWN,
            body_size: size(body),
            error: match &exchange.ending {
                Ending::Status(_) => broken,
                Ending::Error(error) => Some(self.error(error)),
                Ending::Abandoned => Some("abandoned".to_owned()),
            },
        }
    }

    /// What is unusual about the exchange.
    fn comment(&self) -> Option<String> {
        match &self.exchange.ending {
            Ending::Status(_) => self
                .exchange
                .answer_body
                .as_ref()
                .filter(|body| body.end != BodyEnd::Whole)
                .and_then(|body| self.remark(body))
                .map(|remark| format!("The answer's body: {remark}")),
            Ending::Error(error) => Some(format!("No answer: {}.", self.error(error))),
            Ending::Abandoned => Some("No answer: the guest cancelled the request.".to_owned()),
        }
    }

    /// What is unusual about a body.
    fn remark(&self, body: &Body) -> Option<String> {
        let end = match &body.end {
            BodyEnd::Whole => None,
            BodyEnd::Broken(error) => Some(format!(
                "it ended early after {} bytes: {}.",
                body.size,
                self.error(error)
            )),
            BodyEnd::Unfinished => Some(format!("only {} bytes of it passed.", body.size)),
        };
        let cut = body
            .is_cut
            .then(|| format!("only the beginning of its {} bytes was kept.", body.size));
        match (end, cut) {
            (Some(end), Some(cut)) => Some(format!("{end} {cut}")),
            (end, cut) => end.or(cut),
        }
    }

    fn error(&self, error: &str) -> String {
        self.seen(error, |error| masking::error(error).to_owned())
    }

    fn headers(&self, headers: &[(String, String)]) -> Vec<NameValue> {
        let header = |(name, value): &(String, String)| NameValue {
            name: self.seen(name, masking::header_name),
            value: self.seen(value, |value| masking::header(name, value)),
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

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut headers = headers.iter();
    let found = headers.find(|(header, _)| header == name);
    found.map(|(_, value)| value.as_str())
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
    let origin = origin.replace(token::MASK, "masked.invalid");
    let mut url = origin;
    url.extend(utf8_percent_encode(path_and_query, NO_URL));
    url
}

fn query(path_and_query: &str) -> Vec<NameValue> {
    let Some((_, query)) = path_and_query.split_once('?') else {
        return Vec::new();
    };
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let parameter = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        NameValue {
            name: decoded(name),
            value: decoded(value),
        }
    };
    query.split('&').map(parameter).collect()
}

fn rfc_3339(date: SystemTime) -> String {
    let formatted = OffsetDateTime::from(date).format(&Rfc3339);
    formatted.expect("a year of four digits")
}

fn version(version: Version) -> String {
    format!("{version:?}")
}

/// A body's size, which is not known if it was not kept or did not pass whole.
fn size(body: Option<&Body>) -> i64 {
    match body {
        Some(body) if body.end == BodyEnd::Whole => body.size as i64,
        _ => UNKNOWN,
    }
}
