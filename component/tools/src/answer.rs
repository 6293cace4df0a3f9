//! What an agent needs of an answer. Everything else is there with `raw`.

use crate::bindings::voice_calling::client::types as client;
use serde::Serialize;
use serde_json::value::RawValue;

pub(crate) fn text(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}

#[derive(Serialize)]
pub(crate) struct Agents {
    agents: Vec<Agent>,
}

#[derive(Serialize)]
struct Agent {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Waited {
    pub(crate) outcome: &'static str,
    #[serde(flatten)]
    pub(crate) docket: Option<Docket>,
}

#[derive(Serialize)]
pub(crate) struct Verified {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    contradicted: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unverified: Option<Vec<String>>,
    #[serde(flatten)]
    docket: Option<Docket>,
}

#[derive(Serialize)]
pub(crate) struct Docket {
    docket_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_phone_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closure_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_context: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Calls {
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
}

#[derive(Serialize)]
pub(crate) struct CreatedDocket {
    docket_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    may_be_duplicate: bool,
}

#[derive(Serialize)]
pub(crate) struct PlacedCall {
    task_id: String,
    may_be_duplicate: bool,
}

impl From<client::AgentList> for Agents {
    fn from(list: client::AgentList) -> Self {
        let agents = list.agents.into_iter().map(|agent| Agent {
            agent_id: agent.agent_id,
            agent_name: agent.agent_name,
        });
        Self {
            agents: agents.collect(),
        }
    }
}

impl From<client::Docket> for Docket {
    fn from(docket: client::Docket) -> Self {
        Self {
            docket_id: docket.docket_id,
            status: docket.status.map(docket_status),
            to_phone_number: docket.to_phone_number,
            calls: docket.outbound_call_count,
            closure_reason: docket.closure_reason,
            closed_at: docket.closed_at,
            call_context: docket.call_context.and_then(json),
            external_id: docket.external_id,
        }
    }
}

impl From<client::Verification> for Verified {
    fn from(verification: client::Verification) -> Self {
        let (verdict, completion) = match verification {
            client::Verification::NotACompletion => ("not-a-completion", None),
            client::Verification::Confirmed(completion) => ("confirmed", Some(completion)),
            client::Verification::Contradicted(completion) => ("contradicted", Some(completion)),
        };
        let (contradicted, unverified, docket) = completion.map_or_else(Default::default, |it| {
            let docket = Docket::from(it.docket);
            (Some(it.contradicted), Some(it.unverified), Some(docket))
        });
        Self {
            verdict,
            contradicted,
            unverified,
            docket,
        }
    }
}

impl From<client::CallDetailsList> for Calls {
    fn from(list: client::CallDetailsList) -> Self {
        let calls = list.calls.into_iter().map(|call| {
            let insights = call.call_insights;
            let (metadata, interest, action) = insights.map_or((None, None, None), |it| {
                (it.metadata, it.user_interest, it.next_action)
            });
            Call {
                status: call.call_status.map(call_status),
                seconds: call.call_duration_s,
                to_number: call.to_number,
                interest: interest.and_then(|interest| interest.status),
                next_action: action.and_then(|action| action.value),
                metadata: metadata.and_then(json),
            }
        });
        Self {
            calls: calls.collect(),
        }
    }
}

impl From<client::CreatedDocketV2> for CreatedDocket {
    fn from(created: client::CreatedDocketV2) -> Self {
        Self {
            docket_id: created.docket_id,
            status: created.status.map(docket_status),
            may_be_duplicate: created.may_be_duplicate,
        }
    }
}

impl From<client::StartedCall> for PlacedCall {
    fn from(started: client::StartedCall) -> Self {
        Self {
            task_id: started.task_id,
            may_be_duplicate: started.may_be_duplicate,
        }
    }
}

fn docket_status(status: client::DocketStatus) -> String {
    match status {
        client::DocketStatus::Open => "OPEN".to_owned(),
        client::DocketStatus::InProgress => "IN_PROGRESS".to_owned(),
        client::DocketStatus::Completed => "COMPLETED".to_owned(),
        client::DocketStatus::Other(status) => status,
    }
}

fn call_status(status: client::CallStatus) -> String {
    match status {
        client::CallStatus::Answered => "ANSWERED".to_owned(),
        client::CallStatus::NoAnswer => "NO_ANSWER".to_owned(),
        client::CallStatus::Busy => "BUSY".to_owned(),
        client::CallStatus::Other(status) => status,
    }
}

/// The client has checked that it is JSON.
fn json(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}
