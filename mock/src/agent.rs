//! Agents: the initial ones, and those created while the mock runs.

use serde::{Deserialize, Serialize};

use super::body::{self, not_empty};

/// An agent of the service, as far as the mock needs one (specification, "Agent"). Its JSON is the
/// element of the list of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// The id by which dockets name the agent.
    pub agent_id: i64,
    /// The name by which `make_call` names the agent.
    pub agent_name: String,
    /// The number from which the agent calls; dockets and call details show its digits.
    #[serde(skip)]
    pub agent_phone_number: String,
    /// Shown on dockets. Its values are not specified.
    #[serde(skip)]
    pub call_type: String,
}

impl Agent {
    /// Returns an agent for tests and demos, with the call type `OUTBOUND` (invented).
    pub fn new(agent_id: i64, agent_name: &str, agent_phone_number: &str) -> Self {
        Self {
            agent_id,
            agent_name: agent_name.to_owned(),
            agent_phone_number: agent_phone_number.to_owned(),
            call_type: "OUTBOUND".to_owned(),
        }
    }

    /// Returns the memory of its texts, in bytes.
    pub(super) fn size(&self) -> usize {
        self.agent_name.len() + self.agent_phone_number.len() + self.call_type.len()
    }

    /// Returns the digits of the number from which the agent calls, country code included.
    pub(super) fn calling_number(&self) -> String {
        let is_digit = |c: &char| c.is_ascii_digit();
        self.agent_phone_number.chars().filter(is_digit).collect()
    }

    /// Creates the agent that the configuration `body` describes. Which of its fields are required
    /// is not specified: here only the name is.
    pub(super) fn configured(agent_id: i64, body: &[u8]) -> Result<Self, String> {
        let body: Body = body::read(body)?;
        Ok(Self {
            agent_id,
            agent_name: body.agent_name,
            agent_phone_number: body.agent_phone_number.unwrap_or_default(),
            call_type: body.call_type.unwrap_or_default(),
        })
    }
}

/// The part of an agent's configuration that the mock uses.
#[derive(Deserialize)]
struct Body {
    #[serde(deserialize_with = "not_empty")]
    agent_name: String,
    agent_phone_number: Option<String>,
    call_type: Option<String>,
}
