//! The service's reports of dockets and calls: in fetches, details and notifications.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::call::Conversation;
use super::task::{Attempt, Closure, Task, iso_8601};

/// A docket as it is fetched, with the 17 fields of the specification.
#[derive(Serialize)]
pub(super) struct FetchedDocket<'a> {
    docket_id: Uuid,
    agent_name: &'a str,
    status: &'static str,
    call_type: &'a str,
    from_number: &'a str,
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
    /// Returns the docket in its current state.
    pub(super) fn fetched(&self) -> FetchedDocket<'_> {
        let latest_call_id = self.attempts.last().map(|attempt| attempt.call_id);
        let first_called = self.attempts.first().map(|attempt| iso_8601(attempt.at));
        let closure = self.closure.as_ref();
        FetchedDocket {
            docket_id: self.id,
            agent_name: &self.agent_name,
            status: self.status(),
            call_type: &self.call_type,
            from_number: &self.from_number,
            to_phone_number: &self.to_number,
            call_context: &self.call_context,
            external_id: self.external_id.as_deref(),
            closed_call_id: closure.and(latest_call_id),
            latest_call_id,
            closure_reason: closure.map(|_| self.closure_reason()),
            outbound_call_count: self.attempts.len(),
            notification_status: closure.map(Closure::notification_status),
            first_called_at: first_called,
            closed_at: closure.map(|closure| iso_8601(closure.at)),
            created_at: iso_8601(self.created_at),
            updated_at: iso_8601(self.updated_at),
        }
    }
}

impl Closure {
    /// Returns the status: SKIPPED is specified, SENT is invented.
    fn notification_status(&self) -> &'static str {
        if self.notified { "SENT" } else { "SKIPPED" }
    }
}

/// The body of the completion webhook (specification, "Events").
#[derive(Serialize)]
pub(super) struct Completion<'a> {
    docket_id: Uuid,
    call_insights: Option<CompletionInsights<'a>>,
    call_context: &'a RawValue,
    attempts: Vec<CompletionAttempt>,
    dashboard_url: Option<String>,
}

#[derive(Serialize)]
struct CompletionInsights<'a> {
    /// The value is invented.
    call_disposition: &'a str,
    call_metadata: Box<RawValue>,
}

/// Invented as a whole.
#[derive(Serialize)]
struct CompletionAttempt {
    call_id: Uuid,
    call_status: &'static str,
    called_at: String,
    call_duration: f64,
    call_recording_url: Option<String>,
}

impl Task {
    /// Returns the report for the webhook once no further calls will be made. `dashboard` is the
    /// base URL of the page that shows the docket, if any.
    pub(super) fn completion(&self, dashboard: Option<&str>) -> Completion<'_> {
        let last = self.attempts.last();
        let answered = last.and_then(|last| Some((last, last.ending.conversation()?)));
        Completion {
            docket_id: self.id,
            call_insights: answered.map(|(_, conversation)| CompletionInsights {
                call_disposition: &conversation.disposition,
                call_metadata: conversation.metadata(),
            }),
            call_context: &self.call_context,
            attempts: self.attempts.iter().map(Attempt::notified).collect(),
            dashboard_url: answered.map(|(attempt, _)| match dashboard {
                Some(base_url) => format!("{base_url}/dockets/{}", self.id),
                None => format!("https://dashboard.voice.example/{}", attempt.call_id),
            }),
        }
    }
}

impl Attempt {
    fn notified(&self) -> CompletionAttempt {
        CompletionAttempt {
            call_id: self.call_id,
            call_status: self.ending.status().as_str(),
            called_at: iso_8601(self.at),
            call_duration: self.ending.seconds(),
            call_recording_url: self.recording_url(),
        }
    }

    /// Returns the URL of an answered call's recording (invented, resolves nowhere).
    fn recording_url(&self) -> Option<String> {
        self.ending.conversation()?;
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
    from_number: &'a str,
    to_number: &'a str,
    call_status: &'static str,
    call_duration: f64,
}

#[derive(Serialize)]
struct Insights<'a> {
    metadata: Box<RawValue>,
    user_interest: UserInterest<'a>,
    next_action: NextAction<'a>,
}

#[derive(Serialize)]
struct UserInterest<'a> {
    status: &'a str,
    confidence_score: f64,
    reasoning: &'static str,
}

#[derive(Serialize)]
struct NextAction<'a> {
    value: &'a str,
    reason: &'static str,
}

impl Task {
    /// Returns the record of a call that has ended.
    pub(super) fn record<'a>(&'a self, attempt: &'a Attempt) -> CallRecord<'a> {
        let ending = &attempt.ending;
        CallRecord {
            agent_name: &self.agent_name,
            call_context: &self.call_context,
            call_insights: ending.conversation().map(insights),
            call_recording_url: attempt.recording_url(),
            from_number: &self.from_number,
            to_number: &self.to_number,
            call_status: ending.status().as_str(),
            call_duration: ending.seconds(),
        }
    }
}

fn insights(conversation: &Conversation) -> Insights<'_> {
    Insights {
        metadata: conversation.metadata(),
        user_interest: UserInterest {
            status: &conversation.interest,
            confidence_score: 0.87,
            reasoning: "Asked for the renewal link",
        },
        next_action: NextAction {
            value: &conversation.next_action,
            reason: "The customer wants to renew",
        },
    }
}
