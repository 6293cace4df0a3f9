//! JSON that is passed on as it is: parsed only as deep as its meaning is known,
//! every value kept as the text it came in.

use crate::decimal::Decimal;
use crate::exact::{self, Comparison};
use crate::names::ByName;
use crate::problem::problem;
use crate::reader::{Reader, unescape};
use crate::types::Problem;
use std::borrow::Cow;

/// More members of an object, or records of a list, are refused before they take many times the
/// memory of the text that they came in.
const MAX_MEMBERS: usize = 100_000;
const MAX_ELEMENTS: usize = 10_000;

/// How deep values are looked into.
const MAX_DEPTH: usize = 64;

/// How much of a caller's key is shown in an error.
const SHOWN_KEY_BYTES: usize = 64;

/// A JSON value: the text that it came in, without the white space around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a>(&'a str);

impl<'a> Value<'a> {
    /// Reads a string that holds one JSON value. A byte order mark is passed over.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match Reader::new(text).whole() {
            Ok(value) => Ok(Self(value)),
            Err(found) => Err(format!("not JSON: {found}")),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        self.0
    }

    pub(crate) fn is_null(self) -> bool {
        self.text() == "null"
    }

    /// What kind of value it is, for messages.
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

    /// The decoded text; none for another kind, and for a string that no Unicode
    /// string can hold (a lone surrogate).
    pub(crate) fn to_text(self) -> Option<String> {
        match self.is_text() {
            true => unescape(self.text()),
            false => None,
        }
    }

    /// An integer that is written as one; none for a negative zero, which no integer is.
    pub(crate) fn to_integer(self) -> Option<i64> {
        match self.text() {
            "-0" => None,
            text => text.parse().ok(),
        }
    }

    /// The number as an f64, as near as [`Decimal::nearest`] says; none for another kind, and for
    /// one beyond the largest.
    pub(crate) fn to_number(self) -> Option<f64> {
        let is_number = self.kind() == "a number";
        let number = is_number.then(|| Decimal::of(self.text()).nearest());
        number.filter(|number| number.is_finite())
    }

    pub(crate) fn to_boolean(self) -> Option<bool> {
        self.text().parse().ok()
    }

    /// The members of an object; the error says what was found instead.
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

    /// The elements of an array; the error says what was found instead.
    pub(crate) fn to_array(self) -> Result<Vec<Value<'a>>, String> {
        if !self.text().starts_with('[') {
            return Err(self.kind().to_owned());
        }
        let elements = self.parts(b']', MAX_ELEMENTS, |reader| reader.value().map(Value));
        elements.ok_or_else(|| format!("an array of more than {MAX_ELEMENTS} elements"))
    }

    /// The parts of an array or an object. It is known to be JSON, so that reading it can fail only
    /// if there are more than so many.
    fn parts<P>(
        self,
        closing: u8,
        at_most: usize,
        part: impl Fn(&mut Reader<'a>) -> Option<P>,
    ) -> Option<Vec<P>> {
        let mut reader = Reader::new(&self.text()[1..]);
        let mut parts = Vec::new();
        while reader.goes_on(closing, parts.is_empty())? {
            if parts.len() == at_most {
                return None;
            }
            parts.push(part(&mut reader)?);
        }
        Some(parts)
    }
}

impl Value<'_> {
    /// Whether it says anything: nulls, empty texts, empty lists and objects of such do not, since
    /// serializers write them for what is not known yet.
    pub(crate) fn is_evidence(self) -> bool {
        self.says_anything(MAX_DEPTH)
    }

    fn says_anything(self, depth: usize) -> bool {
        let Some(deeper) = depth.checked_sub(1) else {
            return true;
        };
        match self.text().as_bytes()[0] {
            b'n' => false,
            b'"' => self.text() != "\"\"",
            b'{' => self.to_object().map_or(true, |object| {
                let mut members = object.members.iter();
                members.any(|(_, value)| value.says_anything(deeper))
            }),
            b'[' => self.to_array().map_or(true, |elements| {
                elements.iter().any(|element| element.says_anything(deeper))
            }),
            _ => true,
        }
    }

    /// The one text that all ways to write it have in common, as far as it is not too deep.
    pub(crate) fn canonical(self) -> String {
        exact::normal(self.0)
    }

    /// Compares it with another value, however they are written.
    pub(crate) fn compare(self, other: Value<'_>) -> Comparison {
        exact::compare(self.0, other.0)
    }
}

