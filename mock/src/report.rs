//! The service's reports of dockets and calls: in fetches, details and notifications.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

use super::call::{CallStatus, Ending};
use super::task::{Attempt, Task, iso_8601};

/// A docket as it is fetched, with the 17 fields of the specification.
#[derive(Serialize)]
pub(super) struct FetchedDocket<'a> {
    docket_id: Uuid,
    agent_name: &'a str,
    status: &'static str,
    call_type: &'a str,
    from_number: String,
    to_phone_number: &'a str,
    call_context: &'a RawValue,
    external_id: Option<&'a str>,
    closed_call_id: Option<Uuid>,
    latest_call_id: Option<Uuid>,
    closure_reason: Option<&'static str>,
    outbound_call_count: usize,
    notification_status: Option<&'static str>,
    first_called_at: Option<String>,
    closed_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl Task {
    pub(super) fn fetched(&self) -> FetchedDocket<'_> {
        let latest_call_id = self.attempts.last().map(|attempt| attempt.call_id);
        let first_called = self.attempts.first().map(|attempt| iso_8601(attempt.at));
        let closure = self.closure.as_ref();
        FetchedDocket {
            docket_id: self.id,
            agent_name: &self.agent.agent_name,
            status: self.status(),
            call_type: &self.agent.call_type,
            from_number: self.agent.calling_number(),
            to_phone_number: &self.creation.to_phone_number,
            call_context: &self.creation.call_context,
            external_id: self.creation.external_id.as_deref(),
            closed_call_id: closure.and(latest_call_id),
            latest_call_id,
            closure_reason: closure.map(|_| self.closure_reason()),
            outbound_call_count: self.attempts.len(),
            // SKIPPED is specified, SENT is invented.
            notification_status: closure.map(|it| if it.notified { "SENT" } else { "SKIPPED" }),
            first_called_at: first_called,
            closed_at: closure.map(|closure| iso_8601(closure.at)),
            created_at: iso_8601(self.created_at),
            updated_at: iso_8601(self.updated_at),
        }
    }
}

/// The body of the completion webhook (specification, "Events").
#[derive(Serialize)]
pub(super) struct Completion<'a> {
    docket_id: Uuid,
    call_insights: Option<CompletionInsights<'a>>,
    call_context: &'a RawValue,
    attempts: Vec<Value>,
    dashboard_url: Option<String>,
}

#[derive(Serialize)]
struct CompletionInsights<'a> {
    /// The value is invented.
    call_disposition: &'a str,
    call_metadata: &'a RawValue,
}

impl Task {
    /// Returns the report for the webhook once no further calls will be made. `dashboard` is the
    /// base URL of the page that shows the docket, if any.
    pub(super) fn completion(&self, dashboard: Option<&str>) -> Completion<'_> {
        let last = self.attempts.last();
        let answered = last.and_then(|last| Some((last, last.ending.answered()?)));
        Completion {
            docket_id: self.id,
            call_insights: answered.map(|(_, ending)| CompletionInsights {
                call_disposition: &ending.disposition,
                call_metadata: &ending.metadata.0,
            }),
            call_context: &self.creation.call_context,
            attempts: self.attempts.iter().map(Attempt::notified).collect(),
            dashboard_url: answered.map(|(attempt, _)| match dashboard {
                Some(base_url) => format!("{base_url}/dockets/{}", self.id),
                None => format!("https://dashboard.voice.example/{}", attempt.call_id),
            }),
        }
    }
}

impl Attempt {
    /// Returns its part of a completion, which is invented as a whole.
    fn notified(&self) -> Value {
        json!({
            "call_id": self.call_id,
            "call_status": self.ending.status,
            "called_at": iso_8601(self.at),
            "call_duration": self.seconds(),
            "call_recording_url": self.recording_url(),
        })
    }

    fn seconds(&self) -> f64 {
        self.ending.answered().map_or(0.0, |ending| ending.seconds)
    }

    /// Returns the URL of an answered call's recording (invented, resolves nowhere).
    fn recording_url(&self) -> Option<String> {
        self.ending.answered()?;
        let call_id = self.call_id;
        Some(format!("https://recordings.voice.example/{call_id}.mp3"))
    }
}

/// The record of a call, as listed by `GET /call_details/{task_id}`.
#[derive(Serialize)]
pub(super) struct CallRecord<'a> {
    agent_name: &'a str,
    call_context: &'a RawValue,
    call_insights: Option<Insights<'a>>,
    call_recording_url: Option<String>,
    from_number: String,
    to_number: &'a str,
    call_status: CallStatus,
    call_duration: f64,
}

#[derive(Serialize)]
struct Insights<'a> {
    metadata: &'a RawValue,
    user_interest: Value,
    next_action: Value,
}

impl Task {
    pub(super) fn record<'a>(&'a self, attempt: &'a Attempt) -> CallRecord<'a> {
        let insights = |ending: &'a Ending| Insights {
            metadata: &ending.metadata.0,
            user_interest: json!({
                "status": ending.interest,
                "confidence_score": 0.87,
                "reasoning": "Asked for the renewal link",
            }),
            next_action: json!({
                "value": ending.next_action,
                "reason": "The customer wants to renew",
            }),
        };
        CallRecord {
            agent_name: &self.agent.agent_name,
            call_context: &self.creation.call_context,
            call_insights: attempt.ending.answered().map(insights),
            call_recording_url: attempt.recording_url(),
            from_number: self.agent.calling_number(),
            to_number: &self.creation.to_phone_number,
            call_status: attempt.ending.status,
            call_duration: attempt.seconds(),
        }
    }
}
