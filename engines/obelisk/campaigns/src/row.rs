//! The result of `parts.run-contact`, in the engine's JSON.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The result of one attempt to call a contact.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The run has ended for good.
    Ended(Box<Row>),
    /// The contact is dispatched again.
    Again(IgnoredAny),
}

/// The result of a contact.
#[derive(Debug, Deserialize)]
pub struct Row {
    pub index: u32,
    pub to_phone_number: String,
    pub external_id: Option<String>,
    pub state: State,
    pub docket_id: Option<String>,
    pub known_by: Option<String>,
    pub insights: Option<Insights>,
    pub error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Insights {
    pub call_disposition: Option<String>,
    /// JSON.
    pub call_metadata: Option<String>,
}

/// How a contact ended, with the names of `campaign-summary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Completed,
    TimedOut,
    NotCreated,
    Spared,
    #[serde(alias = "given_up")]
    Unknown,
    Failed,
    Duplicate,
    Invalid,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::NotCreated => "not_created",
            Self::Spared => "spared",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Duplicate => "duplicate",
            Self::Invalid => "invalid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docket_that_a_person_gave_up_is_unknown() {
        let state: State = serde_json::from_str(r#""given_up""#).unwrap();
        assert_eq!(state, State::Unknown);
    }

    #[test]
    fn a_state_is_written_by_its_name() {
        for state in [
            State::Completed,
            State::TimedOut,
            State::NotCreated,
            State::Spared,
            State::Unknown,
            State::Failed,
            State::Duplicate,
            State::Invalid,
        ] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}
