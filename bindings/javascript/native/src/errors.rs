//! Errors, with the names that JavaScript has for what is at fault.

use crate::records::write_record;
use voice_calling::{Error, Failure, FailureKind, NextStep, Problem};

/// Returns the error of an argument.
pub fn invalid_input(subject: &str, found: impl Into<String>, allowed: &str) -> Error {
    Failure::from(Problem {
        subject: subject.to_owned(),
        found: found.into(),
        allowed: allowed.to_owned(),
    })
    .into()
}

/// Returns the error of an option of a client.
pub fn configuration_error(subject: &str, found: impl Into<String>, allowed: &str) -> Error {
    Failure {
        kind: FailureKind::Configuration,
        next_step: NextStep::FixSetting,
        ..invalid_input(subject, found, allowed).failure().clone()
    }
    .into()
}

/// Returns an error as JSON.
pub fn error_json(error: &Error) -> String {
    let mut failure = error.failure().clone();
    if let Some(problem) = &mut failure.problem {
        let message = problem.to_string();
        problem.subject = javascript_name(&problem.subject);
        if failure.message == message {
            failure.message = problem.to_string();
        }
    }
    let mut json = write_record(&failure);
    json.pop();
    json + &format!(r#","isPermanent":{}}}"#, error.is_permanent())
}

/// Returns the error that JavaScript throws, which reads the JSON in its message.
pub fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(error_json(error))
}

/// Returns the name that JavaScript has for a field or an option; variables keep theirs.
fn javascript_name(subject: &str) -> String {
    if subject.starts_with("VOICE_CALLING_") || subject.contains(' ') {
        return subject.to_owned();
    }
    let subject = subject.strip_prefix("options.").unwrap_or(subject);
    match subject {
        "deadline_ms" | "deadline-ms" => "timeoutMs".to_owned(),
        "max_attempts" | "max-attempts" => "maxRetries".to_owned(),
        _ => camel_case(subject),
    }
}

/// Returns `call_context` or `call-context` as `callContext`.
pub fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut is_upper = false;
    for character in name.chars() {
        match character {
            '_' | '-' => is_upper = !camel.is_empty(),
            _ if is_upper => {
                camel.push(character.to_ascii_uppercase());
                is_upper = false;
            }
            _ => camel.push(character),
        }
    }
    camel
}
