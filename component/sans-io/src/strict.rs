//! Reads more strictly than serde, and reports where in the input something is wrong: a misspelt
//! field must not pass for one that is left out. Only integers of 64 bits may also be texts, since
//! some JSON libraries cannot write them otherwise.

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use std::fmt::{self, Display};

/// Prepends a step of the path to an error, which replaces its position in the JSON.
fn within<E: Error>(step: impl Display, error: &serde_json::Error) -> E {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    E::custom(match text.strip_prefix('.') {
        Some(path) => format!(".{step}.{path}"),
        None => format!(".{step}: {text}"),
    })
}

/// A value to read: JSON that has not been examined.
pub(crate) struct Strict<'de>(pub(crate) &'de RawValue);

impl<'de> Strict<'de> {
    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        let json = self.0.get();
        let unquoted = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(text) = unquoted else {
            return self.deserialize_any(visitor);
        };
        match (text.parse(), text.parse()) {
            (Ok(value), _) => visitor.visit_i64(value),
            (_, Ok(value)) => visitor.visit_u64(value),
            _ => Err(Error::invalid_value(Unexpected::Str(text), &visitor)),
        }
    }
}

impl<'de> Deserializer<'de> for Strict<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let json = self.0.get();
        let mut reader = serde_json::Deserializer::from_str(json);
        match json.as_bytes()[0] {
            b'{' => reader.deserialize_map(Inner(visitor)),
            b'[' => reader.deserialize_seq(Inner(visitor)),
            b'"' => visitor.visit_string(serde_json::from_str(json)?),
            b't' | b'f' => visitor.visit_bool(json == "true"),
            b'n' => visitor.visit_unit(),
            _ => match (json.parse(), json.parse()) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(serde_json::from_str(json)?),
            },
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.integer(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.integer(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0.get() {
            "null" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let json = self.0.get();
        if json.starts_with('{') {
            return serde_json::Deserializer::from_str(json).deserialize_map(Variant(visitor));
        }
        let name: String = serde_json::from_str(json)?;
        visitor.visit_enum(name.into_deserializer())
    }

    /// Reads only from an object: reading from an array as well would make the module larger.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        serde_json::Deserializer::from_str(self.0.get()).deserialize_map(Inner(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_map(visitor)
    }

    /// Rejects the value of a field that the derived code does not know, and would ignore.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("unknown field"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 u8 u16 u32 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct identifier
    }
}

/// The visitor of an array or an object, which reads all values strictly.
struct Inner<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Inner<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let index = 0;
        self.0.visit_seq(Elements { access, index })
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let name = String::new();
        self.0.visit_map(Members { access, name })
    }
}

/// The visitor of an enum: a variant is the name of a member, and its content the value.
struct Variant<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Variant<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let name = String::new();
        let members = Members { access, name };
        self.0.visit_enum(MapAccessDeserializer::new(members))
    }
}

struct Elements<A> {
    access: A,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(json) = self.access.next_element()? else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        let element = seed.deserialize(Strict(json));
        element.map(Some).map_err(|error| within(index, &error))
    }
}

struct Members<A> {
    access: A,
    /// The name of the member whose value comes next.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(name) = self.access.next_key()? else {
            return Ok(None);
        };
        self.name = name;
        let key = seed.deserialize(self.name.as_str().into_deserializer());
        key.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = seed.deserialize(Strict(self.access.next_value()?));
        value.map_err(|error| within(&self.name, &error))
    }
}

#[cfg(test)]
mod tests {
    use crate::json::read;
    use crate::types::Event;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Input {
        events: Vec<Event>,
        now_ms: u64,
    }

    /// Inputs (an event is the second of a step, and a create the call that it begins), and how
    /// their errors begin. The errors do not contain the value, which may be a phone number.
    const MISUSES: &str = r#"
        {"event":[]} => event: unknown field
        {"events":[]} => missing field `now_ms`
        {"events":[],"now_ms":-1} => now_ms: invalid value: integer, expected
        {"events":[],"now_ms":1.5} => now_ms: invalid type: floating point, expected
        {"events":[],"now_ms":"x"} => now_ms: invalid value: string, expected
        {"events":[],"now_ms":1,"now_ms":1} => duplicate field `now_ms`
        {"events":[],"now_ms":1} x => trailing characters
        events => expected value
        => EOF while parsing a value
        event 7 => events.1: invalid type: integer, expected a string
        event {"Begun":1} => events.1: unknown variant `Begun`, expected one of `Begin`, `Answered`
        event {"Abandon":null} => events.1.Abandon: invalid type: null
        event "Abandon" => events.1: invalid type: unit variant
        event {"Abandon":1,"x":2} => events.1: trailing
        event {"Head":{"exchange":1,"status":70000,"headers":[]}} => events.1.Head.status: invalid value: integer, expected
        event {"Head":{"exchange":1,"status":200,"headers":[["a","b"],["a"]]}} => events.1.Head.headers.1: invalid length 1
        create {"agent_id":1,"to_phone_numbr":"91"} => events.1.Begin.call.CreateDocketV2.to_phone_numbr: unknown field
        create {"agent_id":1,"external_id":919876543210} => events.1.Begin.call.CreateDocketV2.external_id: invalid type: integer, expected
        create {"agent_id":1} => events.1.Begin.call.CreateDocketV2: missing field `to_phone_number`"#;

    #[test]
    fn what_is_wrong_is_said_with_the_path_to_it() {
        for line in MISUSES.lines().skip(1) {
            let (input, expected) = line.trim().split_once("=> ").unwrap();
            let event = |event: &str| format!(r#"{{"events":[{{"Abandon":1}},{event}]}}"#);
            let json = match input.trim().split_once(' ') {
                Some(("event", json)) => event(json),
                Some(("create", json)) => event(&format!(
                    r#"{{"Begin":{{"operation":1,"call":{{"CreateDocketV2":{json}}}}}}}"#
                )),
                _ => input.to_owned(),
            };
            let said = read::<Input>(json.as_bytes()).unwrap_err();
            assert!(said.starts_with(expected), "{said}\n{expected}");
        }
    }

    #[test]
    fn integers_of_64_bits_may_be_texts() {
        let read = |json: &str| read::<Input>(json.as_bytes());
        let largest = u64::MAX;
        assert_eq!(
            read(r#"{"events":[{"Abandon":"18446744073709551615"}],"now_ms":"7"}"#),
            Ok(Input {
                events: vec![Event::Abandon(largest)],
                now_ms: 7
            })
        );
        for text in ["", "-1", "1.0", " 1", "0x1", "18446744073709551616"] {
            assert!(
                read(&format!(r#"{{"events":[],"now_ms":"{text}"}}"#)).is_err(),
                "{text}"
            );
        }
        // A status must be an integer.
        let status =
            r#"{"events":[{"Head":{"exchange":1,"status":"200","headers":[]}}],"now_ms":1}"#;
        assert!(read(status).is_err());
    }

    #[test]
    fn options_may_be_left_out_and_bodies_be_bytes_or_texts() {
        let json = r#"{"events":[
            {"Ended":{"exchange":1}},
            {"Ended":{"exchange":1,"error":null}},
            {"Chunk":{"exchange":1,"bytes":{"Bytes":[0,255]}}},
            {"Chunk":{"exchange":1,"bytes":{"Text":"\u00e4\ud83d\ude00"}}}
        ],"now_ms":0}"#;
        assert_eq!(read::<Input>(json.as_bytes()).unwrap().events.len(), 4);
    }
}
