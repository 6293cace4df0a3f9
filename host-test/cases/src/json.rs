//! JSON whose numbers keep their digits, and whose objects keep all members in order.

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Error;
use serde_json::value::RawValue;
use std::fmt;

/// The depth to which values are parsed. Deeper values are strings in the table.
const MAX_DEPTH: usize = 500;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Box<RawValue>", into = "Box<RawValue>")]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number, in its original notation.
    Number(String),
    /// A string, decoded.
    Text(String),
    /// A string that no Rust string can hold (a lone surrogate), in its original notation.
    Undecodable(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: its members in their original order, duplicates included.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a text that contains one JSON value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read(serde_json::from_str(text)?, MAX_DEPTH)
    }

    fn read(raw: &RawValue, depth: usize) -> Result<Self, Error> {
        let text = raw.get();
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::custom(format!("nested deeper than {MAX_DEPTH}")));
        };
        Ok(match text.as_bytes()[0] {
            b'{' => {
                let members = serde_json::Deserializer::from_str(text).deserialize_map(Members)?;
                let member = |(name, value): (&RawValue, _)| {
                    let name = match Self::of_text(name.get()) {
                        Json::Text(name) | Json::Undecodable(name) => name,
                        _ => name.get().to_owned(),
                    };
                    Ok((name, Self::read(value, depth)?))
                };
                Json::Object(
                    members
                        .into_iter()
                        .map(member)
                        .collect::<Result<_, Error>>()?,
                )
            }
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text)?;
                let elements = elements.into_iter().map(|raw| Self::read(raw, depth));
                Json::Array(elements.collect::<Result<_, _>>()?)
            }
            b'"' => Self::of_text(text),
            b't' => Json::Boolean(true),
            b'f' => Json::Boolean(false),
            b'n' => Json::Null,
            _ => Json::Number(text.to_owned()),
        })
    }

    fn of_text(token: &str) -> Self {
        match serde_json::from_str(token) {
            Ok(text) => Json::Text(text),
            Err(_) => Json::Undecodable(token.to_owned()),
        }
    }

    /// Returns the last member of this name, as maps do.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else {
            return None;
        };
        let named = members.iter().rfind(|(other, _)| other == name);
        named.map(|(_, value)| value)
    }

    /// Returns the string, if the value is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the name and the value of an object's only member.
    pub(crate) fn lone_member(&self) -> Option<(&str, &Json)> {
        match self {
            Json::Object(members) => match members.as_slice() {
                [(name, value)] => Some((name, value)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns `true` if the value is an integer that is not negative.
    pub fn is_count(&self) -> bool {
        matches!(self, Json::Number(number) if decimal(number).is_some_and(
            |(is_negative, _, exponent)| !is_negative && exponent >= 0
        ))
    }

    /// Returns `true` if two numbers are equal, in any notation: `1`, `1.0` and `1e0` are.
    pub(crate) fn same_number(one: &str, other: &str) -> bool {
        match (decimal(one), decimal(other)) {
            (Some(one), Some(other)) => one == other,
            // The exponent is too large for an integer.
            _ => one == other,
        }
    }
}

impl TryFrom<Box<RawValue>> for Json {
    type Error = Error;

    fn try_from(written: Box<RawValue>) -> Result<Self, Error> {
        Self::parse(written.get())
    }
}

impl From<Json> for Box<RawValue> {
    fn from(json: Json) -> Self {
        RawValue::from_string(json.to_string()).expect("JSON")
    }
}

/// Deserializes `null` as a value, unlike a missing member.
pub(crate) fn even_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Writes the shortest form of the JSON.
impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => formatter.write_str("null"),
            Json::Boolean(flag) => write!(formatter, "{flag}"),
            Json::Number(token) | Json::Undecodable(token) => formatter.write_str(token),
            Json::Text(text) => formatter.write_str(&written(text)),
            Json::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(ToString::to_string).collect();
                write!(formatter, "[{}]", elements.join(","))
            }
            Json::Object(members) => {
                let member = |(name, value): &(String, Json)| format!("{}:{value}", written(name));
                let members: Vec<_> = members.iter().map(member).collect();
                write!(formatter, "{{{}}}", members.join(","))
            }
        }
    }
}

/// Returns a string as JSON, with its quotes.
fn written(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the value of a number: whether it is negative, its digits from the first to the last
/// that is not zero, and the number of zeros after them (negative for a fraction).
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches(['-', '0']).trim_end_matches('0');
    if digits.is_empty() {
        // -0 is 0: some languages cannot represent the difference.
        return Some((false, String::new(), 0));
    }
    let zeros_after = all.len() - all.trim_end_matches('0').len();
    let shift = i64::try_from(zeros_after).ok()? - i64::try_from(fraction.len()).ok()?;
    let exponent = exponent.parse::<i64>().ok()?.checked_add(shift)?;
    Some((number.starts_with('-'), digits.to_owned(), exponent))
}

/// Collects the members of an object in order, which a map would not keep.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again_without_white_space() {
        for (text, compact) in [
            ("null", "null"),
            (" [ 1 , 0.10 , 1E400 , -0 ] ", "[1,0.10,1E400,-0]"),
            (
                r#"{ "z" : {} , "a" : [] , "z" : "\ud83d" }"#,
                r#"{"z":{},"a":[],"z":"\ud83d"}"#,
            ),
            (r#""ä\u00e4\n""#, r#""ää\n""#),
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), compact);
        }
    }

    #[test]
    fn numbers_are_the_same_by_value_to_the_last_digit() {
        for (one, other, same) in [
            ("1", "1.0", true),
            ("100", "1e2", true),
            ("0.10", "1e-1", true),
            ("1e400", "10E+399", true),
            ("-0", "0.0", true),
            ("12345678901234567890", "12345678901234567891", false),
            ("9007199254740993", "9007199254740992", false),
            ("1", "-1", false),
            ("1e99999999999999999999", "1e99999999999999999999", true),
            ("1e99999999999999999999", "1e99999999999999999998", false),
        ] {
            assert_eq!(Json::same_number(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn counts_have_no_sign_and_no_fraction() {
        let is_count = |text: &str| Json::parse(text).unwrap().is_count();
        assert!(["0", "7.0", "70"].into_iter().all(is_count));
        assert!(!["-7", "0.5", "\"7\""].into_iter().any(is_count));
    }

    #[test]
    fn what_is_nested_without_end_is_refused() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::parse(&deep(MAX_DEPTH)).is_ok());
        assert!(Json::parse(&deep(MAX_DEPTH + 1)).is_err());
    }
}
