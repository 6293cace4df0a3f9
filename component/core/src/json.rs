//! JSON that is passed on as it is: parsed only as deep as its meaning is known,
//! every value kept as the text it came in.

use crate::types::InvalidInput;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// More members or elements than this are refused before they take many times the
/// memory of the text that they came in.
const MAX_ELEMENTS: usize = 100_000;

/// How much of a caller's key is shown in an error.
const SHOWN_KEY_BYTES: usize = 64;

// ---------------------------------------------------------------- reading

/// A JSON value: the text that it came in, without the white space around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a>(&'a RawValue);

impl<'a> Value<'a> {
    /// Reads a text that holds one JSON value. A byte order mark is passed over.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str(text) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(format!("no JSON: {error}")),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        self.0.get()
    }

    pub(crate) fn is_null(self) -> bool {
        self.text() == "null"
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(self) -> &'static str {
        match self.text().as_bytes()[0] {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a text",
            b't' | b'f' => "a boolean",
            b'n' => "null",
            _ => "a number",
        }
    }

    pub(crate) fn is_object(self) -> bool {
        self.text().starts_with('{')
    }

    pub(crate) fn is_text(self) -> bool {
        self.text().starts_with('"')
    }

    /// The decoded text; none for another kind, and for a text that no Unicode
    /// string can hold (a lone surrogate).
    pub(crate) fn to_text(self) -> Option<String> {
        serde_json::from_str(self.text()).ok()
    }

    pub(crate) fn to_integer(self) -> Option<i64> {
        serde_json::from_str(self.text()).ok()
    }

    /// The nearest number that an f64 can hold; none for another kind, and for one
    /// beyond the largest.
    pub(crate) fn to_number(self) -> Option<f64> {
        // Every JSON number is one of Rust too, and serde_json is not exact to the last
        // digit.
        self.text()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    pub(crate) fn to_boolean(self) -> Option<bool> {
        serde_json::from_str(self.text()).ok()
    }

    /// The members of an object; the error says what was found instead.
    pub(crate) fn to_object(self) -> Result<Object<'a>, String> {
        if !self.is_object() {
            return Err(self.kind().to_owned());
        }
        let mut deserializer = serde_json::Deserializer::from_str(self.text());
        match deserializer.deserialize_map(Members) {
            Ok(members) => Ok(Object {
                value: self,
                members,
            }),
            Err(error) => Err(format!("an object that cannot be read: {error}")),
        }
    }

    /// The elements of an array; the error says what was found instead.
    pub(crate) fn to_array(self) -> Result<Vec<Value<'a>>, String> {
        if !self.text().starts_with('[') {
            return Err(self.kind().to_owned());
        }
        let mut deserializer = serde_json::Deserializer::from_str(self.text());
        match deserializer.deserialize_seq(Elements) {
            Ok(elements) => Ok(elements),
            Err(error) => Err(format!("an array that cannot be read: {error}")),
        }
    }
}

