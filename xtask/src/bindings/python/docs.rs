//! The WIT's documentation in Python's words.

use anyhow::Result;

use crate::bindings::{
    model::{Field, Package, Shape},
    names::{error_name, method, pascal, screaming, snake},
    python::names::{argument, class, is_in_seconds, is_status, option_name},
    settings::{Kind, SETTINGS},
};

/// What each generated module says before its code.
pub(super) const HEADER: &str = "# Written by `cargo xtask bindings generate` from the WIT. Do not edit.\n\n\
                      from __future__ import annotations\n\n";

/// The widest line of a docstring.
const WIDTH: usize = 100;

/// What the WIT's names are in Python, for its documentation.
pub(super) struct Words {
    words: Vec<(String, String)>,
}

impl Words {
    pub(super) fn new(package: &Package) -> Result<Self> {
        let mut words: Vec<(String, String)> = Vec::new();
        let mut add = |wit: &str, python: String| words.push((wit.to_owned(), python));
        for (wit, python) in [("none", "None"), ("true", "True"), ("false", "False")] {
            add(wit, python.to_owned());
        }
        add("request-error", "RequestError".to_owned());
        add("options.account", "account".to_owned());
        add("ACCOUNTS", "accounts".to_owned());
        add("bulk", "dockets.create_many".to_owned());
        for interface in &package.interfaces {
            for function in &interface.functions {
                let method = method(&interface.name, &function.name)?;
                let python = format!("{}.{}", method.group, snake(method.name));
                add(
                    &format!("{}.{}", interface.name, function.name),
                    python.clone(),
                );
                add(&function.name, python);
                for parameter in &function.parameters {
                    add(&parameter.name, argument(parameter));
                }
            }
        }
        for case in package.variant("request-error")? {
            add(&case.name, pascal(error_name(&case.name)));
        }
        for setting in &SETTINGS {
            let name = option_name(setting);
            if let Kind::Choice(values) = setting.kind {
                for value in values {
                    let wit = format!("{}={value}", setting.variable);
                    add(&wit, format!("{name}=\"{value}\""));
                }
            }
            add(setting.variable, name);
        }
        for definition in &package.types {
            // A field of the same name is meant more often: `docket`.
            if definition.name.contains('-') {
                add(&definition.name, class(&definition.name));
            }
        }
        for definition in &package.types {
            match &definition.shape {
                Shape::Record(fields) => {
                    for field in fields.iter().filter(|field| field.name.contains('-')) {
                        add(&field.name, argument(field));
                    }
                }
                Shape::Variant(cases) if is_status(cases) => {
                    for case in cases.iter().filter(|case| case.payload.is_none()) {
                        add(&case.name, screaming(&case.name));
                    }
                }
                Shape::Variant(_) => {}
            }
        }
        Ok(Self { words })
    }

    /// The text with the names that users see, where the WIT has its own between backticks.
    pub(super) fn translated(&self, docs: &str) -> String {
        let parts = docs.split('`').enumerate().map(|(index, part)| {
            let is_name = index % 2 == 1;
            let python = if is_name { self.word(part) } else { None };
            python.unwrap_or_else(|| part.to_owned())
        });
        parts.collect::<Vec<_>>().join("`")
    }

    /// A name, or a path that begins with one: `call-context.name`.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        let find = |name| self.words.iter().find(|(wit, _)| wit == name);
        let whole = find(name).map(|(_, python)| python.clone());
        whole.or_else(|| {
            let (first, rest) = name.split_once('.')?;
            Some(format!("{}.{rest}", find(first)?.1))
        })
    }
}

/// What the docs of a field say where users give or get its time in seconds.
pub(super) fn in_seconds(field: &Field) -> String {
    let docs = &field.docs;
    let Some((before, after)) = docs.rsplit_once("Unit:").filter(|_| is_in_seconds(field)) else {
        return docs.to_owned();
    };
    let after = after.replacen("milliseconds", "seconds", 1);
    let after = after.replacen("; 1 ", "; 0.001 ", 1);
    format!("{before}Unit:{}", after.replacen("86400000", "86400", 1))
}

