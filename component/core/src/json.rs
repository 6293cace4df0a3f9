//! JSON that is passed on unchanged: it is parsed only as deep as its meaning is known, and every
//! value keeps its original text.

use crate::exact::{self, Comparison};
use crate::problem::problem;
use crate::tokens::{Token, Tokens};
use crate::types::Problem;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Objects with more members, and lists with more records, are rejected before they use many times
/// the memory of their text.
const MAX_MEMBERS: usize = 100_000;
const MAX_ELEMENTS: usize = 10_000;

/// The maximum length of a caller's key in an error.
const SHOWN_KEY_BYTES: usize = 64;

/// A JSON value: its original text, without the white space around it.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Value<'a>(&'a RawValue);

impl<'a> Value<'a> {
    /// Parses a text that contains one JSON value. A byte order mark is skipped.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str(text) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(format!("not JSON: {error}")),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        self.0.get()
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

    /// Returns the decoded text, or `None` for another kind and for a string that is not valid
    /// Unicode (with a lone surrogate).
    pub(crate) fn to_text(self) -> Option<String> {
        match self.content() {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object; the error says what was found instead.
    pub(crate) fn to_object(self) -> Result<Object<'a>, String> {
        match self.content() {
            Some(Content::Members(members)) => Ok(Object {
                value: self,
                members,
            }),
            None if self.is_object() => {
                Err(format!("an object of more than {MAX_MEMBERS} members"))
            }
            _ => Err(self.kind().to_owned()),
        }
    }

    /// Returns the elements of an array; the error says what was found instead.
    pub(crate) fn to_array(self) -> Result<Vec<Value<'a>>, String> {
        match self.content() {
            Some(Content::Elements(elements)) => Ok(elements),
            None if self.kind() == "an array" => {
                Err(format!("an array of more than {MAX_ELEMENTS} elements"))
            }
            _ => Err(self.kind().to_owned()),
        }
    }

    /// Reads the value as deep as its parts; `None` for a string that is not valid Unicode, for a
    /// number beyond the largest f64, and for too many parts.
    fn content(self) -> Option<Content<'a>> {
        self.0.deserialize_any(ReadContent).ok()
    }

    /// Returns `true` if the value has content. Nulls and empty texts do not, nor do lists and
    /// objects that contain only such values: serializers write them for what is not known yet.
    pub(crate) fn has_content(self) -> bool {
        let is_content = |token| matches!(token, Token::Scalar(it) if it != "null" && it != "\"\"");
        Tokens(self.text()).any(is_content)
    }

    /// Returns the one text that all notations of the value share, unless it is nested too deep.
    pub(crate) fn canonical(self) -> String {
        exact::canonical(self.text())
    }

    /// Compares two values, whatever their notation.
    pub(crate) fn compare(self, other: Value<'_>) -> Comparison {
        exact::compare(self.text(), other.text())
    }
}

/// The content of a value. Keys are kept as values, since one may have a lone surrogate.
enum Content<'a> {
    Text(String),
    Number(f64),
    Members(Vec<(Value<'a>, Value<'a>)>),
    Elements(Vec<Value<'a>>),
    Other,
}

/// Reads any kind of value, so that no code is needed for one that is not expected.
struct ReadContent;

impl<'a> Visitor<'a> for ReadContent {
    type Value = Content<'a>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content<'a>, E> {
        Ok(Content::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Content<'a>, E> {
        Ok(Content::Other)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Content<'a>, E> {
        Ok(Content::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Content<'a>, E> {
        Ok(Content::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Content<'a>, E> {
        Ok(Content::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'a>, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Content<'a>, M::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, _>()? {
            if members.len() == MAX_MEMBERS {
                return Err(M::Error::custom("too many members"));
            }
            members.push((Value(key), Value(value)));
        }
        Ok(Content::Members(members))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Content<'a>, S::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            if elements.len() == MAX_ELEMENTS {
                return Err(S::Error::custom("too many elements"));
            }
            elements.push(Value(element));
        }
        Ok(Content::Elements(elements))
    }
}

/// A JSON object, with its members in their original order, duplicates included.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    value: Value<'a>,
    members: Vec<(Value<'a>, Value<'a>)>,
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
        let named = |key: Value<'_>| decode_key(key).is_some_and(|key| key == name);
        let member = self.members.iter().rev().find(|(key, _)| named(*key));
        member.map(|(_, value)| *value)
    }

