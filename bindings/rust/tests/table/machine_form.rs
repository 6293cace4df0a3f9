//! Records as the table has them: the names of cases in snake case.

use serde::Serialize;
use serde_json::{Map, Value};
use voice_calling::Error;

/// Cases without a payload, which look like texts.
const BARE_CASES: [&str; 7] = [
    "Open",
    "InProgress",
    "Completed",
    "Answered",
    "NoAnswer",
    "Busy",
    "NotACompletion",
];

/// A record as the table has it.
pub(crate) fn in_machine_form(record: &impl Serialize) -> Value {
    renamed(serde_json::to_value(record).unwrap())
}

/// An error as the table has it.
pub(crate) fn error_in_machine_form(error: &Error) -> Value {
    let mut error = in_machine_form(error.failure());
    if let Some(Value::String(subject)) = error.pointer_mut("/problem/subject")
        && !subject.starts_with("VOICE_CALLING_")
    {
        *subject = argument_of_wit(subject);
    }
    error
}

/// The name of an argument as the WIT has it, which a member of the caller's JSON may follow.
fn argument_of_wit(name: &str) -> String {
    match name.split_once('.') {
        Some(("options" | "wait", _)) | None => name.replace('_', "-"),
        Some((argument, member)) => format!("{}.{member}", argument.replace('_', "-")),
    }
}

fn renamed(value: Value) -> Value {
    match value {
        Value::String(text) if BARE_CASES.contains(&text.as_str()) => snake(&text).into(),
        Value::Array(elements) => elements.into_iter().map(renamed).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| match name.as_str() {
                // Whatever the service says.
                "raw_json" | "raw_text" | "message" | "body" => (name, value),
                _ => (snake(&name), renamed(value)),
            });
            members.collect::<Map<_, _>>().into()
        }
        plain => plain,
    }
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