/// A JSON object, its members in the order they came, duplicates included.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    value: Value<'a>,
    /// Keys are kept as the JSON texts they are: a key may hold a lone surrogate.
    members: Vec<(&'a RawValue, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// An object without members in the place of a value that is none.
    pub(crate) fn empty(value: Value<'a>) -> Self {
        Object {
            value,
            members: Vec::new(),
        }
    }

    /// The whole object as it came.
    pub(crate) fn json(&self) -> String {
        self.value.text().to_owned()
    }

    pub(crate) fn value(&self) -> Value<'a> {
        self.value
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A member, null or not; the last one where the name occurs again.
    pub(crate) fn member(&self, name: &str) -> Option<Value<'a>> {
        let named = |key: &RawValue| decode_key(key).is_some_and(|key| key == name);
        let member = self.members.iter().rev().find(|(key, _)| named(key));
        member.map(|(_, value)| *value)
    }

    /// All members with their names; a name that no Unicode string can hold is
    /// none.
    fn members(&self) -> impl Iterator<Item = (Option<Cow<'a, str>>, Value<'a>)> {
        self.members
            .iter()
            .map(|(key, value)| (decode_key(key), *value))
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.member(name)?.to_text()
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.member(name)?.to_integer()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.member(name)?.to_number()
    }

    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        self.member(name)?.to_boolean()
    }

    /// A member of any kind but null, as JSON.
    pub(crate) fn any_json(&self, name: &str) -> Option<String> {
        let value = self.member(name).filter(|value| !value.is_null())?;
        Some(value.text().to_owned())
    }

    /// A member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.member(name)?.to_object().ok()
    }

    /// A member that is an object, as JSON.
    pub(crate) fn object_json(&self, name: &str) -> Option<String> {
        let value = self.member(name)?;
        value.is_object().then(|| value.text().to_owned())
    }

    /// A member that identifies what the answer is about: without it, or with a
    /// replaced character in it, the answer says nothing. The error says what was found.
    pub(crate) fn identifier(&self, name: &str) -> Result<String, String> {
        let allowed = "where a text that is not empty is specified";
        let Some(value) = self.member(name) else {
            return Err(format!("`{name}` is missing, {allowed}"));
        };
        match value.to_text() {
            Some(text) if text.contains('\u{fffd}') => {
                Err(format!("`{name}` has a broken character, {allowed}"))
            }
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(format!("`{name}` is an empty text, {allowed}")),
            None if value.is_text() => Err(format!("`{name}` has a lone surrogate, {allowed}")),
            None => Err(format!("`{name}` is {}, {allowed}", value.kind())),
        }
    }
}

fn decode_key(key: &RawValue) -> Option<Cow<'_, str>> {
    let text = key.get();
    let inner = &text[1..text.len() - 1];
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, Value<'de>)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            if members.len() == MAX_ELEMENTS {
                return Err(A::Error::custom(format!(
                    "more than {MAX_ELEMENTS} members"
                )));
            }
            members.push((key, Value(value)));
        }
        Ok(members)
    }
}

struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<Value<'de>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element::<&RawValue>()? {
            if elements.len() == MAX_ELEMENTS {
                return Err(A::Error::custom(format!(
                    "more than {MAX_ELEMENTS} elements"
                )));
            }
            elements.push(Value(element));
        }
        Ok(elements)
    }
}

// ---------------------------------------------------------------- arguments

/// An argument that must hold a JSON value of any kind.
pub(crate) fn json_argument<'a>(field: &str, text: &'a str) -> Result<Value<'a>, InvalidInput> {
    Value::parse(text).map_err(|found| InvalidInput {
        field: field.to_owned(),
        found,
        allowed: "JSON".to_owned(),
    })
}

/// An argument that must hold a JSON object.
pub(crate) fn object_argument<'a>(field: &str, text: &'a str) -> Result<Object<'a>, InvalidInput> {
    let found = match Value::parse(text).and_then(Value::to_object) {
        Ok(object) => return Ok(object),
        Err(found) => found,
    };
    Err(InvalidInput {
        field: field.to_owned(),
        found,
        allowed: "a JSON object".to_owned(),
    })
}

/// An argument that must hold a JSON object whose values are texts.
pub(crate) fn texts_argument<'a>(field: &str, text: &'a str) -> Result<Object<'a>, InvalidInput> {
    let object = object_argument(field, text)?;
    if let Some((name, value)) = object.members().find(|(_, value)| !value.is_text()) {
        return Err(InvalidInput {
            field: member_field(field, &name.unwrap_or_default()),
            found: value.kind().to_owned(),
            allowed: "a text".to_owned(),
        });
    }
    Ok(object)
}

/// The name of a member in an error: keys of callers may be long.
fn member_field(field: &str, name: &str) -> String {
    let shown = &name[..name.floor_char_boundary(SHOWN_KEY_BYTES)];
    let cut = if shown.len() < name.len() { "…" } else { "" };
    format!("{field}.{shown}{cut}")
}

// ---------------------------------------------------------------- writing

