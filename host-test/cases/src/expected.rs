//! What is expected of a value, and how what was found differs from it.

use super::json::{Json, joined};
use anyhow::{Result, bail, ensure};
use std::fmt;

/// Members that are text holding JSON. A client may have them as values of its language, and
/// report those; text compares exactly, values by value.
const FREE_FORM: [&str; 4] = ["call_context", "metadata", "call_metadata", "attempts"];

/// How much of a value is shown in a difference.
const SHOWN_CHARACTERS: usize = 300;

/// What is expected in some place.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This value, which is neither an array nor an object.
    Value(Json),
    /// As many elements, each as it is expected in its place.
    Array(Vec<Expected>),
    /// These members, and no other.
    Object(Vec<(String, Expected)>),
    /// `{"$is": "integer"}`: a non-negative integer.
    Count,
    /// `{"$is": "text"}`: a non-empty string.
    Text,
    /// `{"$contains": "…"}`: a string with this in it.
    Contains(String),
    /// `{"$one_of": […]}`: any of these.
    OneOf(Vec<Expected>),
}

impl Expected {
    /// Reads an expectation as it stands in a case. The error says where what is wrong.
    pub fn read(json: Json, at: &str) -> Result<Self> {
        match json {
            Json::Array(elements) => {
                let element = |(index, json)| Self::read(json, &format!("{at}[{index}]"));
                let elements = elements.into_iter().enumerate().map(element);
                Ok(Expected::Array(elements.collect::<Result<_>>()?))
            }
            Json::Object(mut members) => match members.as_slice() {
                [(name, _)] if name.starts_with('$') => {
                    let (name, json) = members.remove(0);
                    Self::read_matcher(&name, json, at)
                }
                _ => Self::read_members(members, at),
            },
            plain => Ok(Expected::Value(plain)),
        }
    }

