//! JSON that is passed on unchanged: it is parsed only as deep as its meaning is known, and every
//! value keeps its original text.

use crate::decimal::Decimal;
use crate::exact::{self, Comparison};
use crate::names::ByName;
use crate::problem::problem;
use crate::reader::{Reader, unescape};
use crate::types::Problem;
use std::borrow::Cow;

/// Objects with more members, and lists with more records, are rejected before they use many times
/// the memory of their text.
const MAX_MEMBERS: usize = 100_000;
const MAX_ELEMENTS: usize = 10_000;

/// The depth to which values are examined.
const MAX_DEPTH: usize = 64;

/// The maximum length of a caller's key in an error.
const SHOWN_KEY_BYTES: usize = 64;

/// A JSON value: its original text, without the white space around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a>(&'a str);

impl<'a> Value<'a> {
    /// Parses a text that contains one JSON value. A byte order mark is skipped.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match Reader::new(text).document() {
            Ok(value) => Ok(Self(value)),
            Err(found) => Err(format!("not JSON: {found}")),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        self.0
    }

    /// Returns the kind of the value, for messages.
    pub(crate) fn kind(self) -> &'static str {
        match self.text().as_bytes()[0] {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a string",
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

    /// Returns the decoded text, or `None` for another kind and for a string that is not valid
    /// Unicode (with a lone surrogate).
    pub(crate) fn to_text(self) -> Option<String> {
        match self.is_text() {
            true => unescape(self.text()),
            false => None,
        }
    }

    /// Returns an integer that is written as one; `None` for a negative zero, which no integer is.
    pub(crate) fn to_integer(self) -> Option<i64> {
        match self.text() {
            "-0" => None,
            text => text.parse().ok(),
        }
    }

    /// Returns the number as an f64, as precisely as [`Decimal::nearest`]; `None` for another kind,
    /// and for a number beyond the largest f64.
    pub(crate) fn to_number(self) -> Option<f64> {
        let is_number = self.kind() == "a number";
        let number = is_number.then(|| Decimal::of(self.text()).nearest());
        number.filter(|number| number.is_finite())
    }

    pub(crate) fn to_boolean(self) -> Option<bool> {
        self.text().parse().ok()
    }

    /// Returns the members of an object; the error says what was found instead.
    pub(crate) fn to_object(self) -> Result<Object<'a>, String> {
        if !self.is_object() {
            return Err(self.kind().to_owned());
        }
        let member = |reader: &mut Reader<'a>| Some((reader.key()?, Value(reader.value()?)));
        match self.parts(b'}', MAX_MEMBERS, member) {
            Some(members) => Ok(Object {
                value: self,
                members,
            }),
            None => Err(format!("an object of more than {MAX_MEMBERS} members")),
        }
    }

    /// Returns the elements of an array; the error says what was found instead.
    pub(crate) fn to_array(self) -> Result<Vec<Value<'a>>, String> {
        if !self.text().starts_with('[') {
            return Err(self.kind().to_owned());
        }
        let elements = self.parts(b']', MAX_ELEMENTS, |reader| reader.value().map(Value));
        elements.ok_or_else(|| format!("an array of more than {MAX_ELEMENTS} elements"))
    }

    /// Returns the parts of an array or an object, or `None` if there are more than `at_most`. The
    /// text is known to be JSON, so that nothing else can fail.
    fn parts<P>(
        self,
        closing: u8,
        at_most: usize,
        part: impl Fn(&mut Reader<'a>) -> Option<P>,
    ) -> Option<Vec<P>> {
        let mut reader = Reader::new(&self.text()[1..]);
        let mut parts = Vec::new();
        while reader.has_next(closing, parts.is_empty())? {
            if parts.len() == at_most {
                return None;
            }
            parts.push(part(&mut reader)?);
        }
        Some(parts)
    }
}

impl Value<'_> {
    /// Returns `true` if the value has content. Nulls and empty texts do not, nor do lists and
    /// objects that contain only such values: serializers write them for what is not known yet.
    pub(crate) fn has_content(self) -> bool {
        self.has_content_at(MAX_DEPTH)
    }

    fn has_content_at(self, depth: usize) -> bool {
        let Some(deeper) = depth.checked_sub(1) else {
            return true;
        };
        match self.text().as_bytes()[0] {
            b'n' => false,
            b'"' => self.text() != "\"\"",
            b'{' => self.to_object().map_or(true, |object| {
                let mut members = object.members.iter();
                members.any(|(_, value)| value.has_content_at(deeper))
            }),
            b'[' => self.to_array().map_or(true, |elements| {
                elements.iter().any(|it| it.has_content_at(deeper))
            }),
            _ => true,
        }
    }

    /// Returns the one text that all notations of the value share, unless it is nested too deep.
    pub(crate) fn canonical(self) -> String {
        exact::canonical(self.0)
    }

    /// Compares two values, whatever their notation.
    pub(crate) fn compare(self, other: Value<'_>) -> Comparison {
        exact::compare(self.0, other.0)
    }
}

