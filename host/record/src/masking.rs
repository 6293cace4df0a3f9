//! The parts of an exchange that may be shown without the people in it: no phone numbers, no call
//! context, nothing that was said.
//!
//! It lists what may be shown, so that everything unknown stays hidden. Names of members are shown
//! if they are the service's own; in free-form objects they are personal data as well, so that
//! these are hidden whole.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The text that replaces a hidden one.
pub const MASK: &str = "[masked]";

/// Whether the people in exchanges are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonalData {
    /// Only parts that are known to be harmless are shown.
    Masked,
    /// Everything is shown, except for the token.
    Shown,
}

/// The number of digits from which a text may contain a phone number.
const NUMBER_DIGITS: usize = 7;

/// The depth to which values are shown, which is more than the service's own structures need.
const DEPTH: usize = 8;

/// Members with an object or a list whose structure is the service's own; all others may be
/// free-form.
const CONTAINERS: [&str; 2] = ["detail", "extra_config"];

/// Members with an id that the service assigned.
const IDS: [&str; 4] = ["docket_id", "task_id", "closed_call_id", "latest_call_id"];

/// Members with one of the words below.
const STATUSES: [&str; 4] = [
    "status",
    "call_status",
    "closure_reason",
    "notification_status",
];

/// The values of statuses and reasons that the specification names, and the two that our mock of
/// the service adds. Any other word may be a name, however it is written.
const STATUS_WORDS: [&str; 10] = [
    "ANSWERED",
    "ATTEMPTS_EXHAUSTED",
    "BUSY",
    "COMPLETED",
    "DISPOSITION",
    "IN_PROGRESS",
    "NO_ANSWER",
    "OPEN",
    "SENT",
    "SKIPPED",
];

/// Headers that HTTP or the service defines.
const HEADERS: [&str; 8] = [
    "accept",
    "content-encoding",
    "content-type",
    "date",
    "request-id",
    "retry-after",
    "x-correlation-id",
    "x-request-id",
];

/// The words of the service's paths.
const PATH_WORDS: [&str; 7] = [
    "agents",
    "api",
    "call_details",
    "dockets",
    "make_call",
    "v1",
    "v2",
];

/// The kind of a text of an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A method, which may be any word that a guest chooses.
    Method,
    /// Scheme, host and port. A guest could ask for a host whose name is a number.
    Origin,
    /// A path with its query.
    PathAndQuery,
    /// The name of a header.
    HeaderName,
    /// The value of the header with this name.
    Header(&'a str),
    /// A transport error. Its kind is shown; the text after a colon or in brackets may come from
    /// anyone.
    Error,
}

/// Masks a text.
pub fn text(part: Part<'_>, text: &str) -> String {
    let or_mask = |seen| if seen { text } else { MASK }.to_owned();
    match part {
        Part::Method => or_mask(matches!(text, "GET" | "POST")),
        Part::Origin => origin(text),
        Part::PathAndQuery => path_and_query(text),
        Part::HeaderName => {
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            or_mask(text.bytes().all(is_token) && !contains_number(text))
        }
        Part::Header(name) => or_mask(is_header_shown(name, text)),
        Part::Error => {
            let end = text.find([':', '(']).unwrap_or(text.len());
            text[..end].trim_end().to_owned()
        }
    }
}

/// Masks a body: JSON keeps only its harmless values, any other body is hidden whole.
pub fn body(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return String::new();
    }
    match serde_json::from_slice::<&RawValue>(bytes) {
        Ok(json) => masked_json(json, None, DEPTH),
        Err(_) => format!("[masked: {} bytes]", bytes.len()),
    }
}

