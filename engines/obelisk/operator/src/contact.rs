//! A line of the contact list: one person to be called.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::bindings::exports::voice_calling::operator::contacts::Entry;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    agent_id: i64,
    to_phone_number: String,
    call_context: Json,
    external_id: Option<String>,
    extra: Option<Json>,
    time_zone: Option<String>,
}

/// JSON as it stands in the line, or in a string there. It is checked with the contact.
struct Json(String);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let text = serde_json::from_str(json);
        Ok(Self(text.unwrap_or_else(|_| json.to_owned())))
    }
}

/// Parses a line. The error names the member or the column, and what is allowed; it does not
/// contain values, which are personal data.
pub(crate) fn read(line: &str) -> Result<Entry, String> {
    // Serde would accept an array of six as well.
    if !line.starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    let line: Line = serde_json::from_str(line).map_err(|error| without_value(&error))?;
    Ok(Entry {
        agent_id: line.agent_id,
        to_phone_number: line.to_phone_number,
        call_context: line.call_context.0,
        external_id: line.external_id,
        extra: line.extra.map(|extra| extra.0),
        time_zone: line.time_zone,
    })
}

/// Describes an error of serde, of which those about a value (`invalid type: …, expected …`) show it.
fn without_value(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid ") => format!("expected {expected}"),
        _ => text,
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
                "expected a string at line 1 column 7",
            ),
            (
                r#"{"agent_id":7}"#.to_owned(),
                "missing field `to_phone_number`",
            ),
            (r#"{"agent_id":null}"#.to_owned(), "expected i64 at"),
            (
                r#"{"agent_id":"9199, expected 7"}"#.to_owned(),
                "expected i64 at",
            ),
            (r#"{"agent_id":9199.0}"#.to_owned(), "expected i64 at"),
            (
                r#"{"agent_id":91999999999999999999}"#.to_owned(),
                "expected i64 at",
            ),
            (with(r#""extra":1"#) + "{}", "trailing characters"),
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
