//! A create with a key, as a ledger stores it, and what is recorded of its answer.

use super::entry::{Outcome, State};
use crate::departure::Departure;
use crate::dockets::check_docket_id;
use crate::exact::canonical_text;
use crate::json::{Object, Value};
use crate::problem::problem;
use crate::request::ApiRequest;
use crate::types::{Failure, Problem};
use serde::Serialize;

/// The number of digits of a phone number without its country code.
const LOCAL_DIGITS: usize = 10;

/// A create with a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The index of the request in its batch.
    pub item: Option<u32>,
    /// The key, which the caller has chosen.
    pub key: String,
    /// The function, such as `dockets.create-docket-v2`.
    pub function: &'static str,
    /// The arguments and their names. Values with the same meaning have the same text, which may
    /// contain a phone number: a ledger stores a keyed digest of it.
    pub arguments: Vec<(String, String)>,
    /// How long the claim lasts, in milliseconds from when it is taken.
    pub lasts_ms: u64,
    /// Whether the create may have left.
    #[serde(skip)]
    pub departure: Departure,
}

impl Claim {
    pub(crate) fn new(
        key: &str,
        account: Option<&str>,
        request: &ApiRequest,
        lasts_ms: u64,
    ) -> Self {
        let mut arguments = Vec::new();
        let body = request.body().map(Value::parse);
        if let Some(Ok(body)) = body {
            add_members("", body, &mut arguments);
        }
        arguments.extend(account.map(|name| ("account".to_owned(), canonical_text(name))));
        Self {
            item: request.item,
            key: key.to_owned(),
            function: request.endpoint.function,
            arguments,
            lasts_ms,
            departure: request.departure.clone(),
        }
    }

    /// Returns the record of a create that succeeded with this answer: the id, and how it was
    /// created. The other members may say who was called.
    pub(crate) fn succeeded(&self, answer: &str) -> Outcome {
        let object = Value::parse(answer).and_then(Value::to_object);
        let members: &[_] = match id_member(self.function) {
            "docket_id" => &["docket_id", "status", "created"],
            id => &[id],
        };
        let members = members.iter().filter_map(|name| {
            let value = object.as_ref().ok()?.any_json(name)?;
            Some(format!(r#""{name}":{value}"#))
        });
        let members = members.collect::<Vec<_>>().join(",");
        Outcome {
            state: State::Done,
            answer: Some(format!("{{{members}}}")),
            message: None,
        }
    }

    /// Returns `true` if a text contains the phone number, however it is written, with or without
    /// its country code.
    fn contains_number(&self, text: &str) -> bool {
        let mut arguments = self.arguments.iter();
        let number = arguments.find(|(name, _)| name == "to_phone_number");
        let number = number.map(|(_, value)| digits(value)).unwrap_or_default();
        let last = &number[number.len().saturating_sub(LOCAL_DIGITS)..];
        !last.is_empty() && digits(text).contains(last)
    }

    /// Returns the record of a create that ended in a failure.
    pub(crate) fn failed(&self, failure: &Failure) -> Outcome {
        let message = match self.contains_number(&failure.message) {
            true => "an error whose message has the phone number".to_owned(),
            false => failure.message.clone(),
        };
        Outcome {
            state: match failure.may_have_created {
                true => State::Unknown,
                false => State::Free,
            },
            answer: None,
            message: Some(message),
        }
    }
}

/// Adds the members of a request, and those of its `extra_config` in place of it. The context gets
/// the name that callers know.
fn add_members(prefix: &str, object: Value<'_>, arguments: &mut Vec<(String, String)>) {
    let object = object.to_object();
    let members = object.iter().flat_map(Object::members);
    for (name, value) in members {
        let name = match name.unwrap_or_default() {
            name if name == "call_context" => name.into_owned(),
            name => format!("{prefix}{name}"),
        };
        match arguments.iter_mut().find(|(known, _)| *known == name) {
            _ if name == "extra_config" && value.is_object() => {
                add_members("extra_config.", value, arguments);
            }
            // The name is repeated: the digest covers all its values.
            Some((_, values)) => values.push_str(&value.canonical()),
            None => arguments.push((name, value.canonical())),
        }
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns the name of the member of an answer that identifies what was created.
fn id_member(function: &str) -> &'static str {
    match function.split('.').next() {
        Some("agents") => "agent_id",
        Some("calls") => "task_id",
        _ => "docket_id",
    }
}

/// Returns the id of what was created, from a recorded answer.
pub(super) fn created_id(function: &str, answer: &str) -> Option<String> {
    let answer = Value::parse(answer).and_then(Value::to_object).ok()?;
    let id = answer.member(id_member(function))?;
    id.to_text().or_else(|| Some(id.text().to_owned()))
}

/// Returns the answer to record for something that was created with this id.
pub(super) fn recorded_id(function: &str, created_id: &str) -> Result<String, Problem> {
    let member = id_member(function);
    let invalid = |allowed| problem("created-id", format!("{created_id:?}"), allowed);
    let id = match member {
        "agent_id" => {
            let id: i64 = created_id.parse().map_err(|_| invalid("an integer"))?;
            id.to_string()
        }
        "task_id" if created_id.is_empty() => return Err(invalid("the id of a task")),
        "task_id" => canonical_text(created_id),
        _ => {
            check_docket_id("created-id", created_id)?;
            canonical_text(created_id)
        }
    };
    Ok(format!(r#"{{"{member}":{id}}}"#))
}

#[cfg(test)]
mod tests;
