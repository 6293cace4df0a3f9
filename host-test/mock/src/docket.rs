//! Dockets: a task that needs calls, from creation to COMPLETED. Time is passed in.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::agent::Agent;
use super::call::{CallFacts, CallStatus, recording_url};
use super::ending::Ending;
use super::entry::{self, EntryKind};
use super::json_object::{Fields, JsonObject};
use super::options::{Meanings, OpenDocketFields, V2Status};
use super::refusal::Problem;
use super::timeline::{Log, Moment, MomentKind};
use crate::timestamp::iso_8601;

/// Which creation endpoint a docket came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// The body of `POST /api/v1/dockets` and `POST /api/v2/dockets`.
#[derive(Debug)]
pub(super) struct DocketRequest {
    pub(super) agent_id: i64,
    pub(super) to_phone_number: String,
    pub(super) call_context: Box<RawValue>,
    /// Version 2 only.
    pub(super) external_id: Option<String>,
}

impl DocketRequest {
    pub(super) fn read(body: &JsonObject, version: Version) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut fields = Fields::new(body, &["body"], &mut problems);
        let agent_id = fields.required("agent_id");
        let to_phone_number = read_phone_number(&mut fields);
        let external_id = match version {
            Version::One => None,
            Version::Two => fields.optional("external_id"),
        };
        let extra_config: Option<JsonObject> = fields.required("extra_config");
        let call_context: Option<JsonObject> = extra_config.and_then(|extra| {
            Fields::new(&extra, &["body", "extra_config"], &mut problems).required("call_context")
        });
        match (agent_id, to_phone_number, call_context) {
            (Some(agent_id), Some(to_phone_number), Some(context)) if problems.is_empty() => {
                Ok(Self {
                    agent_id,
                    to_phone_number,
                    call_context: context.text,
                    external_id,
                })
            }
            _ => Err(problems),
        }
    }
}

/// 12 digits including the country code (specification, "Limits").
fn read_phone_number(fields: &mut Fields) -> Option<String> {
    let number: String = fields.required("to_phone_number")?;
    if number.len() != 12 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = "String should match pattern '^[0-9]{12}$'";
        fields.problem("to_phone_number", "string_pattern_mismatch", message);
    }
    Some(number)
}

/// A docket and all that happened to it.
#[derive(Debug)]
pub(super) struct Docket {
    pub(super) id: Uuid,
    version: Version,
    agent_name: String,
    call_type: String,
    from_number: String,
    to_phone_number: String,
    pub(super) call_context: Box<RawValue>,
    pub(super) external_id: Option<String>,
    script: Vec<CallStatus>,
    attempts: Vec<Attempt>,
    closure: Option<Closure>,
    updated_at: SystemTime,
    pub(super) log: Log,
}

/// One call of a docket. Its shape in the webhook is invented.
#[derive(Debug)]
struct Attempt {
    call_id: String,
    ending: Ending,
    at: SystemTime,
}

#[derive(Debug)]
struct Closure {
    at: SystemTime,
    notified: bool,
}

impl Docket {
    pub(super) fn new(
        version: Version,
        agent: &Agent,
        request: DocketRequest,
        script: Vec<CallStatus>,
        now: SystemTime,
    ) -> Self {
        Self {
            id: Uuid::new_v4(),
            version,
            agent_name: agent.agent_name.clone(),
            call_type: agent.call_type.clone(),
            from_number: agent.calling_number(),
            to_phone_number: request.to_phone_number,
            call_context: request.call_context,
            external_id: request.external_id,
            script,
            attempts: Vec::new(),
            closure: None,
            updated_at: now,
            log: Log::new(now),
        }
    }

    /// Makes the next attempt, which ends as the script has it unless `ending` says otherwise;
    /// none when no further calls are to be made.
    pub(super) fn place_next_call(
        &mut self,
        ending: Option<Ending>,
        now: SystemTime,
    ) -> Option<CallStatus> {
        let attempt = self.next_attempt()?;
        let ending = ending.unwrap_or_else(|| Ending::scripted(self.script[attempt - 1]));
        let status = ending.status();
        self.attempts.push(Attempt {
            call_id: Uuid::new_v4().to_string(),
            ending,
            at: now,
        });
        self.updated_at = now;
        self.log.end(attempt, status.as_str(), now);
        Some(status)
    }

    /// The number of the next attempt, from 1; none when no further calls are to be made.
    pub(super) fn next_attempt(&self) -> Option<usize> {
        (!self.is_over()).then_some(self.attempts.len() + 1)
    }

    /// Whether no further calls are to be made.
    pub(super) fn is_over(&self) -> bool {
        self.is_answered() || self.attempts.len() == self.script.len()
    }

    pub(super) fn is_answered(&self) -> bool {
        let last = self.attempts.last();
        last.is_some_and(|attempt| attempt.ending.status() == CallStatus::Answered)
    }

    /// Completes the docket, for good.
    pub(super) fn close(&mut self, notified: bool, now: SystemTime) {
        self.closure = Some(Closure { at: now, notified });
        self.updated_at = now;
        let text = format!("Completed: {}.", self.closure_reason());
        let moment = Moment::new(now, MomentKind::Closed, text);
        self.log.timeline.push(moment);
    }

