//! JSON parsed by serde_json, one level at a time: the second way to a record's fields.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::json;
use serde_json::value::{RawValue, Value};
use std::fmt;

/// Returns the text of the JSON value in a body, in which bytes that are not UTF-8 are replaced,
/// without a byte order mark and the white space around it. It is empty if there is no JSON.
pub(crate) fn json_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str::<&RawValue>(text).map_or(String::new(), |json| json.get().to_owned())
}

/// Returns the elements of a JSON array, and `None` for anything else.
pub(crate) fn elements(json: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// The members of a JSON object; there are none for anything else. A name that is not valid Unicode
/// is `None`.
#[derive(Default)]
pub(crate) struct Members<'a>(Vec<(Option<String>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = members.next_entry::<&RawValue, &RawValue>()? {
            self.0
                .push((serde_json::from_str(name.get()).ok(), value.get()));
        }
        Ok(self)
    }
}

impl<'a> Members<'a> {
    pub(crate) fn of(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the last member with that name, as JSON.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let named = |key: &Option<String>| key.as_deref() == Some(name);
        let member = self.0.iter().rfind(|(key, _)| named(key))?;
        Some(member.1)
    }

    /// Returns the last member with that name, if it is an object.
    pub(crate) fn object(&self, name: &str) -> Option<&'a str> {
        self.get(name).filter(|json| json.starts_with('{'))
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Returns the text with that name, if it can identify the subject of an answer.
    pub(crate) fn identifier(&self, name: &str) -> Option<String> {
        let unbroken = |text: &String| !text.is_empty() && !text.contains('\u{fffd}');
        self.text(name).filter(unbroken)
    }
}

/// Returns a docket's id, which is a UUID of five groups of digits.
pub(crate) fn docket_id(members: &Members<'_>) -> Option<String> {
    let is_uuid = |text: &String| {
        let groups: Vec<_> = text.split('-').collect();
        let digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
        groups.iter().all(digits) && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
    };
    members.identifier("docket_id").filter(is_uuid)
}

/// Asserts that every field of a record is the value of the member with its name, whatever is
/// beside it.
pub(crate) fn assert_read(record: &impl Serialize, members: &Members<'_>) {
    let record = serde_json::to_value(record).expect("a record is JSON");
    assert_fields("", &record, members);
}

fn assert_fields(parent: &str, record: &Value, members: &Members<'_>) {
    for (name, value) in record.as_object().expect("a record") {
        match name.as_str() {
            // The client sets these itself, or the target examines them.
            "raw_json" | "request_id" | "attempts" | "may_be_duplicate" | "docket_id" => {}
            "call_insights" | "user_interest" | "next_action" => {
                let inner = members.object(name);
                assert_eq!(value.is_null(), inner.is_none(), "{name}");
                if let Some(json) = inner {
                    assert_fields(name, value, &Members::of(json));
                }
            }
            "call_duration_s" | "confidence_score" => {
                let number = members.get(name.trim_end_matches("_s")).and_then(number);
                assert!(is_near(value.as_f64(), number), "{name}");
            }
            _ => assert_eq!(*value, field(parent, name, members), "{name}"),
        }
    }
}

fn field(parent: &str, name: &str, members: &Members<'_>) -> Value {
    let read = |name: &str| members.get(name).unwrap_or("null");
    match (parent, name) {
        ("", "status" | "call_status") => members.text(name).map_or(Value::Null, |text| {
            let known = match (name, &*text) {
                ("status", "OPEN") => "Open",
                ("status", "IN_PROGRESS") => "InProgress",
                ("status", "COMPLETED") => "Completed",
                ("call_status", "ANSWERED") => "Answered",
                ("call_status", "NO_ANSWER") => "NoAnswer",
                ("call_status", "BUSY") => "Busy",
                _ => return json!({ "Other": text }),
            };
            known.into()
        }),
        (_, "agent_id" | "outbound_call_count") => {
            serde_json::from_str::<i64>(read(name)).ok().into()
        }
        (_, "created") => serde_json::from_str::<bool>(read(name)).ok().into(),
        (_, "call_context" | "metadata" | "call_metadata") => members.object(name).into(),
        _ => members.text(name).into(),
    }
}

fn number(json: &str) -> Option<f64> {
    let is_number = json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_number.then(|| json.parse().ok()).flatten()
}

/// Returns `true` if a number is near the one that was sent. Only numbers of up to 19 digits become
/// the nearest f64; those near the ends of its range may become infinite or zero.
fn is_near(read: Option<f64>, expected: Option<f64>) -> bool {
    match (read, expected) {
        (Some(read), Some(expected)) => {
            (read - expected).abs() <= expected.abs() / 1e13 + f64::MIN_POSITIVE
        }
        (None, Some(expected)) => expected.abs() > f64::MAX / 2.0,
        (read, None) => read.is_none(),
    }
}

/// Returns the values in an array or an object.
fn inner(json: &str) -> Vec<&str> {
    let members = Members::of(json).0.into_iter().map(|(_, json)| json);
    elements(json).unwrap_or_else(|| members.collect())
}

/// Returns `true` if a JSON value contains anything but nulls and empty values; values deeper than
/// so many levels count.
pub(crate) fn has_content(json: &str, levels: usize) -> bool {
    match json.starts_with(['{', '[']) {
        true => levels == 0 || inner(json).iter().any(|json| has_content(json, levels - 1)),
        false => !matches!(json, "null" | "\"\""),
    }
}

/// Returns `true` if parsers may read a JSON value differently: an object in it has a repeated
/// name, or it is deeper than so many levels.
pub(crate) fn is_ambiguous(json: &str, levels: usize) -> bool {
    let mut names: Vec<_> = Members::of(json)
        .0
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names.windows(2).any(|pair| pair[0] == pair[1])
        || json.starts_with(['{', '['])
            && (levels == 0
                || inner(json)
                    .iter()
                    .any(|json| is_ambiguous(json, levels - 1)))
}