/// A value to be written.
pub(crate) enum Written<'a> {
    /// Left out, although the name is known.
    Absent,
    Null,
    Text(&'a str),
    Integer(i64),
    Boolean(bool),
    Json(Value<'a>),
    Object(Record<'a>),
}

impl<'a> Written<'a> {
    pub(crate) fn text(text: &'a Option<String>) -> Self {
        text.as_deref().map_or(Written::Absent, Written::Text)
    }

    pub(crate) fn integer(integer: Option<i64>) -> Self {
        integer.map_or(Written::Absent, Written::Integer)
    }

    pub(crate) fn boolean(boolean: Option<bool>) -> Self {
        boolean.map_or(Written::Absent, Written::Boolean)
    }
}

/// A JSON object to be written: the members that this package knows, then what
/// the caller adds.
pub(crate) struct Record<'a> {
    known: Vec<(&'static str, Written<'a>)>,
    extra: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(known: Vec<(&'static str, Written<'a>)>) -> Self {
        Self {
            known,
            extra: Vec::new(),
        }
    }

    /// Adds the members of the caller's `extra`, which must not be ones that this
    /// package has a field for. `field` names the argument.
    pub(crate) fn with_extra(
        mut self,
        field: &str,
        extra: Option<&'a str>,
    ) -> Result<Self, InvalidInput> {
        let Some(extra) = extra else {
            return Ok(self);
        };
        for (name, value) in object_argument(field, extra)?.members() {
            let Some(name) = name else {
                return Err(InvalidInput {
                    field: field.to_owned(),
                    found: "a key with a lone surrogate".to_owned(),
                    allowed: "keys that are Unicode text".to_owned(),
                });
            };
            if self.known.iter().any(|(known, _)| *known == name) {
                return Err(InvalidInput {
                    field: member_field(field, &name),
                    found: "a member that the request has a field for".to_owned(),
                    allowed: "other members".to_owned(),
                });
            }
            self.extra.push((name, value));
        }
        Ok(self)
    }

    /// The object as JSON text.
    pub(crate) fn to_json(&self) -> Result<String, InvalidInput> {
        serde_json::to_string(self).map_err(|error| InvalidInput {
            field: "request".to_owned(),
            found: error.to_string(),
            allowed: "what JSON can hold".to_owned(),
        })
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.known {
            if !matches!(value, Written::Absent) {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value.0)?;
        }
        map.end()
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Written::Absent | Written::Null => serializer.serialize_unit(),
            Written::Text(text) => serializer.serialize_str(text),
            Written::Integer(integer) => serializer.serialize_i64(*integer),
            Written::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Written::Json(value) => value.0.serialize(serializer),
            Written::Object(record) => record.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        Value::parse(text).and_then(Value::to_object).unwrap()
    }

    #[test]
    fn json_survives_as_it_came() {
        for text in [
            r#"{"big":12345678901234567890,"small":0.10,"huge":1e999,"neg":-0}"#,
            r#"{"z":1,"a":2,"z":3}"#,
            r#"{"cut":"\ud83d","\udc00":1}"#,
            "{ \"a\" : [ 1 ,\n2 ] }",
            r#"{"e":"\u00e4\/\u0000"}"#,
        ] {
            let context = object(text);
            assert_eq!(context.json(), text);
            let written = Record::new(vec![("call_context", Written::Json(context.value()))]);
            assert_eq!(
                written.to_json().unwrap(),
                format!(r#"{{"call_context":{text}}}"#)
            );
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            object(&format!(r#"{{"deep":{deep}}}"#)).any_json("deep"),
            Some(deep)
        );
    }

    #[test]
    fn a_value_of_another_type_costs_only_itself() {
        let record = object(
            r#"{"t":"x","i":7,"n":1.5,"b":true,"o":{},"a":[],"z":null,"cut":"\ud83d","t":"y"}"#,
        );
        assert_eq!(
            record.text("t").as_deref(),
            Some("y"),
            "the last of a name counts"
        );
        assert_eq!(record.integer("i"), Some(7));
        assert_eq!(
            (record.number("i"), record.number("n")),
            (Some(7.0), Some(1.5))
        );
        assert_eq!(record.boolean("b"), Some(true));
        assert_eq!(record.object_json("o").as_deref(), Some("{}"));
        for name in ["i", "n", "b", "o", "a", "z", "cut", "absent"] {
            assert_eq!(record.text(name), None, "{name}");
        }
        for name in ["t", "n", "b", "o", "a", "z", "absent"] {
            assert_eq!(record.integer(name), None, "{name}");
        }
        for name in ["t", "i", "n", "b", "a", "z", "absent"] {
            assert_eq!(record.object_json(name), None, "{name}");
        }
        assert_eq!(record.any_json("a").as_deref(), Some("[]"));
        assert_eq!(record.any_json("z"), None);
        assert_eq!(object(r#"{"i":99999999999999999999}"#).integer("i"), None);
        assert_eq!(object(r#"{"n":1e999}"#).number("n"), None);
    }

    #[test]
    fn a_number_is_the_nearest_that_there_is() {
        for (json, number) in [
            (
                "133333333333333333333333331231257827",
                Some(1.333_333_333_333_333_2e35),
            ),
            ("0.1000000000000000055511151231257827", Some(0.1)),
            ("5e-324", Some(f64::from_bits(1))),
            ("1e-400", Some(0.0)),
            ("1.7976931348623157e308", Some(f64::MAX)),
            ("1e309", None),
            ("\"7\"", None),
            ("[7]", None),
            ("null", None),
        ] {
            assert_eq!(Value::parse(json).unwrap().to_number(), number, "{json}");
        }
    }

    #[test]
    fn names_are_compared_decoded() {
        assert_eq!(
            object(r#"{"task\u005fid":"t"}"#).text("task_id").as_deref(),
            Some("t")
        );
    }

    #[test]
    fn what_is_no_json_says_so() {
        for text in [
            "",
            " ",
            "{",
            "NaN",
            "{\"a\":NaN}",
            "{'a':1}",
            "{\"a\":1,}",
            "{} {}",
            "\u{0}",
        ] {
            assert!(
                Value::parse(text).unwrap_err().starts_with("no JSON: "),
                "{text:?}"
            );
        }
        assert!(
            Value::parse("\u{feff}{}").is_ok(),
            "a byte order mark is passed over"
        );
    }

    #[test]
    fn too_many_elements_are_refused() {
        let many = |count: usize| format!("[{}]", vec!["0"; count].join(","));
        assert!(
            Value::parse(&many(MAX_ELEMENTS))
                .unwrap()
                .to_array()
                .is_ok()
        );
        let text = many(MAX_ELEMENTS + 1);
        let found = Value::parse(&text).unwrap().to_array().unwrap_err();
        assert!(found.contains("more than 100000 elements"), "{found}");
        let text = format!("{{{}}}", vec![r#""a":0"#; MAX_ELEMENTS + 1].join(","));
        let found = Value::parse(&text).unwrap().to_object().unwrap_err();
        assert!(found.contains("more than 100000 members"), "{found}");
    }

    #[test]
    fn extra_members_are_added_in_order_and_must_not_collide() {
        let record = |extra| {
            let known = vec![("a", Written::Integer(1)), ("left_out", Written::Absent)];
            Record::new(known).with_extra("extra", extra)
        };
        let written = record(Some(r#"{"z":0.10,"b":[1],"z":2}"#))
            .ok()
            .unwrap()
            .to_json()
            .unwrap();
        assert_eq!(written, r#"{"a":1,"z":0.10,"b":[1],"z":2}"#);
        for (extra, field, found) in [
            (
                r#"{"a":2}"#,
                "extra.a",
                "a member that the request has a field for",
            ),
            (
                r#"{"left_out":2}"#,
                "extra.left_out",
                "a member that the request has a field for",
            ),
            (
                r#"{"\u0061":2}"#,
                "extra.a",
                "a member that the request has a field for",
            ),
            (r#"{"\ud800":2}"#, "extra", "a key with a lone surrogate"),
            ("[]", "extra", "an array"),
            ("null", "extra", "null"),
        ] {
            let problem = record(Some(extra)).err().unwrap();
            assert_eq!(
                (problem.field.as_str(), problem.found.as_str()),
                (field, found)
            );
        }
    }
}
