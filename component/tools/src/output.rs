//! The parts of a result that an agent needs. `raw` returns the others as well.

use crate::bindings::voice_calling::types::types as client;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A JSON object with the known parts of a result, in this order.
#[derive(Default)]
pub(crate) struct Object(Vec<(&'static str, Box<RawValue>)>);

impl Object {
    /// Adds a member, if its value is known.
    pub(crate) fn with(mut self, name: &'static str, value: Option<impl Serialize>) -> Self {
        let json = value.and_then(|value| to_raw_value(&value).ok());
        self.0.extend(json.map(|json| (name, json)));
        self
    }

    /// Adds the members of another object.
    pub(crate) fn and(mut self, other: Option<Object>) -> Self {
        self.0.extend(other.unwrap_or_default().0);
        self
    }

    pub(crate) fn text(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, json)| (name, json)))
    }
}

pub(crate) fn agents(list: client::AgentList) -> Object {
    let agents = list.agents.into_iter().map(|agent| {
        Object::default()
            .with("agent_id", agent.agent_id)
            .with("agent_name", agent.agent_name)
    });
    Object::default().with("agents", Some(agents.collect::<Vec<_>>()))
}

pub(crate) fn docket(docket: client::Docket) -> Object {
    Object::default()
        .with("docket_id", Some(docket.docket_id))
        .with("status", docket.status.map(docket_status))
        .with("to_phone_number", docket.to_phone_number)
        .with("calls", docket.outbound_call_count)
        .with("closure_reason", docket.closure_reason)
        .with("closed_at", docket.closed_at)
        .with("call_context", docket.call_context.and_then(json))
        .with("external_id", docket.external_id)
}

pub(crate) fn verification(verification: client::Verification) -> Object {
    let (verdict, completion) = match verification {
        client::Verification::NotACompletion => ("not-a-completion", None),
        client::Verification::Confirmed(completion) => ("confirmed", Some(completion)),
        client::Verification::Contradicted(completion) => ("contradicted", Some(completion)),
    };
    let completion = completion.map(|it| {
        Object::default()
            .with("contradicted", Some(it.contradicted))
            .with("unverified", Some(it.unverified))
            .and(Some(docket(it.docket)))
    });
    Object::default()
        .with("verdict", Some(verdict))
        .and(completion)
}

pub(crate) fn calls(list: client::CallDetailsList) -> Object {
    let calls = list.calls.into_iter().map(|call| {
        let insights = call.call_insights;
        let (metadata, interest, action) = insights.map_or((None, None, None), |it| {
            (it.metadata, it.user_interest, it.next_action)
        });
        Object::default()
            .with("status", call.call_status.map(call_status))
            .with("seconds", call.call_duration_s)
            .with("to_number", call.to_number)
            .with("interest", interest.and_then(|interest| interest.status))
            .with("next_action", action.and_then(|action| action.value))
            .with("metadata", metadata.and_then(json))
    });
    Object::default().with("calls", Some(calls.collect::<Vec<_>>()))
}

pub(crate) fn created_docket(created: client::CreatedDocketV2) -> Object {
    Object::default()
        .with("docket_id", Some(created.docket_id))
        .with("status", created.status.map(docket_status))
        .with("may_be_duplicate", Some(created.may_be_duplicate))
}

pub(crate) fn placed_call(started: client::StartedCall) -> Object {
    Object::default()
        .with("task_id", Some(started.task_id))
        .with("may_be_duplicate", Some(started.may_be_duplicate))
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

/// Converts JSON, which the client has checked.
fn json(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}
