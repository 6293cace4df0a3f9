//! Calls, and what is known of them.

use super::Attempt;
use serde::{Deserialize, Serialize};

/// A call to be made. It makes a phone ring.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRequest {
    /// `from_agent_name`: the agent that calls; not empty. May be `None` only where `extra` is
    /// given, which then has to select the agent: the service also knows agents by phone number,
    /// but the name of that field is not specified.
    pub from_agent_name: Option<String>,
    /// `to_phone_number`: the number to be called; not empty, without control characters. Its
    /// format is not specified.
    pub to_phone_number: String,
    /// `extra_config.call_context`: the variables of the agent's prompt, as names and values. No
    /// name occurs twice. Empty leaves `call_context` out.
    pub call_context: Vec<(String, String)>,
    /// A JSON object whose members are added to the request; those of its `extra_config` are added
    /// to `extra_config`. A member that this record has a field for is rejected.
    pub extra: Option<String>,
}

impl CallRequest {
    /// Returns a request without context.
    ///
    /// # Examples
    /// ```
    /// # use voice_calling_core::types::CallRequest;
    /// let request = CallRequest::new("renewals", "910000000000")
    ///     .with_call_context([("name", "Asha"), ("due", "Friday")]);
    /// assert_eq!(request.call_context.len(), 2);
    /// ```
    pub fn new(from_agent_name: impl Into<String>, to_phone_number: impl Into<String>) -> Self {
        Self {
            from_agent_name: Some(from_agent_name.into()),
            to_phone_number: to_phone_number.into(),
            ..Self::default()
        }
    }

    /// Sets the variables of the agent's prompt.
    #[must_use]
    pub fn with_call_context<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        self.call_context = variables.collect();
        self
    }
}

/// A call that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartedCall {
    /// `task_id`: needed to get the call's details. Keep it.
    pub task_id: String,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
    /// Whether an attempt before the last may have created as well: then there may be two of them.
    pub may_be_duplicate: bool,
}

/// How a call ended. Values beyond the three are not specified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallStatus {
    /// `ANSWERED`
    Answered,
    /// `NO_ANSWER`
    NoAnswer,
    /// `BUSY`
    Busy,
    /// Any other text, as it came.
    Other(String),
}

/// What is known of a task's calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDetailsList {
    /// The records of the answer, in its order.
    pub calls: Vec<CallDetails>,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
}

/// What is known of one call of a task. A record that is not an object has none of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDetails {
    /// `agent_name`: the agent that called.
    pub agent_name: Option<String>,
    /// `call_context`: a JSON object, as given when the call was made.
    pub call_context: Option<String>,
    /// `call_insights`: what was found in the conversation, once the call is completed.
    pub call_insights: Option<CallInsights>,
    /// `call_recording_url`.
    pub call_recording_url: Option<String>,
    /// `from_number`.
    pub from_number: Option<String>,
    /// `to_number`.
    pub to_number: Option<String>,
    /// `call_status`.
    pub call_status: Option<CallStatus>,
    /// `call_duration`. Unit: seconds.
    pub call_duration_s: Option<f64>,
}

/// Insights of a call. (Those of a completed docket are [`DocketInsights`](super::DocketInsights).)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallInsights {
    /// `metadata`: a JSON object; its keys depend on the agent.
    pub metadata: Option<String>,
    /// `user_interest`.
    pub user_interest: Option<UserInterest>,
    /// `next_action`.
    pub next_action: Option<NextAction>,
}

/// How interested the called person was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserInterest {
    /// `status`: its values are not specified.
    pub status: Option<String>,
    /// `confidence_score`: its range is not specified.
    pub confidence_score: Option<f64>,
    /// `reasoning`.
    pub reasoning: Option<String>,
}

/// What the service proposes to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextAction {
    /// `value`: `REDIAL` is one; others are not specified.
    pub value: Option<String>,
    /// `reason`.
    pub reason: Option<String>,
}
