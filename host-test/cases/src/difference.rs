//! The differences between found and expected values. An expectation is JSON in which matchers
//! (`{"$is": …}`, `{"$contains": …}`, `{"$compact": …}`) stand for values.

use super::json::Json;
use anyhow::{Context, Result, bail, ensure};
use std::fmt;

/// The members that are strings of JSON. A client may represent and report them as values of its
/// language; strings compare exactly, values by value.
const FREE_FORM: [&str; 4] = ["call_context", "metadata", "call_metadata", "attempts"];

/// The length at which a value in a difference is cut.
const SHOWN_CHARACTERS: usize = 300;

/// Whether a null member may be missing instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Null {
    /// It may, in the outcome of an operation: some languages leave it out.
    MayBeMissing,
    /// It may not, in a request.
    IsAValue,
}

/// Parses an expectation. Rejects one that nothing could meet: a matcher that is misspelt or stands
/// beside members, and a duplicate member.
pub(crate) fn expectation(written: Json) -> Result<Json> {
    match written {
        Json::Array(elements) => {
            let elements = elements.into_iter().map(expectation);
            Ok(Json::Array(elements.collect::<Result<_>>()?))
        }
        Json::Object(members) => {
            let written = Json::Object(members);
            match written.lone_member() {
                Some((name, value)) if name.starts_with('$') => match (name, value.as_text()) {
                    ("$compact", _) => Ok(Json::Text(value.to_string())),
                    ("$is", Some("integer" | "text")) => Ok(written),
                    ("$contains", Some(part)) if !part.is_empty() => Ok(written),
                    _ => bail!(
                        "found {written}; allowed: {{\"$is\": \"integer\" or \"text\"}}, \
                         {{\"$contains\": a string}}, {{\"$compact\": JSON}}"
                    ),
                },
                _ => expected_members(written),
            }
        }
        plain => Ok(plain),
    }
}

fn expected_members(written: Json) -> Result<Json> {
    let mut read: Vec<(String, Json)> = Vec::new();
    let Json::Object(members) = written else {
        return Ok(written);
    };
    for (name, json) in members {
        ensure!(
            !name.starts_with('$') && read.iter().all(|(other, _)| *other != name),
            "{name}: a matcher beside members, or a member twice"
        );
        let mut json = expectation(json).with_context(|| name.clone())?;
        if let ("attempts", Json::Array(attempts)) = (&*name, &mut json) {
            attempts.iter_mut().for_each(add_times);
        }
        read.push((name, json));
    }
    Ok(Json::Object(read))
}

/// Adds a matcher for an integer for each time of an attempt, which no case can know.
fn add_times(attempt: &mut Json) {
    for name in ["started_ms", "duration_ms"] {
        if attempt.get(name).is_none()
            && let Json::Object(members) = attempt
        {
            let count = Json::Object(vec![("$is".to_owned(), Json::Text("integer".to_owned()))]);
            members.push((name.to_owned(), count));
        }
    }
}

/// Returns the differences between a found and an expected value, one line for each place.
pub(crate) fn differences(
    at: &str,
    expected: &Json,
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
    /// Compares two values. `name` is that of the member, if the value is one.
    fn compare(&mut self, at: &str, name: &str, expected: &Json, found: Option<&Json>) {
        let found = match (found, self.null) {
            (None, Null::MayBeMissing) => &Json::Null,
            (None, Null::IsAValue) => return self.differ(at, Some(expected), None),
            (Some(found), _) => found,
        };
        let matched = expected
            .lone_member()
            .and_then(|matcher| fits(matcher, found));
        let fits = match (expected, found) {
            _ if matched.is_some() => matched == Some(true),
            (Json::Array(expected), Json::Array(found)) => {
                return self.compare_elements(at, expected, found);
            }
            (Json::Object(expected), Json::Object(found)) => {
                return self.compare_members(at, expected, found);
            }
            (Json::Number(expected), Json::Number(found)) => Json::same_number(expected, found),
            (Json::Text(text), found)
                if FREE_FORM.contains(&name)
                    && !matches!(found, Json::Text(_) | Json::Undecodable(_) | Json::Null) =>
            {
                match Json::parse(text) {
                    Ok(json) => return self.compare(at, "", &json, Some(found)),
                    Err(_) => false,
                }
            }
            (expected, found) => expected == found,
        };
        if !fits {
            self.differ(at, Some(expected), Some(found));
        }
    }

    fn compare_elements(&mut self, at: &str, expected: &[Json], found: &[Json]) {
        for index in 0..expected.len().max(found.len()) {
            let at = format!("{at}[{index}]");
            match (expected.get(index), found.get(index)) {
                (Some(expected), Some(found)) => self.compare(&at, "", expected, Some(found)),
                (expected, found) => self.differ(&at, expected, found),
            }
        }
    }

    fn compare_members(&mut self, at: &str, expected: &[(String, Json)], found: &[(String, Json)]) {
        let last = |members: &'_ [(String, Json)], name: &str| {
            members.iter().rposition(|(other, _)| other == name)
        };
        for (index, (name, value)) in expected.iter().enumerate() {
            // Of duplicate members, maps keep the last.
            if last(expected, name) == Some(index) {
                let found = last(found, name).map(|index| &found[index].1);
                self.compare(&format!("{at}.{name}"), name, value, found);
            }
        }
        for (index, (name, value)) in found.iter().enumerate() {
            let at = format!("{at}.{name}");
            let is_missing = self.null == Null::MayBeMissing && *value == Json::Null;
            if last(found, name) != Some(index) {
                self.differ(&format!("{at} (again)"), None, Some(value));
            } else if last(expected, name).is_none() && !is_missing {
                self.differ(&at, None, Some(value));
            }
        }
    }

    fn differ(&mut self, at: &str, expected: Option<&Json>, found: Option<&Json>) {
        let shown = |json: Option<&Json>| json.map_or("nothing".to_owned(), cut);
        let (expected, found) = (shown(expected), shown(found));
        self.differences
            .push(format!("{at}: expected {expected}, found {found}"));
    }
}

/// Returns whether a value fits a matcher; `None` if the member is not a matcher.
fn fits((name, argument): (&str, &Json), found: &Json) -> Option<bool> {
    Some(match (name, argument.as_text()?, found) {
        ("$is", "integer", found) => found.is_count(),
        ("$is", "text", found) => found.as_text().is_some_and(|text| !text.is_empty()),
        ("$contains", part, found) => found.as_text().is_some_and(|text| text.contains(part)),
        _ => return None,
    })
}

/// Formats a value for a difference.
pub(crate) fn cut(value: &impl fmt::Display) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