    /// What a fetch says, and a creation that finds this docket.
    pub(super) fn status(&self, meaning: V2Status) -> &'static str {
        if self.closure.is_some() {
            return "COMPLETED";
        }
        match (self.version, meaning) {
            (Version::Two, V2Status::OpenUntilCalled) if self.attempts.is_empty() => "OPEN",
            (Version::Two, V2Status::OpenUntilClosed) => "OPEN",
            _ => "IN_PROGRESS",
        }
    }

    /// The status a creation answers with (specification, "States and transitions").
    pub(super) fn created_status(&self) -> &'static str {
        match self.version {
            Version::One => "IN_PROGRESS",
            Version::Two => "OPEN",
        }
    }

    /// What a page shows.
    pub(super) fn shown(&self, meaning: V2Status) -> entry::Facts<'_> {
        entry::Facts {
            id: self.id.to_string(),
            kind: EntryKind::Docket,
            number: &self.to_phone_number,
            agent: &self.agent_name,
            context: self.call_context.get(),
            external_id: self.external_id.as_deref(),
            status: self.status(meaning),
            attempts: self.attempts.len(),
            last: self.attempts.last().map(|attempt| attempt.ending.status()),
            log: &self.log,
        }
    }

    pub(super) fn last_call(&self) -> Option<CallFacts<'_>> {
        self.attempts.last().map(|attempt| self.facts(attempt))
    }

    /// The call with the identifier `call_id`, if it is one of this docket.
    pub(super) fn call(&self, call_id: &str) -> Option<CallFacts<'_>> {
        let mut attempts = self.attempts.iter();
        let attempt = attempts.find(|attempt| attempt.call_id == call_id)?;
        Some(self.facts(attempt))
    }

    fn facts<'a>(&'a self, attempt: &'a Attempt) -> CallFacts<'a> {
        CallFacts {
            call_id: &attempt.call_id,
            agent_name: &self.agent_name,
            from_number: &self.from_number,
            to_number: &self.to_phone_number,
            call_context: &self.call_context,
            ended: Some(&attempt.ending),
        }
    }

    /// DISPOSITION is specified; ATTEMPTS_EXHAUSTED is invented.
    fn closure_reason(&self) -> &'static str {
        if self.is_answered() {
            "DISPOSITION"
        } else {
            "ATTEMPTS_EXHAUSTED"
        }
    }
}

/// A docket as it is fetched: the 17 fields of the specification. Where the outer option
/// is none the field is left out, where the inner one is it is null.
#[derive(Serialize)]
pub(super) struct FetchedDocket<'a> {
    docket_id: String,
    agent_name: &'a str,
    status: &'static str,
    call_type: &'a str,
    from_number: &'a str,
    to_phone_number: &'a str,
    call_context: &'a RawValue,
    external_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_call_id: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_call_id: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closure_reason: Option<Option<&'static str>>,
    outbound_call_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    notification_status: Option<Option<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_called_at: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Option<String>>,
    created_at: String,
    updated_at: String,
}

impl Docket {
    /// The docket as it stands.
    pub(super) fn fetched(&self, meanings: &Meanings) -> FetchedDocket<'_> {
        let unknown = meanings.open_docket_fields;
        let latest_call_id = self.attempts.last().map(|attempt| &*attempt.call_id);
        let first_called = self.attempts.first().map(|attempt| iso_8601(attempt.at));
        let closure = self.closure.as_ref();
        FetchedDocket {
            docket_id: self.id.to_string(),
            agent_name: &self.agent_name,
            status: self.status(meanings.v2_status),
            call_type: &self.call_type,
            from_number: &self.from_number,
            to_phone_number: &self.to_phone_number,
            call_context: &self.call_context,
            external_id: self.external_id.as_deref(),
            closed_call_id: shown(closure.and(latest_call_id), unknown),
            latest_call_id: shown(latest_call_id, unknown),
            closure_reason: shown(closure.map(|_| self.closure_reason()), unknown),
            outbound_call_count: self.attempts.len(),
            notification_status: shown(closure.map(Closure::notification_status), unknown),
            first_called_at: shown(first_called, unknown),
            closed_at: shown(closure.map(|closure| iso_8601(closure.at)), unknown),
            created_at: iso_8601(self.log.created_at),
            updated_at: iso_8601(self.updated_at),
        }
    }
}

impl Closure {
    /// SKIPPED is specified; SENT is invented.
    fn notification_status(&self) -> &'static str {
        if self.notified { "SENT" } else { "SKIPPED" }
    }
}

fn shown<T>(value: Option<T>, unknown: OpenDocketFields) -> Option<Option<T>> {
    match (&value, unknown) {
        (None, OpenDocketFields::LeftOut) => None,
        _ => Some(value),
    }
}

/// The completion webhook's body (specification, "Events").
#[derive(Serialize)]
pub(super) struct Completion<'a> {
    docket_id: String,
    call_insights: Option<CompletionInsights<'a>>,
    call_context: &'a RawValue,
    attempts: Vec<CompletionAttempt<'a>>,
    dashboard_url: Option<String>,
}

#[derive(Serialize)]
struct CompletionInsights<'a> {
    /// The value is invented.
    call_disposition: &'a str,
    call_metadata: Box<RawValue>,
}

/// Invented, all of it.
#[derive(Serialize)]
struct CompletionAttempt<'a> {
    call_id: &'a str,
    call_status: &'static str,
    called_at: String,
    call_duration: f64,
    call_recording_url: Option<String>,
}

impl Docket {
    /// What the webhook reports when no further calls are to be made. `dashboard` is the base URL
    /// of the page that shows the docket, where one does.
    pub(super) fn completion(&self, dashboard: Option<&str>) -> Completion<'_> {
        let last = self.attempts.last();
        let answered = last.and_then(|last| Some((last, last.ending.conversation()?)));
        Completion {
            docket_id: self.id.to_string(),
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
    fn notified(&self) -> CompletionAttempt<'_> {
        CompletionAttempt {
            call_id: &self.call_id,
            call_status: self.ending.status().as_str(),
            called_at: iso_8601(self.at),
            call_duration: self.ending.seconds(),
            call_recording_url: recording_url(&self.call_id, Some(&self.ending)),
        }
    }
}
