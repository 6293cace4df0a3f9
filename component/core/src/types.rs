//! The records of the WIT package, generated here once; guests convert to and from them.

mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "types-only",
        generate_unused_types: true,
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
    });
}

pub use bindings::voice_calling::client::types::*;

impl AgentConfig {
    /// Returns the configuration of an agent that has a name and nothing else.
    pub fn new(agent_name: impl Into<String>) -> Self {
        Self {
            prompt: None,
            agent_name: agent_name.into(),
            agent_phone_number: None,
            voice_id: None,
            version: None,
            welcome_text: None,
            tools: None,
            enabled: None,
            save_stats: None,
            server_type: None,
            call_type: None,
            created_at: None,
            updated_at: None,
            extra: None,
        }
    }
}

impl RequestError {
    /// Returns the name of its case in the WIT.
    pub fn case(&self) -> &'static str {
        match self {
            RequestError::ExecutionFailed => "execution-failed",
            RequestError::PermanentConfiguration(_) => "permanent-configuration",
            RequestError::PermanentInvalidInput(_) => "permanent-invalid-input",
            RequestError::PermanentUnauthorized(_) => "permanent-unauthorized",
            RequestError::PermanentNotFound(_) => "permanent-not-found",
            RequestError::PermanentRejected(_) => "permanent-rejected",
            RequestError::PermanentUnexpectedResponse(_) => "permanent-unexpected-response",
            RequestError::PermanentOutcomeUnknown(_) => "permanent-outcome-unknown",
            RequestError::RateLimited(_) => "rate-limited",
            RequestError::Unavailable(_) => "unavailable",
            RequestError::Unreachable(_) => "unreachable",
            RequestError::TimedOut(_) => "timed-out",
        }
    }

    /// Returns `true` if the same request would fail again, or might call a person twice.
    pub fn is_permanent(&self) -> bool {
        !matches!(
            self,
            RequestError::RateLimited(_)
                | RequestError::Unavailable(_)
                | RequestError::Unreachable(_)
                | RequestError::TimedOut(_)
        )
    }

    /// Returns the payload, which every case but `execution-failed` has.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            RequestError::ExecutionFailed => None,
            RequestError::PermanentConfiguration(failure)
            | RequestError::PermanentInvalidInput(failure)
            | RequestError::PermanentUnauthorized(failure)
            | RequestError::PermanentNotFound(failure)
            | RequestError::PermanentRejected(failure)
            | RequestError::PermanentUnexpectedResponse(failure)
            | RequestError::PermanentOutcomeUnknown(failure)
            | RequestError::RateLimited(failure)
            | RequestError::Unavailable(failure)
            | RequestError::Unreachable(failure)
            | RequestError::TimedOut(failure) => Some(failure),
        }
    }
}