    /// Returns all members with their names, `None` for a name that is not valid Unicode.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Option<Cow<'a, str>>, Value<'a>)> {
        self.members
            .iter()
            .map(|(key, value)| (decode_key(*key), *value))
    }

    /// Returns the values of the members by name, since a name may be repeated.
    pub(crate) fn by_name(&self) -> BTreeMap<Cow<'a, str>, Vec<Value<'a>>> {
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for (name, (_, value)) in self.names().zip(&self.members) {
            by_name.entry(name).or_default().push(*value);
        }
        by_name
    }

    /// Returns the names of the members; a name that is not valid Unicode is returned as it is
    /// written.
    pub(crate) fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let keys = self.members.iter().map(|(key, _)| *key);
        keys.map(|key| decode_key(key).unwrap_or(Cow::Borrowed(key.text())))
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.member(name)?.to_text()
    }

    /// Returns an integer that is written as one.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        match self.member(name)?.text() {
            // No integer is a negative zero.
            "-0" => None,
            text => text.parse().ok(),
        }
    }

    /// Returns a number as serde_json reads it; `None` beyond the largest f64.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.member(name)?.content() {
            Some(Content::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> Option<bool> {
        self.member(name)?.text().parse().ok()
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
            None if value.text().starts_with('"') => {
                Err(format!("`{name}` has a lone surrogate; {allowed}"))
            }
            None => Err(format!("`{name}` is {}; {allowed}", value.kind())),
        }
    }
}