/// A JSON object, with its members in their original order, duplicates included.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    value: Value<'a>,
    /// Keys are kept as JSON texts, since a key may contain a lone surrogate.
    members: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// Returns an object without members, for a value that is not an object.
    pub(crate) fn empty(value: Value<'a>) -> Self {
        Object {
            value,
            members: Vec::new(),
        }
    }

    /// Returns the whole object, unchanged.
    pub(crate) fn json(&self) -> String {
        self.value.text().to_owned()
    }

    pub(crate) fn value(&self) -> Value<'a> {
        self.value
    }

    /// Returns a member, which may be null; the last one if the name is repeated.
    pub(crate) fn member(&self, name: &str) -> Option<Value<'a>> {
        let named = |key| decode_key(key).is_some_and(|key| key == name);
        let member = self.members.iter().rev().find(|(key, _)| named(key));
        member.map(|(_, value)| *value)
    }

    /// Returns all members with their names, `None` for a name that is not valid Unicode.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Option<Cow<'a, str>>, Value<'a>)> {
        self.members
            .iter()
            .map(|(key, value)| (decode_key(key), *value))
    }

    /// Returns the values of the members by name, since a name may be repeated.
    pub(crate) fn by_name(&self) -> ByName<'a, Value<'a>> {
        let values: Vec<_> = self.members.iter().map(|(_, value)| *value).collect();
        ByName::new(self.names(), &values)
    }

    /// Returns the names of the members; a name that is not valid Unicode is returned as it is
    /// written.
    pub(crate) fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let keys = self.members.iter().map(|(key, _)| *key);
        keys.map(|key| decode_key(key).unwrap_or(Cow::Borrowed(key)))
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

    /// Returns a member of any kind but null, as JSON.
    pub(crate) fn any_json(&self, name: &str) -> Option<String> {
        let value = self.member(name).filter(|value| value.text() != "null")?;
        Some(value.text().to_owned())
    }

    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.member(name)?.to_object().ok()
    }

    /// Returns a member that is an object, as JSON.
    pub(crate) fn object_json(&self, name: &str) -> Option<String> {
        let value = self.member(name)?;
        value.is_object().then(|| value.text().to_owned())
    }

    /// Returns the member that identifies the subject of the response. The response is useless
    /// without it, or if it contains a replaced character. The error says what was found.
    pub(crate) fn identifier(&self, name: &str) -> Result<String, String> {
        let allowed = "expected a non-empty string";
        let Some(value) = self.member(name) else {
            return Err(format!("`{name}` is missing; {allowed}"));
        };
        match value.to_text() {
            Some(text) if text.contains('\u{fffd}') => {
                Err(format!("`{name}` is not valid UTF-8; {allowed}"))
            }
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(format!("`{name}` is an empty string; {allowed}")),
            None if value.is_text() => Err(format!("`{name}` has a lone surrogate; {allowed}")),
            None => Err(format!("`{name}` is {}; {allowed}", value.kind())),
        }
    }
}

fn decode_key(key: &str) -> Option<Cow<'_, str>> {
    match key.contains('\\') {
        true => unescape(key).map(Cow::Owned),
        false => Some(Cow::Borrowed(&key[1..key.len() - 1])),
    }
}

/// Parses an argument that must be a JSON value of any kind.
pub(crate) fn json_argument<'a>(argument: &str, text: &'a str) -> Result<Value<'a>, Problem> {
    Value::parse(text).map_err(|found| problem(argument, found, "JSON"))
}

/// Parses an argument that must be a JSON object.
pub(crate) fn object_argument<'a>(argument: &str, text: &'a str) -> Result<Object<'a>, Problem> {
    let object = Value::parse(text).and_then(Value::to_object);
    object.map_err(|found| problem(argument, found, "a JSON object"))
}

/// Returns the name of a member for an error. It is cut, since callers' keys may be long.
pub(crate) fn member_name(argument: &str, name: &str) -> String {
    let shown = &name[..name.floor_char_boundary(SHOWN_KEY_BYTES)];
    let cut = if shown.len() < name.len() { "…" } else { "" };
    format!("{argument}.{shown}{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_elements_or_members_are_refused() {
        let array = |count: usize| {
            let json = format!("[{}]", vec!["0"; count].join(","));
            Value::parse(&json).and_then(|value| value.to_array().map(|them| them.len()))
        };
        assert_eq!(array(10_000), Ok(10_000));
        assert_eq!(
            array(10_001).unwrap_err(),
            "an array of more than 10000 elements"
        );
        let object = |count: usize| {
            let json = format!("{{{}}}", vec![r#""a":0"#; count].join(","));
            Value::parse(&json).and_then(|value| value.to_object().map(|it| it.members.len()))
        };
        assert_eq!(object(100_000), Ok(100_000));
        assert_eq!(
            object(100_001).unwrap_err(),
            "an object of more than 100000 members"
        );
    }

    #[test]
    fn nulls_and_empty_values_have_no_content_at_any_depth() {
        let empty = r#"null "" [] {} {"a":null,"b":{"c":"","d":[{},[null]]}}"#;
        let full = r#"0 false "\u0000" [0] {"a":null,"b":{"c":[{"d":false}]}}"#;
        for (values, has_content) in [(empty, false), (full, true)] {
            for json in values.split(' ') {
                let value = Value::parse(json).unwrap();
                assert_eq!(value.has_content(), has_content, "{json}");
            }
        }
        assert!(!Value::parse("[ ]").unwrap().has_content());
        assert!(Value::parse(r#"" ""#).unwrap().has_content());
    }

    #[test]
    fn a_value_that_is_too_deep_or_too_large_to_examine_has_content() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, expected) in [(64, false), (65, true), (100_000, true)] {
            let json = nested(depth);
            assert_eq!(
                Value::parse(&json).unwrap().has_content(),
                expected,
                "{depth}"
            );
        }
        let nulls = format!("[{}]", vec!["null"; MAX_ELEMENTS + 1].join(","));
        assert!(Value::parse(&nulls).unwrap().has_content());
    }

    #[test]
    fn a_long_key_is_cut_in_an_error() {
        let key = "\u{e4}".repeat(33);
        let cut = format!("extra.{}…", "\u{e4}".repeat(32));
        assert_eq!(member_name("extra", &key), cut);
        assert_eq!(member_name("extra", &key[..64]), cut.trim_end_matches('…'));
    }
}
