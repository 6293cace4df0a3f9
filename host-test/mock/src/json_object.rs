//! Request bodies as the service reads them: field by field, collecting every
//! problem, and keeping the text of free-form JSON untouched.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object with its own text: digits, key order and duplicate keys survive.
#[derive(Clone, Debug)]
pub(super) struct JsonObject {
    /// The object as it was sent.
    pub(super) text: Box<RawValue>,
    entries: Entries,
}

/// Keys stay raw too: one may hold a lone surrogate, which no `String` can.
#[derive(Clone, Debug)]
struct Entries(Vec<(Box<RawValue>, Box<RawValue>)>);

impl JsonObject {
    /// An object without fields.
    pub(super) fn empty() -> Self {
        Self {
            text: RawValue::from_string("{}".to_owned()).expect("{} is JSON"),
            entries: Entries(Vec::new()),
        }
    }

    /// The last value of `name`, as parsers with maps see it.
    fn get(&self, name: &str) -> Option<&RawValue> {
        let is_name = |key: &RawValue| serde_json::from_str::<String>(key.get()).ok();
        let mut newest_first = self.entries.0.iter().rev();
        newest_first
            .find(|(key, _)| is_name(key).as_deref() == Some(name))
            .map(|(_, value)| &**value)
    }

    /// The names (raw, without quotes) of the fields whose value is not a string.
    pub(super) fn fields_not_string(&self) -> impl Iterator<Item = &str> {
        let not_string = |value: &RawValue| !value.get().starts_with('"');
        let entries = self.entries.0.iter();
        entries
            .filter(move |(_, value)| not_string(value))
            .map(|(key, _)| key.get().trim_matches('"'))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A type of field, with the words a FastAPI service refuses other types with.
pub(super) trait FieldType: Sized {
    const KIND: &'static str;
    const MESSAGE: &'static str;

    fn read(json: &RawValue) -> Option<Self>;
}

impl FieldType for String {
    const KIND: &'static str = "string_type";
    const MESSAGE: &'static str = "Input should be a valid string";

    fn read(json: &RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }
}

impl FieldType for i64 {
    const KIND: &'static str = "int_type";
    const MESSAGE: &'static str = "Input should be a valid integer";

    fn read(json: &RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }
}

impl FieldType for bool {
    const KIND: &'static str = "bool_type";
    const MESSAGE: &'static str = "Input should be a valid boolean";

    fn read(json: &RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }
}

impl FieldType for JsonObject {
    const KIND: &'static str = "dict_type";
    const MESSAGE: &'static str = "Input should be a valid dictionary";

    fn read(json: &RawValue) -> Option<Self> {
        Some(Self {
            text: json.to_owned(),
            entries: serde_json::from_str(json.get()).ok()?,
        })
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
    pub(super) fn new(location: &[&str], kind: &'static str, message: &str) -> Self {
        Self {
            kind,
            loc: location.iter().map(|&part| part.to_owned()).collect(),
            msg: message.to_owned(),
        }
    }

    pub(super) fn sentence(&self) -> String {
        format!("{}: {}", self.loc.join("."), self.msg)
    }
}

/// Reads the fields of one object, noting what is wrong with them.
pub(super) struct Fields<'a> {
    object: &'a JsonObject,
    path: Vec<&'a str>,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Of `object`, which stands at `path` in the request (`["body"]` at the top).
    pub(super) fn new(
        object: &'a JsonObject,
        path: &[&'a str],
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        Self {
            object,
            path: path.to_vec(),
            problems,
        }
    }

    /// Of `object`, which is the field `name` of this one.
    pub(super) fn within<'b>(&'b mut self, name: &'b str, object: &'b JsonObject) -> Fields<'b> {
        Fields::new(object, &[&*self.path, &[name]].concat(), self.problems)
    }

    /// A field that must be there.
    pub(super) fn required<T: FieldType>(&mut self, name: &str) -> Option<T> {
        match self.object.get(name) {
            Some(json) => self.typed(name, json),
            None => {
                self.problem(name, "missing", "Field required");
                None
            }
        }
    }

    /// A field that may be missing or null.
    pub(super) fn optional<T: FieldType>(&mut self, name: &str) -> Option<T> {
        match self.object.get(name) {
            Some(json) if json.get() != "null" => self.typed(name, json),
            _ => None,
        }
    }

    /// A field that must be there only where it is `needed`.
    pub(super) fn field<T: FieldType>(&mut self, name: &str, needed: bool) -> Option<T> {
        if needed {
            self.required(name)
        } else {
            self.optional(name)
        }
    }

    /// Notes a problem with the field `name`.
    pub(super) fn problem(&mut self, name: &str, kind: &'static str, message: &str) {
        let location = [&*self.path, &[name]].concat();
        self.problems.push(Problem::new(&location, kind, message));
    }

    fn typed<T: FieldType>(&mut self, name: &str, json: &RawValue) -> Option<T> {
        let value = T::read(json);
        if value.is_none() {
            self.problem(name, T::KIND, T::MESSAGE);
        }
        value
    }
}