fn decode_key(key: Value<'_>) -> Option<Cow<'_, str>> {
    match key.text() {
        text if text.contains('\\') => key.to_text().map(Cow::Owned),
        text => Some(Cow::Borrowed(&text[1..text.len() - 1])),
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
    use fastrand::Rng;
    use serde_json::Value as Model;

    fn parse(text: &str) -> Value<'_> {
        Value::parse(text).unwrap()
    }

    #[test]
    fn a_value_is_read_by_its_kind_and_otherwise_named_by_it() {
        for (text, kind) in [
            ("{}", "an object"),
            ("[]", "an array"),
            (r#""""#, "a string"),
            ("true", "a boolean"),
            ("null", "null"),
            ("-1", "a number"),
        ] {
            assert_eq!(parse(text).kind(), kind);
        }
        assert_eq!(parse("{}").to_array().err().unwrap(), "an object");
        let object = parse(r#"{"n":-7,"yes":true,"no":false}"#).to_object();
        let object = object.unwrap();
        let flags = ["yes", "no", "n"].map(|name| object.boolean(name));
        assert_eq!(flags, [Some(true), Some(false), None]);
        assert_eq!(
            (object.integer("n"), object.integer("no")),
            (Some(-7), None)
        );
    }

    fn random_text(random: &mut Rng) -> String {
        let parts = ["a", ",:]}\n", "\"\\", "ä😀"];
        let few = 0..random.usize(..3);
        few.map(|_| parts[random.usize(..4)]).collect()
    }

    fn random_model(random: &mut Rng, depth: usize) -> Model {
        let few = 0..random.usize(..4);
        match random.usize(..if depth == 0 { 4 } else { 6 }) {
            0 => Model::Null,
            1 => random.bool().into(),
            2 => random.i8(..).into(),
            3 => random_text(random).into(),
            4 => few.map(|_| random_model(random, depth - 1)).collect(),
            _ => few
                .map(|_| (random_text(random), random_model(random, depth - 1)))
                .collect(),
        }
    }

    /// Writes a value with random white space and escapes, and its members in any order.
    fn written(model: &Model, random: &mut Rng) -> String {
        let text = match model {
            Model::Number(number) => format!("{number}{}", ["", ".0", "E0"][random.usize(..3)]),
            Model::String(text) if random.bool() => {
                let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                format!("\"{}\"", units.collect::<String>())
            }
            Model::Array(elements) => {
                let elements = elements.iter().map(|element| written(element, random));
                format!("[{}]", elements.collect::<Vec<_>>().join(","))
            }
            Model::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let name = written(&name.as_str().into(), random);
                    format!("{name}:{}", written(value, random))
                });
                let mut members: Vec<_> = members.collect();
                random.shuffle(&mut members);
                format!("{{{}}}", members.join(","))
            }
            other => other.to_string(),
        };
        let space = ["", " ", "\r\n\t"][random.usize(..3)];
        format!("{space}{text}{space}")
    }

    fn has_content(model: &Model) -> bool {
        match model {
            Model::Null => false,
            Model::String(text) => !text.is_empty(),
            Model::Array(elements) => elements.iter().any(has_content),
            Model::Object(members) => members.values().any(has_content),
            _ => true,
        }
    }

    fn assert_read_as(value: Value<'_>, model: &Model) {
        assert_eq!(value.has_content(), has_content(model), "{model}");
        assert_eq!(value.to_text().as_deref(), model.as_str());
        if let Some(expected) = model.as_array() {
            let elements = value.to_array().unwrap();
            assert_eq!(elements.len(), expected.len());
            elements
                .iter()
                .zip(expected)
                .for_each(|(element, expected)| assert_read_as(*element, expected));
        }
        if let Some(expected) = model.as_object() {
            let object = value.to_object().unwrap();
            assert_eq!(object.members.len(), expected.len());
            object
                .members()
                .for_each(|(name, member)| assert_read_as(member, &expected[&*name.unwrap()]));
        }
    }

    #[test]
    fn a_value_is_kept_read_and_compared_however_it_is_written() {
        for seed in 0..2_000 {
            let random = &mut Rng::with_seed(seed);
            let models = [random_model(random, 3), random_model(random, 3)];
            let [text, again] = [0, 0].map(|_| written(&models[0], random));
            let other = written(&models[1], random);
            let [value, again, other] = [&text, &again, &other].map(|text| parse(text));
            assert_eq!(value.text(), text.trim());
            assert_read_as(value, &models[0]);
            assert_eq!(value.compare(again), Comparison::Same, "{seed}");
            let expected = match models[0] == models[1] {
                true => Comparison::Same,
                false => Comparison::Different,
            };
            assert_eq!(value.compare(other), expected, "{seed}");
            assert_eq!(other.compare(value), expected, "{seed}");
        }
    }

    #[test]
    fn members_are_kept_in_order_with_what_no_f64_text_or_stack_can_hold() {
        let digits = "7".repeat(5_000);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!(
            r#"{{"b":{digits},"\ud800":1e999, "a" :{deep},"\u0062":"\ud800","a":"\ud83d\ude00"}}"#
        );
        let object = parse(&text).to_object().unwrap();
        let members = object.members().map(|(name, value)| (name, value.text()));
        let expected = [
            (Some("b".into()), &*digits),
            (None, "1e999"),
            (Some("a".into()), &*deep),
            (Some("b".into()), r#""\ud800""#),
            (Some("a".into()), r#""\ud83d\ude00""#),
        ];
        assert!(members.eq(expected));
        assert_eq!(
            (object.text("a").as_deref(), object.text("b")),
            (Some("😀"), None)
        );
        assert!(!parse(&deep).has_content());
    }

    #[test]
    fn too_many_elements_or_members_are_refused() {
        let of = |count: usize, part: &str| vec![part; count].join(",");
        let array = |count| {
            parse(&format!("[{}]", of(count, "0")))
                .to_array()
                .map(|them| them.len())
        };
        assert_eq!(array(10_000), Ok(10_000));
        let found = "an array of more than 10000 elements";
        assert_eq!(array(10_001).unwrap_err(), found);
        assert_eq!(array(10_002).unwrap_err(), found);
        let object = |count| {
            let object = format!("{{{}}}", of(count, r#""a":0"#));
            parse(&object)
                .to_object()
                .map(|object| object.members.len())
        };
        assert_eq!(object(100_000), Ok(100_000));
        let found = "an object of more than 100000 members";
        assert_eq!(object(100_001).unwrap_err(), found);
        assert_eq!(object(100_002).unwrap_err(), found);
    }

    #[test]
    fn an_error_says_where_the_text_is_not_json_and_shows_nothing_of_it() {
        for text in [
            "",
            "919876x",
            "[919876",
            "{919876:1}",
            "{} 919876",
            "true919876",
            "-1e919876.0",
            r#"{"919876" 1}"#,
            r#""919876\x""#,
            "\"919876\n\"",
        ] {
            let error = Value::parse(text).unwrap_err();
            assert!(
                error.starts_with("not JSON: ") && error.contains(" at line "),
                "{error}"
            );
            assert!(!error.contains("919876"), "{error}");
        }
    }

    #[test]
    fn a_long_key_is_cut_in_an_error() {
        let key = "\u{e4}".repeat(33);
        let cut = format!("extra.{}…", "\u{e4}".repeat(32));
        assert_eq!(member_name("extra", &key), cut);
        assert_eq!(member_name("extra", &key[..64]), cut.trim_end_matches('…'));
    }
}
