//! Errors, as JSON from which JavaScript makes its own.

use crate::records::write_record;
use voice_calling::{Error, Failure, FailureKind, NextStep, Problem};

/// Returns the error of a setting, or of what a call needs.
pub(crate) fn configuration_error(subject: &str, found: &str, allowed: &str) -> Error {
    let problem = Problem {
        subject: subject.to_owned(),
        found: found.to_owned(),
        allowed: allowed.to_owned(),
    };
    Failure {
        kind: FailureKind::Configuration,
        next_step: NextStep::FixSetting,
        ..problem.into()
    }
    .into()
}

pub(crate) fn error_json(error: &Error) -> String {
    let mut json = write_record(error.failure());
    json.pop();
    json + &format!(r#","isPermanent":{}}}"#, error.is_permanent())
}

/// Returns the error that JavaScript throws, which reads the JSON in its message.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::from_reason(error_json(error))
}