/// A JSON object, its members in the order they came, duplicates included.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    value: Value<'a>,
    /// Keys are kept as the JSON texts they are: a key may hold a lone surrogate.
    members: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// An object without members in place of a value that is none.
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

    /// A member, null or not; the last one where the name occurs again.
    pub(crate) fn member(&self, name: &str) -> Option<Value<'a>> {
        let named = |key| decode_key(key).is_some_and(|key| key == name);
        let member = self.members.iter().rev().find(|(key, _)| named(key));
        member.map(|(_, value)| *value)
    }

    /// All members with their names; a name that no Unicode string can hold is
    /// none.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Option<Cow<'a, str>>, Value<'a>)> {
        self.members
            .iter()
            .map(|(key, value)| (decode_key(key), *value))
    }

    /// The values of the members by their names, of which one may occur again.
    pub(crate) fn by_name(&self) -> ByName<'a, Value<'a>> {
        let values: Vec<_> = self.members.iter().map(|(_, value)| *value).collect();
        ByName::new(self.names(), &values)
    }

    /// The names of the members; one that no Unicode string can hold, as it is written.
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

// ---------------------------------------------------------------- arguments

/// An argument that must hold a JSON value of any kind.
pub(crate) fn json_argument<'a>(argument: &str, text: &'a str) -> Result<Value<'a>, Problem> {
    Value::parse(text).map_err(|found| problem(argument, found, "JSON"))
}

/// An argument that must hold a JSON object.
pub(crate) fn object_argument<'a>(argument: &str, text: &'a str) -> Result<Object<'a>, Problem> {
    let object = Value::parse(text).and_then(Value::to_object);
    object.map_err(|found| problem(argument, found, "a JSON object"))
}

/// The name of a member in an error: keys of callers may be long.
pub(crate) fn member_name(argument: &str, name: &str) -> String {
    let shown = &name[..name.floor_char_boundary(SHOWN_KEY_BYTES)];
    let cut = if shown.len() < name.len() { "…" } else { "" };
    format!("{argument}.{shown}{cut}")
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
            assert_eq!(object(text).json(), text);
            assert_eq!(object(text).value().text(), text);
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
            r#"{"t":"x","i":7,"n":1.5,"b":true,"o":{},"a":[],"z":null,"cut":"\ud83d","\u0074":"y"}"#,
        );
        for name in ["t", "i", "n", "b", "o", "a", "z", "cut", "absent"] {
            // The last of a name counts, however it is written.
            let text = Some("y").filter(|_| name == "t");
            assert_eq!(record.text(name).as_deref(), text, "{name}");
            let integer = Some(7).filter(|_| name == "i");
            assert_eq!(record.integer(name), integer, "{name}");
            let number = integer.map(|_| 7.0).or(Some(1.5).filter(|_| name == "n"));
            assert_eq!(record.number(name), number, "{name}");
            let boolean = Some(true).filter(|_| name == "b");
            assert_eq!(record.boolean(name), boolean, "{name}");
            let json = Some("{}").filter(|_| name == "o");
            assert_eq!(record.object_json(name).as_deref(), json, "{name}");
            assert_eq!(record.object(name).is_some(), name == "o", "{name}");
            let is_any = !["z", "absent"].contains(&name);
            assert_eq!(record.any_json(name).is_some(), is_any, "{name}");
        }
        assert_eq!(object(r#"{"i":99999999999999999999}"#).integer("i"), None);
        assert_eq!(object(r#"{"i":-0}"#).integer("i"), None);
        assert_eq!(object(r#"{"n":1e309}"#).number("n"), None);
    }

    #[test]
    fn what_is_no_json_says_so() {
        for text in ["", "{\"a\":NaN}", "{} {}"] {
            let found = Value::parse(text).unwrap_err();
            assert!(found.starts_with("not JSON: "), "{text:?}");
        }
        let marked = Value::parse("\u{feff}{}");
        assert!(marked.is_ok(), "a byte order mark is passed over");
    }

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
    fn nulls_and_empty_values_are_no_evidence_however_deep_they_are() {
        let empty = r#"null "" [] {} {"a":null,"b":{"c":"","d":[{},[null]]}}"#;
        let full = r#"0 false "\u0000" [0] {"a":null,"b":{"c":[{"d":false}]}}"#;
        for (values, is_evidence) in [(empty, false), (full, true)] {
            for json in values.split(' ') {
                let value = Value::parse(json).unwrap();
                assert_eq!(value.is_evidence(), is_evidence, "{json}");
            }
        }
        assert!(!Value::parse("[ ]").unwrap().is_evidence());
        assert!(Value::parse(r#"" ""#).unwrap().is_evidence());
    }

    #[test]
    fn what_is_too_deep_or_too_much_to_look_into_is_evidence() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, expected) in [(64, false), (65, true), (100_000, true)] {
            let json = nested(depth);
            assert_eq!(
                Value::parse(&json).unwrap().is_evidence(),
                expected,
                "{depth}"
            );
        }
        let nulls = format!("[{}]", vec!["null"; MAX_ELEMENTS + 1].join(","));
        assert!(Value::parse(&nulls).unwrap().is_evidence());
    }

    #[test]
    fn a_long_key_is_cut_in_an_error() {
        let key = "\u{e4}".repeat(33);
        let cut = format!("extra.{}…", "\u{e4}".repeat(32));
        assert_eq!(member_name("extra", &key), cut);
        assert_eq!(member_name("extra", &key[..64]), cut.trim_end_matches('…'));
    }
}
