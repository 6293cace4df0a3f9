//! JSON objects that are written.

use crate::json::{Object, Value, member_name, object_argument};
use crate::problem::problem;
use crate::types::Problem;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;

/// The value of a member to write.
pub(crate) enum Field<'a> {
    /// The member is omitted, although its name is known.
    Absent,
    Null,
    Text(&'a str),
    Texts(&'a [(String, String)]),
    Integer(i64),
    Boolean(bool),
    Json(Value<'a>),
    Object(Record<'a>),
    /// An object to which the caller's `extra` may add members; it is omitted if it has none.
    Extensible(Record<'a>),
}

impl<'a> Field<'a> {
    pub(crate) fn text(text: &'a Option<String>) -> Self {
        text.as_deref().map_or(Field::Absent, Field::Text)
    }

    pub(crate) fn integer(integer: Option<i64>) -> Self {
        integer.map_or(Field::Absent, Field::Integer)
    }

    pub(crate) fn boolean(boolean: Option<bool>) -> Self {
        boolean.map_or(Field::Absent, Field::Boolean)
    }

    fn is_omitted(&self) -> bool {
        match self {
            Field::Absent => true,
            Field::Extensible(record) => record.is_empty(),
            _ => false,
        }
    }
}

/// A JSON object to write: the members that this package knows, then those that the caller adds.
pub(crate) struct Record<'a> {
    known: Vec<(&'static str, Field<'a>)>,
    extra: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(known: Vec<(&'static str, Field<'a>)>) -> Self {
        Self {
            known,
            extra: Vec::new(),
        }
    }

    /// Adds the members of the caller's `extra`, which must not have the names of fields.
    /// `argument` names it in errors.
    pub(crate) fn with_extra(
        mut self,
        argument: &str,
        extra: Option<&'a str>,
    ) -> Result<Self, Problem> {
        if let Some(extra) = extra {
            self.add(argument, &object_argument(argument, extra)?)?;
        }
        Ok(self)
    }

    fn add(&mut self, argument: &str, extra: &Object<'a>) -> Result<(), Problem> {
        for (name, value) in extra.members() {
            let Some(name) = name else {
                let found = "a key with a lone surrogate";
                return Err(problem(argument, found, "keys that are valid Unicode"));
            };
            let known = self.known.iter_mut().find(|(known, _)| *known == name);
            match known.map(|(_, known)| known) {
                None => self.extra.push((name, value)),
                Some(Field::Extensible(record)) => {
                    let argument = member_name(argument, &name);
                    let members = value.to_object();
                    let members =
                        members.map_err(|found| problem(&*argument, found, "a JSON object"))?;
                    record.add(&argument, &members)?;
                }
                Some(_) => {
                    let found = "a member that is a field of the request";
                    return Err(problem(
                        member_name(argument, &name),
                        found,
                        "other members",
                    ));
                }
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.extra.is_empty() && self.known.iter().all(|(_, value)| value.is_omitted())
    }

    /// Returns the total length of its texts. Its JSON is longer.
    pub(crate) fn text_bytes(&self) -> usize {
        let known = self.known.iter().map(|(_, value)| match value {
            Field::Text(text) => text.len(),
            Field::Texts(texts) => texts.iter().map(|(a, b)| a.len() + b.len()).sum(),
            Field::Json(value) => value.text().len(),
            Field::Object(record) | Field::Extensible(record) => record.text_bytes(),
            _ => 0,
        });
        let extra = self.extra.iter().map(|(_, value)| value.text().len());
        known.sum::<usize>() + extra.sum::<usize>()
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record is JSON")
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (name, value) in self.known.iter().filter(|(_, value)| !value.is_omitted()) {
            object.serialize_entry(name, value)?;
        }
        for (name, value) in &self.extra {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Absent | Field::Null => serializer.serialize_unit(),
            Field::Text(text) => serializer.serialize_str(text),
            Field::Texts(texts) => serializer.collect_map(texts.iter().map(|(a, b)| (a, b))),
            Field::Integer(integer) => serializer.serialize_i64(*integer),
            Field::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Field::Json(value) => value.serialize(serializer),
            Field::Object(record) | Field::Extensible(record) => record.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::rows;

    /// The caller's object, the member at fault, and what was found.
    const NOT_ADDED: &str = r#"
        {"a":2} | extra.a | a member that is a field of the request
        {"left_out":2} | extra.left_out | a member that is a field of the request
        {"\u0061":2} | extra.a | a member that is a field of the request
        {"\ud800":2} | extra | a key with a lone surrogate
        [] | extra | an array
        null | extra | null
        {"extra_config":{"call_context":{}}} | extra.extra_config.call_context | a member that is a field of the request
        {"extra_config":null} | extra.extra_config | null
        {"extra_config":[]} | extra.extra_config | an array
        {"extra_config":{"\ud800":1}} | extra.extra_config | a key with a lone surrogate"#;

    #[test]
    fn a_member_that_cannot_be_added_to_the_request_is_named() {
        for [extra, subject, found] in rows(NOT_ADDED) {
            let inner = Record::new(vec![("call_context", Field::Absent)]);
            let known = vec![
                ("a", Field::Integer(1)),
                ("left_out", Field::Absent),
                ("extra_config", Field::Extensible(inner)),
            ];
            let record = Record::new(known).with_extra("extra", Some(extra));
            let problem = record.err().unwrap();
            assert_eq!((&*problem.subject, &*problem.found), (subject, found));
        }
    }
}
