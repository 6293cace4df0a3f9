//! Agents: those the mock starts with, and those created while it runs.

use serde::Serialize;

use super::json_object::{Fields, JsonObject, Problem};
use super::meanings::AgentFields;

/// A voice identity, as far as the mock needs one (specification, "Agent").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// What dockets name the agent by.
    pub agent_id: i64,
    /// What `make_call` names the agent by.
    pub agent_name: String,
    /// Where its calls come from; dockets and call details show its digits.
    pub agent_phone_number: String,
    /// Shown on dockets; its values are not specified.
    pub call_type: String,
}

/// One element of the list of agents.
#[derive(Serialize)]
pub(super) struct AgentListItem<'a> {
    agent_id: i64,
    agent_name: &'a str,
}

impl Agent {
    /// An agent for tests and demos, with the call type `OUTBOUND` (invented).
    pub fn new(agent_id: i64, agent_name: &str, agent_phone_number: &str) -> Self {
        Self {
            agent_id,
            agent_name: agent_name.to_owned(),
            agent_phone_number: agent_phone_number.to_owned(),
            call_type: "OUTBOUND".to_owned(),
        }
    }

    /// The number calls are placed from: country code included, digits only.
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

    /// The agent that the configuration `body` describes. Which of the 13 fields must
    /// be there is not specified; those that are must have the specified type.
    pub(super) fn configured(
        agent_id: i64,
        body: &JsonObject,
        fields: AgentFields,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let agent = read(agent_id, body, fields, &mut problems);
        agent.filter(|_| problems.is_empty()).ok_or(problems)
    }
}

fn read(
    agent_id: i64,
    body: &JsonObject,
    fields: AgentFields,
    problems: &mut Vec<Problem>,
) -> Option<Agent> {
    let needed = fields == AgentFields::All;
    let mut reader = Fields::new(body, &["body"], problems);
    for name in ["prompt", "welcome_text"] {
        let text: Option<JsonObject> = reader.field(name, needed);
        if let Some(text) = text {
            reader.within(name, &text).required::<String>("default");
        }
    }
    for name in ["voice_id", "server_type", "created_at", "updated_at"] {
        reader.field::<String>(name, needed);
    }
    reader.field::<i64>("version", needed);
    reader.field::<bool>("enabled", needed);
    reader.field::<bool>("save_stats", needed);
    let agent_phone_number: Option<String> = reader.field("agent_phone_number", needed);
    let call_type: Option<String> = reader.field("call_type", needed);
    let agent_name: String = reader.required("agent_name")?;
    if agent_name.is_empty() {
        reader.problem("agent_name", "string_too_short", "String is empty");
    }
    Some(Agent {
        agent_id,
        agent_name,
        agent_phone_number: agent_phone_number.unwrap_or_default(),
        call_type: call_type.unwrap_or_default(),
    })
}
