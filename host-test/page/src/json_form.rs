//! What a click sends: a JSON object, read field by field, so that what is wrong can be named.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// How much of a wrong value is repeated. Unit: characters.
const REPEATED: usize = 60;

/// The fields that have not been read yet.
pub(crate) struct JsonForm(BTreeMap<String, Box<RawValue>>);

impl JsonForm {
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let fields = serde_json::from_slice(body);
        fields
            .map(Self)
            .map_err(|error| format!("the body is not a JSON object: {error}"))
    }

    /// The text of a field; none where it is missing or null.
    pub(crate) fn text(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name).filter(|value| value.get() != "null")
    }

    /// A field that may be missing or null; `allowed` says what else it may be.
    pub(crate) fn optional<T: DeserializeOwned>(
        &mut self,
        name: &str,
        allowed: &str,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        let read = serde_json::from_str(value.get());
        read.map(Some)
            .map_err(|_| wrong(name, value.get(), allowed))
    }

    /// A field that must be there.
    pub(crate) fn required<T: DeserializeOwned>(
        &mut self,
        name: &str,
        allowed: &str,
    ) -> Result<T, String> {
        let value = self.optional(name, allowed)?;
        value.ok_or_else(|| format!("{name} is missing; allowed: {allowed}"))
    }

    /// All fields have been read.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.0.keys().next() {
            Some(name) => Err(format!("unknown field {name}")),
            None => Ok(()),
        }
    }
}

/// A field's value is not what it may be.
pub(crate) fn wrong(name: &str, found: &str, allowed: &str) -> String {
    let cut: String = found.chars().take(REPEATED).collect();
    format!("{name} is {cut}; allowed: {allowed}")
}
