//! JSON that is not passed on as it came.

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The members that the specification names, in any answer and in the webhook.
const SPECIFIED: [&str; 36] = [
    "agent_id",
    "agent_name",
    "attempts",
    "call_context",
    "call_disposition",
    "call_duration",
    "call_insights",
    "call_metadata",
    "call_recording_url",
    "call_status",
    "call_type",
    "closed_at",
    "closed_call_id",
    "closure_reason",
    "confidence_score",
    "created",
    "created_at",
    "dashboard_url",
    "docket_id",
    "external_id",
    "first_called_at",
    "from_number",
    "latest_call_id",
    "metadata",
    "next_action",
    "notification_status",
    "outbound_call_count",
    "reason",
    "reasoning",
    "status",
    "task_id",
    "to_number",
    "to_phone_number",
    "updated_at",
    "user_interest",
    "value",
];

/// An object without the members that the specification does not name; anything else
/// as it is. Members of members stay.
pub(crate) fn without_unknown_fields(json: &str) -> String {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let Ok(members) = deserializer.deserialize_map(Members) else {
        return json.to_owned();
    };
    let known = members.iter().filter(|(key, _)| {
        let name = serde_json::from_str::<String>(key.get());
        name.is_ok_and(|name| SPECIFIED.contains(&name.as_str()))
    });
    let written: Vec<_> = known
        .map(|(key, value)| format!("{}:{}", key.get(), value.get()))
        .collect();
    format!("{{{}}}", written.join(","))
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// The same with every number as a 64-bit float has it. Nothing else changes: a passage
/// through `serde_json::Value` would lose the order of the keys as well.
pub(crate) fn with_rounded_numbers(json: &str) -> String {
    let mut rounded = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => text_length(rest),
            '-' | '0'..='9' => rest
                .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
                .unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match token.parse::<f64>() {
            Ok(number) if number.is_finite() && first != '"' => {
                rounded.push_str(&number.to_string());
            }
            _ => rounded.push_str(token),
        }
        rest = after;
    }
    rounded
}

/// The length of the JSON text at the beginning, both quotes included.
fn text_length(json: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_without_a_specified_name_are_dropped() {
        let json = r#"{"priority":1.10, "docket_id":"d","call_context":{"b":1,"a":[0.10]},"st\u0061tus":"OPEN","status":null,"\ud800":{}}"#;
        assert_eq!(
            without_unknown_fields(json),
            r#"{"docket_id":"d","call_context":{"b":1,"a":[0.10]},"st\u0061tus":"OPEN","status":null}"#
        );
        for json in ["[1.0]", "\"priority\"", "null", "7"] {
            assert_eq!(without_unknown_fields(json), json);
        }
    }

    #[test]
    fn numbers_lose_digits_and_nothing_else_changes() {
        let json = r#"{"z": 12345678901234567890, "amount":0.10,"n":[-1.50e2,7,1e999],"text \"1.10":"1.10\\","a":null,"€":true}"#;
        assert_eq!(
            with_rounded_numbers(json),
            r#"{"z": 12345678901234567000, "amount":0.1,"n":[-150,7,1e999],"text \"1.10":"1.10\\","a":null,"€":true}"#
        );
    }
}
