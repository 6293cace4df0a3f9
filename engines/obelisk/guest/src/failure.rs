//! Failures without an answer of the service.

use voice_calling_core::types::{Failure, FailureKind, NextStep};

/// Returns the failure of a request that certainly created nothing, and may succeed later.
pub fn unreachable(message: impl Into<String>) -> Failure {
    failure(FailureKind::Unreachable, NextStep::RetryLater, message)
}

/// Returns the failure of a creation that an operator holds, as all others.
pub fn held(message: impl Into<String>) -> Failure {
    failure(FailureKind::Configuration, NextStep::FixSetting, message)
}

/// Returns the failure of a creation that may have been sent.
pub fn unknown(message: impl Into<String>) -> Failure {
    failure(FailureKind::OutcomeUnknown, NextStep::Unknown, message)
}

fn failure(kind: FailureKind, next_step: NextStep, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        next_step,
        message: message.into(),
        problem: None,
        response: None,
        attempts: Vec::new(),
        may_have_created: next_step == NextStep::Unknown,
    }
}