/// Masks a value: that of a member with this name, or the whole body.
fn masked_json(json: &RawValue, name: Option<&str>, depth: usize) -> String {
    let own = depth > 0 && name.is_none_or(|name| CONTAINERS.contains(&name));
    let text = json.get();
    match text.as_bytes().first() {
        Some(b'{') if own && let Ok(Members(members)) = serde_json::from_str(text) => {
            let member = |(name, value): &(String, &RawValue)| {
                let seen = if is_name(name) { name } else { MASK };
                format!("\"{seen}\":{}", masked_json(value, Some(name), depth - 1))
            };
            let members: Vec<_> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        Some(b'[') if own && let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(text) => {
            let element = |value: &&RawValue| masked_json(value, name, depth - 1);
            let elements: Vec<_> = elements.iter().map(element).collect();
            format!("[{}]", elements.join(","))
        }
        Some(b't' | b'f' | b'n') => text.to_owned(),
        _ if name.is_some_and(|name| is_harmless(name, text)) => text.to_owned(),
        _ => format!("\"{MASK}\""),
    }
}

/// Returns `true` if a text may be shown, by its name and its form: a name alone does not keep a
/// service from putting something else there.
fn is_harmless(name: &str, json: &str) -> bool {
    let text = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    text.is_some_and(|text| {
        (IDS.contains(&name) && is_id(text))
            || (STATUSES.contains(&name) && STATUS_WORDS.contains(&text))
    })
}

fn path_and_query(path_and_query: &str) -> String {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let mut before = "";
    let mut segments = Vec::new();
    for segment in path.split('/') {
        let has_id = matches!(before, "dockets" | "call_details");
        let seen =
            segment.is_empty() || PATH_WORDS.contains(&segment) || (has_id && is_id(segment));
        segments.push(if seen { segment } else { MASK });
        before = segment;
    }
    let mut masked = segments.join("/");
    if let Some(query) = query {
        let parameter = |parameter: &str| match parameter.split_once('=') {
            Some(("organizationId", id)) if is_id(id) => parameter.to_owned(),
            Some(("organizationId", _)) => format!("organizationId={MASK}"),
            _ => format!("{MASK}={MASK}"),
        };
        let parameters: Vec<_> = query.split('&').map(parameter).collect();
        masked = format!("{masked}?{}", parameters.join("&"));
    }
    masked
}

fn origin(origin: &str) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let address =
        host.parse::<std::net::SocketAddr>().is_ok() || host.parse::<std::net::IpAddr>().is_ok();
    match contains_number(host) && !address {
        true => origin.replace(host, "masked.invalid"),
        false => origin.to_owned(),
    }
}

fn is_header_shown(name: &str, value: &str) -> bool {
    match name.to_ascii_lowercase().as_str() {
        // The recorder has already masked it.
        "auth_token" => true,
        "content-length" => value.len() <= 20 && value.bytes().all(|b| b.is_ascii_digit()),
        "host" => origin(value) == value,
        name => HEADERS.contains(&name) && (is_uuid(value) || !contains_number(value)),
    }
}

/// Returns `true` if a member's name looks like an identifier in a program.
fn is_name(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=40).contains(&name.len()) && name.bytes().all(of_name) && !contains_number(name)
}

/// Returns `true` if a text looks like an identifier and contains nothing else.
fn is_id(text: &str) -> bool {
    let of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let id = (1..=64).contains(&text.len()) && text.bytes().all(of_id);
    id && (is_uuid(text) || !contains_number(text))
}

fn is_uuid(text: &str) -> bool {
    // An id that consists only of digits could contain phone numbers.
    let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    text.len() == 36 && letters && uuid::Uuid::try_parse(text).is_ok()
}

/// Returns `true` if a text contains as many digits as a phone number, however they are grouped.
fn contains_number(text: &str) -> bool {
    let mut digits = 0;
    text.bytes().any(|byte| {
        match byte {
            b'0'..=b'9' => digits += 1,
            b' ' | b'-' | b'_' | b'.' | b'+' | b'/' | b'(' | b')' => {}
            _ => digits = 0,
        }
        digits >= NUMBER_DIGITS
    })
}

