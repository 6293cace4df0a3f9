//! Failures without an answer of the service.

use voice_calling_core::types::Failure;

/// Returns the payload of an error without an answer.
pub fn failure(message: impl Into<String>, may_have_created: bool) -> Failure {
    Failure {
        message: message.into(),
        problem: None,
        response: None,
        attempts: Vec::new(),
        may_have_created,
    }
}
