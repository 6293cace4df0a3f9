//! The core's records as JSON that JavaScript reads: names in camel case, without members that are
//! `None`, statuses in the words of the service, and free-form JSON as it came.

use crate::errors::error_json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use voice_calling::{Error, Recorded};

/// The fields that are JSON as text, those of `attempts` only where they are text.
const FREE_FORM: [&str; 4] = ["attempts", "call_context", "call_metadata", "metadata"];

/// The largest integer that is a number in JavaScript.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Reads JSON that JavaScript has checked.
pub(crate) fn read_json<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).expect("JavaScript has checked it")
}

/// Returns a record as JSON.
pub(crate) fn write_record(record: &impl Serialize) -> String {
    let value = serde_json::to_value(record).expect("a record is JSON");
    let mut json = String::new();
    write(&mut json, &value, "", "");
    json
}

/// Returns the outcome of an operation as `{"ok": …}` or `{"failure": …}`.
pub(crate) fn write_outcome<R: Serialize>(outcome: Result<R, Error>) -> String {
    match outcome {
        Ok(record) => ok(&write_record(&record)),
        Err(error) => failure(&error),
    }
}

/// Returns the outcome of a create, whose record also says whether it comes from the ledger.
pub(crate) fn write_created<R: Serialize>(outcome: Result<Recorded<R>, Error>) -> String {
    match outcome {
        Ok(recorded) => {
            let mut json = write_record(&recorded.answer);
            json.pop();
            ok(&format!(
                r#"{json},"fromLedger":{}}}"#,
                recorded.from_ledger
            ))
        }
        Err(error) => failure(&error),
    }
}

pub(crate) fn ok(json: &str) -> String {
    format!(r#"{{"ok":{json}}}"#)
}

pub(crate) fn failure(error: &Error) -> String {
    format!(r#"{{"failure":{}}}"#, error_json(error))
}

/// Writes the value of a field `name`, which is in the field `parent`.
fn write(json: &mut String, value: &Value, name: &str, parent: &str) {
    match value {
        Value::Object(members) => match members.get("Other") {
            Some(Value::String(word)) if members.len() == 1 => write_text(json, word),
            _ => {
                json.push('{');
                for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    if !json.ends_with('{') {
                        json.push(',');
                    }
                    write_text(json, &camel_case(member));
                    json.push(':');
                    write(json, value, member, name);
                }
                json.push('}');
            }
        },
        Value::Array(elements) => {
            json.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write(json, element, name, parent);
            }
            json.push(']');
        }
        Value::String(text) if FREE_FORM.contains(&name) && is_json(text) => json.push_str(text),
        Value::String(text) => write_text(json, word(text, name, parent).unwrap_or(text)),
        // JavaScript makes a `bigint` of the text.
        Value::Number(number) if number.as_i64().is_some_and(is_unsafe) => {
            write_text(json, &number.to_string());
        }
        other => json.push_str(&other.to_string()),
    }
}

/// Returns the service's word for a status of the core. Other statuses are the service's own texts.
fn word(name: &str, field: &str, parent: &str) -> Option<&'static str> {
    let is_status = field == "call_status" || (field == "status" && parent != "user_interest");
    match name {
        _ if !is_status => None,
        "Open" => Some("OPEN"),
        "InProgress" => Some("IN_PROGRESS"),
        "Completed" => Some("COMPLETED"),
        "Answered" => Some("ANSWERED"),
        "NoAnswer" => Some("NO_ANSWER"),
        "Busy" => Some("BUSY"),
        _ => None,
    }
}

fn is_unsafe(integer: i64) -> bool {
    integer.unsigned_abs() > MAX_SAFE_INTEGER
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

fn write_text(json: &mut String, text: &str) {
    json.push_str(&Value::from(text).to_string());
}

/// Returns `call_context` as `callContext`.
fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    for (index, word) in name.split('_').enumerate() {
        let (first, rest) = word.split_at(word.len().min(1));
        match index {
            0 => camel.push_str(first),
            _ => camel.push_str(&first.to_ascii_uppercase()),
        }
        camel.push_str(rest);
    }
    camel
}
