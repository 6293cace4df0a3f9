//! Request bodies as the service reads them. Free-form JSON keeps its text: digits, key order and
//! duplicate keys survive.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A JSON object as it was sent.
#[derive(Clone, Debug)]
pub(super) struct JsonObject(pub(super) Box<RawValue>);

impl JsonObject {
    /// Returns an object without fields.
    pub(super) fn empty() -> Self {
        Self(RawValue::from_string("{}".to_owned()).expect("{} is JSON"))
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        match text.get().starts_with('{') {
            true => Ok(Self(text)),
            false => Err(D::Error::custom("expected a JSON object")),
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

/// One entry of FastAPI's list of validation problems.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    loc: Vec<String>,
    msg: String,
}

impl Problem {
    pub(super) fn new(
        location: impl IntoIterator<Item = impl Into<String>>,
        kind: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            loc: location.into_iter().map(Into::into).collect(),
            msg: message.into(),
        }
    }

    /// Reports that the field `name` of the body is missing.
    pub(super) fn missing(name: &str) -> Self {
        Self::new(["body", name], "missing", "Field required")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.loc.join("."), self.msg)
    }
}

/// Reads a body. The problem names the first field that is wrong.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let message = error.to_string();
        // An error of the whole body has the path ".".
        let path = path.split('.').filter(|part| !part.is_empty());
        let mut location: Vec<_> = ["body"].into_iter().chain(path).collect();
        if !error.is_data() {
            return Problem::new(["body"], "json_invalid", message);
        }
        let missing = message.strip_prefix("missing field `");
        match missing.and_then(|rest| rest.split('`').next()) {
            Some(name) => {
                location.push(name);
                Problem::new(location, "missing", "Field required")
            }
            None => Problem::new(location, "value_error", &*message),
        }
    })?;
    let end = json.end();
    end.map_err(|error| Problem::new(["body"], "json_invalid", error.to_string()))?;
    Ok(value)
}
