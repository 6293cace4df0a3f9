//! Reads more strictly than serde, and reports where in the input something is wrong: a misspelt
//! field must not pass for one that is left out. Only integers of 64 bits may also be texts, since
//! some JSON libraries cannot write them otherwise.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// Prepends a step of the path to an error, which replaces its position in the JSON.
fn within<E: Error>(step: impl Display, error: E) -> E {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    E::custom(match text.strip_prefix('.') {
        Some(path) => format!(".{step}.{path}"),
        None => format!(".{step}: {text}"),
    })
}

/// A deserializer that rejects unknown fields; or the visitor, the seed or the content of a variant
/// that makes those of inner values strict.
pub(crate) struct Strict<T>(pub(crate) T);

/// Passes methods on with a strict visitor.
macro_rules! strictly {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(Strict(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    strictly! {
        deserialize_any deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_string deserialize_option deserialize_seq deserialize_map
    }

    // No input has them.
    forward_to_deserialize_any! {
        i8 i16 i32 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct tuple_struct
        identifier
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Integer(visitor))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Integer(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_seq(visitor)
    }

    /// Reads only from an object: reading from an array as well would make the module larger.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Strict(visitor))
    }

    /// Rejects the value of a field that the derived code does not know, and would ignore.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, D::Error> {
        Err(Error::custom("unknown field"))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.0.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.0.visit_str(value)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Elements { access, index: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let name = Name::default();
        self.0.visit_map(Members { access, name })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Strict(access))
    }
}

/// The visitor of an integer of 64 bits, which may also be a text.
struct Integer<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Integer<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        match (text.parse(), text.parse()) {
            (Ok(value), _) => self.0.visit_i64(value),
            (_, Ok(value)) => self.0.visit_u64(value),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(value))
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
        let index = self.index;
        self.index += 1;
        let element = self.access.next_element_seed(Strict(seed));
        element.map_err(|error| within(index, error))
    }
}

/// The name of a member or a variant.
#[derive(Default, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl Name<'_> {
    fn read<'de, S: DeserializeSeed<'de>, E: Error>(&self, seed: S) -> Result<S::Value, E> {
        seed.deserialize((*self.0).into_deserializer())
    }
}

struct Members<'de, A> {
    access: A,
    /// The name of the member whose value comes next.
    name: Name<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(name) = self.access.next_key()? else {
            return Ok(None);
        };
        self.name = name;
        self.name.read(seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.access.next_value_seed(Strict(seed));
        value.map_err(|error| within(&self.name.0, error))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<A> {
    type Error = A::Error;
    type Variant = Variant<'de, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, content): (Name<'de>, _) = self.0.variant()?;
        Ok((name.read(seed)?, Variant { name, content }))
    }
}

/// The content of a variant.
pub(crate) struct Variant<'de, A> {
    name: Name<'de>,
    content: A,
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Variant<'de, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.content.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.content.newtype_variant_seed(Strict(seed));
        value.map_err(|error| within(&self.name.0, error))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.content.tuple_variant(length, Strict(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.newtype_variant_seed(Object(visitor))
    }
}

/// The seed of an object.
struct Object<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Object<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        value.deserialize_map(self.0)
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
        event 7 => events.1: expected value
        event {"Begun":1} => events.1: unknown variant `Begun`, expected one of `Begin`, `Answered`
        event {"Abandon":null} => events.1.Abandon: invalid type: null
        event "Abandon" => events.1.Abandon: invalid type: unit variant
        event {"Abandon":1,"x":2} => events.1: expected value
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