pub(super) fn field_docs(field: &Field, words: &Words) -> String {
    let docs = in_seconds(field);
    words.translated(&docs.replace("In place of", "In place of the client's"))
}

pub(super) fn capitalized(text: impl AsRef<str>) -> String {
    let mut letters = text.as_ref().chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Writes `docs` as a docstring, indented by so many spaces.
pub(super) fn docstring(text: &mut String, indent: usize, docs: &str) {
    let margin = " ".repeat(indent);
    let lines = wrapped(docs, WIDTH - indent - 3);
    text.push_str(&margin);
    text.push_str("\"\"\"");
    text.push_str(&lines[0]);
    for line in &lines[1..] {
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&margin);
            text.push_str(line);
        }
    }
    let last = lines.last().map_or(0, String::len);
    if lines.len() > 1 || last + 6 + indent > WIDTH {
        text.push('\n');
        text.push_str(&margin);
    }
    text.push_str("\"\"\"\n");
}

/// The text in lines of so many letters, with its paragraphs and lists as they are.
pub(super) fn wrapped(docs: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut hanging = "";
    for line in docs.trim().lines() {
        let line = line.trim();
        if line.is_empty() {
            lines.push(String::new());
            lines.push(String::new());
            hanging = "";
            continue;
        }
        if line.starts_with("- ") {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            hanging = "  ";
        }
        for word in line.split_whitespace() {
            let current = lines.last_mut().expect("there is a line");
            if current.is_empty() {
                current.push_str(word);
            } else if current.len() + 1 + word.len() <= width {
                current.push(' ');
                current.push_str(word);
            } else {
                lines.push(format!("{hanging}{word}"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::bindings::model::Type;

    fn words() -> Words {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        Words::new(&Package::read(&wit).unwrap()).unwrap()
    }

    #[test]
    fn documentation_has_the_names_that_users_see() {
        let cases = [
            (
                "fails with `permanent-outcome-unknown`",
                "fails with `OutcomeUnknown`",
            ),
            ("as `calls.make-call` is", "as `calls.make` is"),
            (
                "`CREATE_RETRY=not-sent` turns",
                "`create_retry=\"not-sent\"` turns",
            ),
            (
                "at most `MAX_IN_FLIGHT`, within `DEADLINE_MS`",
                "at most `max_in_flight`, within `deadline`",
            ),
            (
                "`docket_id`: a UUID, `none` where",
                "`docket_id`: a UUID, `None` where",
            ),
            (
                "no `agent-id` (see `raw-json`)",
                "no `agent_id` (see `raw_json`)",
            ),
            (
                "until its status is `completed`",
                "until its status is `COMPLETED`",
            ),
        ];
        for (wit, python) in cases {
            assert_eq!(words().translated(wit), python);
        }
    }

    #[test]
    fn times_that_users_give_are_documented_in_seconds() {
        let docs = |name: &str, docs: &str| {
            in_seconds(&Field {
                name: name.to_owned(),
                docs: docs.to_owned(),
                ty: Type::U32,
            })
        };
        let cases = [
            (
                "timeout-ms",
                "At most. Unit: milliseconds; 1 or more.",
                "At most. Unit: seconds; 0.001 or more.",
            ),
            (
                "deadline-ms",
                "Unit: milliseconds; 1 to 86400000.",
                "Unit: seconds; 0.001 to 86400.",
            ),
            (
                "retry-after-ms",
                "How long. Unit:\nmilliseconds.",
                "How long. Unit:\nseconds.",
            ),
            ("waited-ms", "Unit: milliseconds.", "Unit: milliseconds."),
        ];
        for (name, wit, python) in cases {
            assert_eq!(docs(name, wit), python);
        }
    }

    #[test]
    fn long_lines_are_broken_and_lists_stay_lists() {
        let lines = wrapped("one two three\n\n- four five six\n- seven", 9);
        assert_eq!(
            lines,
            [
                "one two", "three", "", "- four", "  five", "  six", "- seven"
            ]
        );
    }
}
