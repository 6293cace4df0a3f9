//! Request bodies as the service reads them. Free-form JSON keeps its text: digits, key order and
//! duplicate keys survive.

use std::collections::HashMap;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON object as it was sent.
#[derive(Clone, Debug)]
pub(super) struct JsonObject(pub(super) Box<RawValue>);

impl JsonObject {
    pub(super) fn empty() -> Self {
        Self(RawValue::from_string("{}".to_owned()).expect("{} is JSON"))
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        match text.get().starts_with('{') {
            true => Ok(Self(text)),
            false => {
                let found = text.get();
                let wrong = format!("expected a JSON object, found {found:.60}");
                Err(D::Error::custom(wrong))
            }
        }
    }
}

/// A JSON object whose values are strings, as specified for the context of direct calls.
#[derive(Debug)]
pub(super) struct Texts(pub(super) JsonObject);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = JsonObject::deserialize(deserializer)?;
        let values: HashMap<String, &RawValue> =
            serde_json::from_str(object.0.get()).map_err(D::Error::custom)?;
        match values.iter().find(|(_, json)| !json.get().starts_with('"')) {
            None => Ok(Self(object)),
            Some((name, _)) => Err(D::Error::custom(format!("{name:?} is not a string"))),
        }
    }
}

/// A string with at least one character.
pub(super) fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.is_empty() {
        false => Ok(text),
        true => Err(D::Error::custom("the string is empty")),
    }
}

/// Reads a body. The problem names the first field that is wrong.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let is_of_field = error.inner().is_data() && path != ".";
        let place = if is_of_field {
            format!("body.{path}")
        } else {
            "body".to_owned()
        };
        format!("{place}: {}", error.inner())
    })?;
    json.end().map_err(|error| format!("body: {error}"))?;
    Ok(value)
}
