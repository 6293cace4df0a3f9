//! A line of the contact list: one person to be called.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bindings::exports::voice_calling::operator::contacts::Entry;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    to_phone_number: Option<&'a RawValue>,
    #[serde(borrow)]
    call_context: Option<&'a RawValue>,
    #[serde(borrow)]
    external_id: Option<&'a RawValue>,
    #[serde(borrow)]
    extra: Option<&'a RawValue>,
    #[serde(borrow)]
    time_zone: Option<&'a RawValue>,
}

/// Parses a line. The error names the field, what was found and what is allowed; it does not
/// contain values, which are personal data.
pub fn read(line: &str) -> Result<Entry, String> {
    // Serde would accept an array of six as well.
    if !line.starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(Entry {
        agent_id: required("agent_id", line.agent_id, integer)?,
        to_phone_number: required("to_phone_number", line.to_phone_number, text)?,
        call_context: required("call_context", line.call_context, object)?,
        external_id: optional("external_id", line.external_id, text)?,
        extra: optional("extra", line.extra, object)?,
        time_zone: optional("time_zone", line.time_zone, text)?,
    })
}

/// Converts a value; the error says what is allowed.
type Reading<T> = fn(&RawValue) -> Result<T, &'static str>;

fn integer(value: &RawValue) -> Result<i64, &'static str> {
    serde_json::from_str(value.get()).map_err(|_| "an integer of 64 bits")
}

fn text(value: &RawValue) -> Result<String, &'static str> {
    serde_json::from_str(value.get()).map_err(|_| "a string")
}

/// Returns the JSON of an object, or of a string that contains one. It is checked when it is sent.
fn object(value: &RawValue) -> Result<String, &'static str> {
    if value.get().starts_with('{') {
        return Ok(value.get().to_owned());
    }
    text(value).map_err(|_| "a JSON object, or a string that holds one")
}

fn required<T>(name: &str, value: Option<&RawValue>, read: Reading<T>) -> Result<T, String> {
    optional(name, value, read)?.ok_or_else(|| format!("`{name}` is missing"))
}

/// A member that is `null` counts as missing.
fn optional<T>(
    name: &str,
    value: Option<&RawValue>,
    read: Reading<T>,
) -> Result<Option<T>, String> {
    let Some(value) = value else { return Ok(None) };
    let read = read(value)
        .map_err(|allowed| format!("`{name}` is {}; allowed: {allowed}", kind(value.get())));
    read.map(Some)
}

fn kind(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        _ if json.contains(['.', 'e', 'E']) => "a number that is not whole",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_fields_of_an_entry() {
        let line = r#"{"agent_id": 7, "to_phone_number": "919876543210", "call_context": "{}"}"#;
        let plain = Entry {
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
            time_zone: None,
        };
        assert_eq!(read(line), Ok(plain.clone()));
        let line = r#"{"call_context": {"n": 1.10, "s": "\ud800"}, "external_id": "crm\u002d1",
            "extra": {"priority":1}, "agent_id": 7, "to_phone_number": "919876543210",
            "time_zone": "Asia/Kolkata"}"#;
        let full = Entry {
            call_context: r#"{"n": 1.10, "s": "\ud800"}"#.to_owned(),
            external_id: Some("crm-1".to_owned()),
            extra: Some(r#"{"priority":1}"#.to_owned()),
            time_zone: Some("Asia/Kolkata".to_owned()),
            ..plain.clone()
        };
        assert_eq!(read(line), Ok(full));
        let nulls = r#"{"agent_id": 7, "to_phone_number": "919876543210", "call_context": "{}",
            "external_id": null, "extra": null, "time_zone": null}"#;
        assert_eq!(read(nulls), Ok(plain));
    }

    #[test]
    fn what_is_wrong_is_named_without_its_value() {
        let with = |field: &str| {
            format!(r#"{{"agent_id":7,"to_phone_number":"9198","call_context":{{}},{field}}}"#)
        };
        for (line, expected) in [
            (
                with(r#""phone":"9199""#),
                "unknown field `phone`, expected one of `agent_id`",
            ),
            (with(r#""agent_id":8"#), "duplicate field `agent_id`"),
            (
                with(r#""external_id":9199"#),
                "`external_id` is a number; allowed: a string",
            ),
            (
                with(r#""extra":[]"#),
                "`extra` is an array; allowed: a JSON object, or a string",
            ),
            (
                r#"{"agent_id":7}"#.to_owned(),
                "`to_phone_number` is missing",
            ),
            (r#"{"agent_id":null}"#.to_owned(), "`agent_id` is missing"),
            (
                r#"{"agent_id":"7"}"#.to_owned(),
                "`agent_id` is a string; allowed: an integer of 64 bits",
            ),
            (
                r#"{"agent_id":7.0}"#.to_owned(),
                "`agent_id` is a number that is not whole",
            ),
            (r#"{"agent_id":7}{}"#.to_owned(), "trailing characters"),
            (r#"{"agent_id":7"#.to_owned(), "EOF"),
            (
                r#"[7,"9199",{},null,null,null]"#.to_owned(),
                "not a JSON object",
            ),
            (r#""9199""#.to_owned(), "not a JSON object"),
        ] {
            let error = read(&line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
            assert!(!error.contains("9199"), "{line}: {error}");
        }
    }
}
