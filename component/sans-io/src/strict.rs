//! Reads more strictly than serde, and says where in the input something is wrong: a field that is
//! misspelt must not pass for one that is left out. Only integers of 64 bits are also taken as
//! texts, since some JSON libraries cannot write them otherwise.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt::{self, Display};

/// Puts a step of the path to it before an error.
fn within<E: Error>(step: impl Display, error: E) -> E {
    let text = error.to_string();
    E::custom(match text.strip_prefix('.') {
        Some(path) => format!(".{step}.{path}"),
        None => format!(".{step}: {text}"),
    })
}

/// A deserializer, or the seed of a value, or its visitor.
pub(crate) struct Strict<T>(pub(crate) T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Strict(visitor))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Integer(visitor))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Integer(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Strict(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0
            .deserialize_struct(name, fields, Struct { fields, visitor })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0
            .deserialize_enum(name, variants, Enum { variants, visitor })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 u8 u16 u32 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
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

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Elements { elements, index: 0 })
    }
}

/// The visitor of an integer of 64 bits.
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

type Names = &'static [&'static str];

/// The name of a field or of a variant: one of those that there are.
struct Name {
    names: Names,
    unknown: fn(&str, Names) -> String,
}

impl<'de> DeserializeSeed<'de> for &Name {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for &Name {
    type Value = &'static str;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of {}", self.names.join(", "))
    }

    fn visit_str<E: Error>(self, found: &str) -> Result<&'static str, E> {
        let name = self.names.iter().copied().find(|name| *name == found);
        name.ok_or_else(|| E::custom((self.unknown)(found, self.names)))
    }
}

/// The visitor of a struct.
struct Struct<V> {
    fields: Names,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Struct<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Fields {
            access,
            fields: self.fields,
            field: "",
        })
    }
}

struct Fields<A> {
    access: A,
    fields: Names,
    /// Whose value comes next.
    field: &'static str,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let name = Name {
            names: self.fields,
            unknown: |found, fields| {
                format!(
                    "unknown field `{found}`, expected one of {}",
                    fields.join(", ")
                )
            },
        };
        let Some(field) = self.access.next_key_seed(&name)? else {
            return Ok(None);
        };
        self.field = field;
        seed.deserialize(deserializer_of(field)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.access.next_value_seed(Strict(seed));
        value.map_err(|error| within(self.field, error))
    }
}

fn deserializer_of<'a, E: Error>(name: &'a str) -> StrDeserializer<'a, E> {
    name.into_deserializer()
}

struct Elements<A> {
    elements: A,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let element = self.elements.next_element_seed(Strict(seed));
        let element = element.map_err(|error| within(self.index, error));
        self.index += 1;
        element
    }

    fn size_hint(&self) -> Option<usize> {
        self.elements.size_hint()
    }
}

/// The visitor of an enum.
struct Enum<V> {
    variants: Names,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Enum<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Variants {
            access,
            variants: self.variants,
        })
    }
}

struct Variants<A> {
    access: A,
    variants: Names,
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Variants<A> {
    type Error = A::Error;
    type Variant = Contents<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let name = Name {
            names: self.variants,
            unknown: |found, variants| {
                format!(
                    "unknown variant `{found}`, expected one of {}",
                    variants.join(", ")
                )
            },
        };
        let (variant, contents) = self.access.variant_seed(&name)?;
        let value = seed.deserialize(deserializer_of(variant))?;
        Ok((value, Contents { contents, variant }))
    }
}

/// What a variant carries: nothing or one value, as all variants of WIT do.
struct Contents<A> {
    contents: A,
    variant: &'static str,
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Contents<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        let unit = self.contents.unit_variant();
        unit.map_err(|error| within(self.variant, error))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.contents.newtype_variant_seed(Strict(seed));
        value.map_err(|error| within(self.variant, error))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.contents.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let value = self
            .contents
            .struct_variant(fields, Struct { fields, visitor });
        value.map_err(|error| within(self.variant, error))
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

    /// Inputs, of which an event is the second of a step and a create the call that it begins, and
    /// how what is said of them begins. What was found is not said: it may be a phone number.
    const MISUSES: &str = r#"
        {"event":[]} => unknown field `event`, expected one of events, now_ms
        {"events":[]} => missing field `now_ms`
        {"events":[],"now_ms":-1} => now_ms: invalid value: integer, expected
        {"events":[],"now_ms":1.5} => now_ms: invalid type: floating point, expected
        {"events":[],"now_ms":"x"} => now_ms: invalid value: string, expected
        {"events":[],"now_ms":1,"now_ms":1} => duplicate field `now_ms`
        {"events":[],"now_ms":1} x => trailing characters
        events => expected value
        => EOF while parsing a value
        event 7 => events.1: expected value
        event {"Begun":1} => events.1: unknown variant `Begun`, expected one of Begin, Answered
        event {"Abandon":null} => events.1.Abandon: invalid type: null
        event "Abandon" => events.1.Abandon: invalid type: unit variant
        event {"Head":{"exchange":1,"status":70000,"headers":[]}} => events.1.Head.status: invalid value: integer, expected
        event {"Head":{"exchange":1,"status":200,"headers":[["a","b"],["a"]]}} => events.1.Head.headers.1: invalid length 1
        create {"agent_id":1,"to_phone_numbr":"91"} => events.1.Begin.call.CreateDocketV2: unknown field `to_phone_numbr`, expected one of agent_id
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
        // A status is none.
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
