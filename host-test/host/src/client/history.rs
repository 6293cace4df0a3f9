//! What went into and came out of a guest, step by step, without the token: a file for bug
//! reports, which can be replayed.
//!
//! Each line is JSON: `{"configure": …}` for each instance, then `{"step": …, "stepped": …}` for
//! each step, both as the text module of the guest takes and gives them, or `{"step": …,
//! "trapped": "…"}` for the last step of an instance that trapped.

use super::bindings::{Effect, Event, Random, Stepped};
use anyhow::Result;
use serde_json::{Value, json};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use voice_calling_core::settings::PREFIX;
use voice_calling_core::token::mask_with;

/// What stands in a history where a token stood: a token itself, with which it can be replayed.
const MASKED_TOKEN: &str = "masked-token";

/// The largest integer that every JSON library reads as it is.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// Where a client writes its history. It has all that was sent and answered, phone numbers and
/// call context among it, but not the token. What cannot be written is lost; the log says so once.
#[derive(Clone)]
pub struct History(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl fmt::Debug for History {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("History")
    }
}

impl History {
    /// One that is written there, line by line.
    pub fn to(writer: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(writer)))))
    }

    fn write(&self, line: &Value) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = place.as_mut() else {
            return;
        };
        let written = writeln!(writer, "{line}").and_then(|()| writer.flush());
        if let Err(error) = written {
            tracing::warn!("the history of a client ends here: it cannot be written: {error}");
            *place = None;
        }
    }
}

/// What a client writes to its history.
pub(super) struct Recording {
    history: History,
    tokens: Vec<String>,
}

impl Recording {
    pub(super) fn new(history: History, environment: &[(String, String)]) -> Self {
        let variables = environment.iter().filter(|(name, _)| is_token(name));
        let mut tokens: Vec<_> = variables.map(|(_, token)| token.clone()).collect();
        // One may be a part of another.
        tokens.sort_by_key(|token| std::cmp::Reverse(token.len()));
        Self { history, tokens }
    }

    /// An instance begins.
    pub(super) fn configure(&self, environment: &[(String, String)], random: &Random) {
        let variable = |(name, value): &(String, String)| match is_token(name) {
            true => json!([name, MASKED_TOKEN]),
            false => json!([name, value]),
        };
        let environment: Vec<_> = environment.iter().map(variable).collect();
        let configure = json!({ "environment": environment, "random": random });
        self.line(json!({ "configure": configure }));
    }

    /// The input of a step.
    pub(super) fn input(&self, events: &[Event], now_ms: u64, unix_s: u64) -> Value {
        json!({ "events": events, "now_ms": now_ms, "unix_s": unix_s })
    }

    /// A step, and what came of it.
    pub(super) fn step(&self, input: Value, stepped: Result<&Stepped, &anyhow::Error>) {
        self.line(match stepped {
            Ok(stepped) => {
                let mut stepped = stepped.clone();
                stepped.effects.iter_mut().for_each(without_header);
                json!({ "step": input, "stepped": { "Ok": stepped } })
            }
            Err(error) => json!({ "step": input, "trapped": format!("{error:#}") }),
        });
    }

    fn line(&self, line: Value) {
        self.history.write(&self.masked(line));
    }

    fn masked(&self, json: Value) -> Value {
        match json {
            Value::String(text) => {
                let tokens = self.tokens.iter();
                let masked = tokens.fold(text, |text, token| mask_with(MASKED_TOKEN, token, &text));
                Value::String(masked)
            }
            Value::Array(elements) => elements.into_iter().map(|it| self.masked(it)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                let masked = members.map(|(name, value)| (name, self.masked(value)));
                Value::Object(masked.collect())
            }
            other => exact(other),
        }
    }
}

fn is_token(variable: &str) -> bool {
    variable.starts_with(PREFIX) && variable.ends_with("API_TOKEN")
}

/// The token of a request, which may be too short to be found.
fn without_header(effect: &mut Effect) {
    if let Effect::Send(send) = effect {
        for (name, value) in &mut send.request.headers {
            if name == "auth_token" {
                *value = format!("Bearer {MASKED_TOKEN}");
            }
        }
    }
}

/// A number as the text module writes it: one that some libraries would round is a text.
fn exact(json: Value) -> Value {
    let Value::Number(number) = &json else {
        return json;
    };
    let size = match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => number,
        (None, Some(number)) => number.unsigned_abs(),
        (None, None) => return json,
    };
    match size > LARGEST_INTEGER {
        true => Value::String(number.to_string()),
        false => json,
    }
}
