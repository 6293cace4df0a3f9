//! Agents: the initial ones, and those created while the mock runs.

use serde::{Deserialize, Serialize};

use super::body::{self, Problem, not_empty};
use super::meanings::AgentFields;

/// An agent of the service, as far as the mock needs one (specification, "Agent").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The id by which dockets name the agent.
    pub agent_id: i64,
    /// The name by which `make_call` names the agent.
    pub agent_name: String,
    /// The number from which the agent calls; dockets and call details show its digits.
    pub agent_phone_number: String,
    /// Shown on dockets. Its values are not specified.
    pub call_type: String,
}

/// An element of the list of agents.
#[derive(Serialize)]
pub(super) struct AgentListItem<'a> {
    agent_id: i64,
    agent_name: &'a str,
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

    /// Returns the digits of the number from which the agent calls, country code included.
    pub(super) fn calling_number(&self) -> String {
        let is_digit = |c: &char| c.is_ascii_digit();
        self.agent_phone_number.chars().filter(is_digit).collect()
    }

    pub(super) fn list_item(&self) -> AgentListItem<'_> {
        AgentListItem {
            agent_id: self.agent_id,
            agent_name: &self.agent_name,
        }
    }

    /// Creates the agent that the configuration `body` describes. Which of the 13 fields are
    /// required is not specified; those that are present must have the specified type.
    pub(super) fn configured(
        agent_id: i64,
        body: &[u8],
        fields: AgentFields,
    ) -> Result<Self, Problem> {
        let body: Body = body::read(body)?;
        let optional = [
            ("prompt", body.prompt.is_none()),
            ("agent_phone_number", body.agent_phone_number.is_none()),
            ("voice_id", body.voice_id.is_none()),
            ("version", body.version.is_none()),
            ("welcome_text", body.welcome_text.is_none()),
            ("enabled", body.enabled.is_none()),
            ("save_stats", body.save_stats.is_none()),
            ("server_type", body.server_type.is_none()),
            ("call_type", body.call_type.is_none()),
            ("created_at", body.created_at.is_none()),
            ("updated_at", body.updated_at.is_none()),
        ];
        let missing = optional.into_iter().find(|(_, is_missing)| *is_missing);
        match missing {
            Some((name, _)) if fields == AgentFields::All => Err(Problem::missing(name)),
            _ => Ok(Self {
                agent_id,
                agent_name: body.agent_name,
                agent_phone_number: body.agent_phone_number.unwrap_or_default(),
                call_type: body.call_type.unwrap_or_default(),
            }),
        }
    }
}

/// The configuration of an agent, whose tools may be any JSON.
#[derive(Deserialize)]
struct Body {
    #[serde(deserialize_with = "not_empty")]
    agent_name: String,
    agent_phone_number: Option<String>,
    call_type: Option<String>,
    prompt: Option<Text>,
    welcome_text: Option<Text>,
    voice_id: Option<String>,
    server_type: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    version: Option<i64>,
    enabled: Option<bool>,
    save_stats: Option<bool>,
}

#[derive(Deserialize)]
struct Text {
    #[serde(rename = "default")]
    _default: String,
}