/// The members of an object in order, including repeated ones, with unparsed values.
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_body_keeps_its_structure_ids_statuses_booleans_and_nulls() {
        for (json, seen) in [
            (
                r#"{"agent_id": 7, "to_phone_number": "919876543210", "external_id": "crm-1",
                    "extra_config": {"call_context": {"Asha": {"a": [1]}}, "retries": 3}}"#,
                concat!(
                    r#"{"agent_id":"[masked]","to_phone_number":"[masked]","#,
                    r#""external_id":"[masked]","#,
                    r#""extra_config":{"call_context":"[masked]","retries":"[masked]"}}"#
                ),
            ),
            (
                r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-123456789012","created":true,"n":null}"#,
                r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-123456789012","created":true,"n":null}"#,
            ),
            (
                r#"[{"task_id":"t-1","call_status":"NO_ANSWER","status":"OPEN"}]"#,
                r#"[{"task_id":"t-1","call_status":"NO_ANSWER","status":"OPEN"}]"#,
            ),
            (
                r#"{"detail": [{"loc": ["body", "to_phone_number"], "input": {"Asha": 1}}, "Asha"]}"#,
                r#"{"detail":[{"loc":"[masked]","input":"[masked]"},"[masked]"]}"#,
            ),
            // Names that no program uses.
            (
                r#"{"919876543210":1,"Asha Rao":2,"":{"a":3},"n919876543210":4,"region":5}"#,
                concat!(
                    r#"{"[masked]":"[masked]","[masked]":"[masked]","[masked]":"[masked]","#,
                    r#""[masked]":"[masked]","region":"[masked]"}"#
                ),
            ),
            // JSON that no parser reads completely.
            (
                r#"{"call_context":{"big":1e400,"half":"\ud83d"},"status":"OPEN"}"#,
                r#"{"call_context":"[masked]","status":"OPEN"}"#,
            ),
            ("call Asha", "[masked: 9 bytes]"),
            (r#"{"status":"OPEN""#, "[masked: 16 bytes]"),
            ("919876543210", r#""[masked]""#),
            ("", ""),
        ] {
            assert_eq!(body(json.as_bytes()), seen, "{json}");
        }
        assert_eq!(body(b"\xff\xfe"), "[masked: 2 bytes]");
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(body(deep.as_bytes()).contains(MASK));
    }

    #[test]
    fn a_harmless_name_does_not_show_what_looks_like_something_else() {
        for value in [
            r#"{"status":"Asha"}"#,
            r#"{"call_status":"ASHA_RAO"}"#,
            r#"{"closure_reason":"ASHA"}"#,
            r#"{"notification_status":"open"}"#,
            r#"{"status":919876543210}"#,
            r#"{"task_id":"call-919876543210"}"#,
            r#"{"task_id":"98765-43210"}"#,
            r#"{"docket_id":"Asha Rao"}"#,
            r#"{"docket_id":"91987654-3210-0000-0000-000000000000"}"#,
            r#"{"status":{"Asha":"OPEN"}}"#,
            r#"{"status":["OPEN"]}"#,
            r#"{"st\u0061tus":"Asha"}"#,
            r#"{"task_id":"\u0041sha"}"#,
            r#"{"call_insights":{"status":"ANSWERED"}}"#,
            r#"{"something_new":{"status":"ANSWERED"}}"#,
            r#"{"created_at":"2026-01-31T10:00:00.9198765432"}"#,
        ] {
            let masked = body(value.as_bytes());
            assert!(masked.ends_with(r#":"[masked]"}"#), "{value}: {masked}");
        }
    }

    #[test]
    fn a_masked_path_keeps_the_words_of_the_service_and_ids() {
        for (path, seen) in [
            ("/api/v2/dockets", "/api/v2/dockets"),
            ("/agents/", "/agents/"),
            ("/call_details/task-1", "/call_details/task-1"),
            ("/call_details/919876543210", "/call_details/[masked]"),
            ("/call_details/Asha%20Rao", "/call_details/[masked]"),
            ("/make_call/Asha", "/make_call/[masked]"),
            ("/Asha%20Rao/make_call", "/[masked]/make_call"),
            (
                "/api/v1/agents?organizationId=org-1",
                "/api/v1/agents?organizationId=org-1",
            ),
            (
                "/api/v1/agents?organizationId=919876543210&name=Asha&d",
                "/api/v1/agents?organizationId=[masked]&[masked]=[masked]&[masked]=[masked]",
            ),
        ] {
            assert_eq!(path_and_query(path), seen, "{path}");
        }
    }

    #[test]
    fn headers_of_http_are_shown() {
        for (name, value, seen) in [
            ("content-type", "application/json", true),
            ("Content-Length", "12345678", true),
            ("retry-after", "Sat, 31 Jan 2026 13:07:11 GMT", true),
            ("x-request-id", "7f8d3b0e-0d51-4f0c-9a63-123456789012", true),
            ("x-request-id", "919876543210/1", false),
            ("host", "127.0.0.1:18080", true),
            ("host", "919876543210.example", false),
            ("location", "/call/919876543210", false),
            ("x-name", "Asha", false),
        ] {
            let expected = if seen { value } else { MASK };
            let found = text(Part::Header(name), value);
            assert_eq!(found, expected, "{name}: {value}");
        }
        assert_eq!(text(Part::HeaderName, "x-919876543210"), MASK);
    }

    #[test]
    fn hosts_methods_and_errors_show_no_word_of_a_guest() {
        for (part, found, seen) in [
            (
                Part::Origin,
                "http://127.0.0.1:18080",
                "http://127.0.0.1:18080",
            ),
            (Part::Origin, "https://[::1]:18080", "https://[::1]:18080"),
            (Part::Origin, "https://api.example", "https://api.example"),
            (
                Part::Origin,
                "http://n919876543210.example",
                "http://masked.invalid",
            ),
            (Part::Method, "GET", "GET"),
            (Part::Method, "ASHA", MASK),
            (Part::Error, "internal error: call Asha", "internal error"),
            (Part::Error, "DNS error (info code 3)", "DNS error"),
            (Part::Error, "connection refused", "connection refused"),
        ] {
            assert_eq!(text(part, found), seen);
        }
    }
}
