//! Agents: the voices that make calls.

use super::Attempt;
use serde::{Deserialize, Serialize};

/// The configuration of an agent: a voice identity with a phone number and a prompt. The
/// specification does not say which fields the service requires; this package asks for the name,
/// and leaves every other `None` out of the request, except `tools`, which is sent as `null`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConfig {
    /// `prompt`: the agent's instructions.
    pub prompt: Option<AgentText>,
    /// `agent_name`: not empty. Calls refer to the agent by it.
    pub agent_name: String,
    /// `agent_phone_number`: the phone number provided for the agent.
    pub agent_phone_number: Option<String>,
    /// `voice_id`: identifier of the chosen voice.
    pub voice_id: Option<String>,
    /// `version` of the configuration.
    pub version: Option<i64>,
    /// `welcome_text`: the greeting.
    pub welcome_text: Option<AgentText>,
    /// `tools`: any JSON; `None` is sent as `null`, which means that no tools are used.
    pub tools: Option<String>,
    /// `enabled`: whether the agent is active.
    pub enabled: Option<bool>,
    /// `save_stats`: whether statistics are saved.
    pub save_stats: Option<bool>,
    /// `server_type`: an environment label; its values are not specified.
    pub server_type: Option<String>,
    /// `call_type`: the kind of call; its values are not specified.
    pub call_type: Option<String>,
    /// `created_at`: its format is not specified.
    pub created_at: Option<String>,
    /// `updated_at`: its format is not specified.
    pub updated_at: Option<String>,
    /// A JSON object whose members are added to the request. A member that this record has a field
    /// for is rejected.
    pub extra: Option<String>,
}

/// A text of an agent: a JSON object with `default`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentText {
    /// `default`: the text itself.
    pub default_text: String,
    /// A JSON object whose members are added beside `default`.
    pub extra: Option<String>,
}

/// The answer to `create_agent`, whose form is not specified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedAgent {
    /// `agent_id`, where the answer is an object that has it as an integer.
    pub agent_id: Option<i64>,
    /// The answer, where it is JSON.
    pub raw_json: Option<String>,
    /// The answer, where it is not JSON and not empty.
    pub raw_text: Option<String>,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
    /// Whether an attempt before the last may have created as well: then there may be two of them.
    pub may_be_duplicate: bool,
}

/// The agents of an organization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentList {
    /// The elements of the answer, in its order.
    pub agents: Vec<AgentSummary>,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
}

/// An element of the list of agents. One that is not an object has neither.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSummary {
    /// `agent_id`.
    pub agent_id: Option<i64>,
    /// `agent_name`.
    pub agent_name: Option<String>,
}

impl AgentConfig {
    /// Returns the configuration of an agent that has a name and nothing else.
    pub fn new(agent_name: impl Into<String>) -> Self {
        Self {
            agent_name: agent_name.into(),
            ..Self::default()
        }
    }
}