    /// The name of the one member, where it is an object that has no other: the case of an error.
    pub fn lone_member(&self) -> Option<&str> {
        match self {
            Expected::Object(members) => match members.as_slice() {
                [(name, _)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn read_matcher(name: &str, json: Json, at: &str) -> Result<Self> {
        match (name, json) {
            ("$is", Json::Text(kind)) if kind == "integer" => Ok(Expected::Count),
            ("$is", Json::Text(kind)) if kind == "text" => Ok(Expected::Text),
            ("$contains", Json::Text(part)) if !part.is_empty() => Ok(Expected::Contains(part)),
            ("$compact", json) => Ok(Expected::Value(Json::Text(json.to_string()))),
            ("$one_of", Json::Array(choices)) if !choices.is_empty() => {
                let choices = choices.into_iter().map(|json| Self::read(json, at));
                Ok(Expected::OneOf(choices.collect::<Result<_>>()?))
            }
            (name, json) => bail!(
                "{at}: found {{\"{name}\":{json}}}; allowed: {{\"$is\": \"integer\" or \"text\"}}, \
                 {{\"$contains\": a string}}, {{\"$one_of\": an array}}, {{\"$compact\": JSON}}"
            ),
        }
    }

    fn read_members(members: Vec<(String, Json)>, at: &str) -> Result<Self> {
        let mut read: Vec<(String, Expected)> = Vec::new();
        for (name, json) in members {
            ensure!(
                !name.starts_with('$') && read.iter().all(|(other, _)| *other != name),
                "{at}.{name}: a matcher beside members, or a member twice"
            );
            let inner = format!("{at}.{name}");
            let expected = match (name.as_str(), json) {
                ("attempts", Json::Array(attempts)) => {
                    Self::read(Json::Array(attempts), &inner)?.with_times()
                }
                (_, json) => Self::read(json, &inner)?,
            };
            read.push((name, expected));
        }
        Ok(Expected::Object(read))
    }

    /// Nobody knows beforehand when attempts begin and how long they take.
    fn with_times(mut self) -> Self {
        if let Expected::Array(attempts) = &mut self {
            for attempt in attempts {
                let Expected::Object(members) = attempt else {
                    continue;
                };
                for name in ["started_ms", "duration_ms"] {
                    if !members.iter().any(|(other, _)| other == name) {
                        members.push((name.to_owned(), Expected::Count));
                    }
                }
            }
        }
        self
    }

    /// Exactly this value; the last one of a member that is there twice, as maps have it.
    fn exactly(json: Json) -> Self {
        match json {
            Json::Array(elements) => {
                Expected::Array(elements.into_iter().map(Self::exactly).collect())
            }
            Json::Object(members) => {
                let mut last: Vec<(String, Expected)> = Vec::new();
                for (name, json) in members {
                    last.retain(|(other, _)| *other != name);
                    last.push((name, Self::exactly(json)));
                }
                Expected::Object(last)
            }
            plain => Expected::Value(plain),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Value(json) => write!(formatter, "{json}"),
            Expected::Count => formatter.write_str("a whole number"),
            Expected::Text => formatter.write_str("a string"),
            Expected::Contains(part) => {
                write!(
                    formatter,
                    "a string with {} in it",
                    Json::Text(part.clone())
                )
            }
            Expected::OneOf(choices) => formatter.write_str(&joined(choices, " or ")),
            Expected::Array(elements) => write!(formatter, "[{}]", joined(elements, ",")),
            Expected::Object(members) => {
                let member =
                    |(name, it): &(String, Expected)| format!("{}:{it}", Json::Text(name.clone()));
                let members: Vec<String> = members.iter().map(member).collect();
                write!(formatter, "{{{}}}", members.join(","))
            }
        }
    }
}

/// Whether a member that is null may as well be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Null {
    /// As in the outcome of an operation, since some languages leave it out.
    MayBeMissing,
    /// As in a request.
    IsAValue,
}

/// How what was found differs from what is expected, one line for each place.
pub(crate) fn differences(
    at: &str,
    expected: &Expected,
    found: Option<&Json>,
    null: Null,
) -> Vec<String> {
    let mut comparison = Comparison {
        null,
        differences: Vec::new(),
    };
    comparison.compare(at, "", expected, found);
    comparison.differences
}

struct Comparison {
    null: Null,
    differences: Vec<String>,
}

impl Comparison {
    /// `name` is that of the member, where it is one.
    fn compare(&mut self, at: &str, name: &str, expected: &Expected, found: Option<&Json>) {
        let found = match (found, self.null) {
            (None, Null::MayBeMissing) => Some(&Json::Null),
            (found, _) => found,
        };
        let fits = match (expected, found) {
            (Expected::Array(expected), Some(Json::Array(found))) => {
                return self.compare_elements(at, expected, found);
            }
            (Expected::Object(expected), Some(Json::Object(found))) => {
                return self.compare_members(at, expected, found);
            }
            (Expected::Value(Json::Number(expected)), Some(Json::Number(found))) => {
                Json::same_number(expected, found)
            }
            (Expected::Value(Json::Text(text)), Some(found))
                if FREE_FORM.contains(&name)
                    && !matches!(found, Json::Text(_) | Json::Undecodable(_) | Json::Null) =>
            {
                return match Json::parse(text) {
                    Ok(json) => self.compare(at, "", &Expected::exactly(json), Some(found)),
                    Err(_) => self.differ(at, expected, Some(found)),
                };
            }
            (Expected::Value(expected), Some(found)) => expected == found,
            (Expected::Count, Some(found)) => found.is_count(),
            (Expected::Text, Some(Json::Text(found))) => !found.is_empty(),
            (Expected::Contains(part), Some(Json::Text(found))) => found.contains(part),
            (Expected::OneOf(choices), found) => choices
                .iter()
                .any(|choice| differences(at, choice, found, self.null).is_empty()),
            _ => false,
        };
        if !fits {
            self.differ(at, expected, found);
        }
    }

    fn compare_elements(&mut self, at: &str, expected: &[Expected], found: &[Json]) {
        for index in 0..expected.len().max(found.len()) {
            let at = format!("{at}[{index}]");
            match (expected.get(index), found.get(index)) {
                (Some(expected), Some(found)) => self.compare(&at, "", expected, Some(found)),
                (Some(expected), None) => self.lacks(&at, expected),
                (None, found) => self.has(&at, found),
            }
        }
    }

    fn compare_members(
        &mut self,
        at: &str,
        expected: &[(String, Expected)],
        found: &[(String, Json)],
    ) {
        for (name, expected) in expected {
            let at = format!("{at}.{name}");
            let values: Vec<_> = found.iter().filter(|(other, _)| other == name).collect();
            if let [_, second, ..] = values.as_slice() {
                self.has(&format!("{at} (again)"), Some(&second.1));
            }
            let value = values.last().map(|(_, value)| value);
            self.compare(&at, name, expected, value);
        }
        for (name, value) in found {
            let is_expected = expected.iter().any(|(other, _)| other == name);
            let is_missing = self.null == Null::MayBeMissing && *value == Json::Null;
            if !is_expected && !is_missing {
                self.has(&format!("{at}.{name}"), Some(value));
            }
        }
    }

    fn differ(&mut self, at: &str, expected: &Expected, found: Option<&Json>) {
        match found {
            Some(found) => {
                let (expected, found) = (cut(expected), cut(found));
                self.differences
                    .push(format!("{at}: expected {expected}, found {found}"));
            }
            None => self.lacks(at, expected),
        }
    }

    fn lacks(&mut self, at: &str, expected: &Expected) {
        self.differences
            .push(format!("{at}: expected {}, found nothing", cut(expected)));
    }

    fn has(&mut self, at: &str, found: Option<&Json>) {
        let found = found.map_or_else(String::new, cut);
        self.differences
            .push(format!("{at}: expected nothing, found {found}"));
    }
}

/// A value as it is shown in a difference.
pub(crate) fn cut(value: &impl fmt::Display) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
