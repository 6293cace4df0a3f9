//! Calls: how they end, what is asked to start one, and the record of one.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::ending::Ending;
use super::entry::{self, EntryKind};
use super::json_object::{FieldType, Fields, JsonObject};
use super::options::{Meanings, UnansweredInsights};
use super::refusal::Problem;
use super::timeline::Log;

/// How a call ends: the statuses that the specification names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum CallStatus {
    /// No one answered.
    NoAnswer,
    /// The line was engaged.
    Busy,
    /// Answered: the call closes its docket.
    Answered,
}

impl CallStatus {
    /// The service's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "NO_ANSWER",
            Self::Busy => "BUSY",
            Self::Answered => "ANSWERED",
        }
    }
}

/// How calls end, per phone number. Looked up in this order: `by_number`, `seed`, the
/// defaults.
#[derive(Clone, Debug)]
pub struct Scripts {
    /// The attempts of a docket, at least one: those after an answered one are never
    /// made, and when none is answered the docket closes after the last.
    pub docket: Vec<CallStatus>,
    /// The end of a call that was started directly.
    pub direct_call: CallStatus,
    /// Scripts of single numbers; a direct call takes the first entry.
    pub by_number: BTreeMap<String, Vec<CallStatus>>,
    /// Where set, numbers that are not listed get one to three attempts drawn from this
    /// seed and the number: the same on every run.
    pub seed: Option<u64>,
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            docket: vec![CallStatus::NoAnswer, CallStatus::Answered],
            direct_call: CallStatus::Answered,
            by_number: BTreeMap::new(),
            seed: None,
        }
    }
}

impl Scripts {
    /// Whether each script has an attempt.
    pub(super) fn are_complete(&self) -> bool {
        let mut scripts = self.by_number.values().chain([&self.docket]);
        scripts.all(|script| !script.is_empty())
    }

    pub(super) fn of_docket(&self, number: &str) -> Vec<CallStatus> {
        self.of_number(number)
            .unwrap_or_else(|| self.docket.clone())
    }

    pub(super) fn of_direct_call(&self, number: &str) -> CallStatus {
        let script = self.of_number(number);
        script.map_or(self.direct_call, |script| script[0])
    }

    fn of_number(&self, number: &str) -> Option<Vec<CallStatus>> {
        let listed = self.by_number.get(number).cloned();
        listed.or_else(|| self.seed.map(|seed| drawn(seed, number)))
    }
}

/// Up to three attempts, each answered by every second number (SplitMix64).
fn drawn(seed: u64, number: &str) -> Vec<CallStatus> {
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let mut state = number.bytes().fold(mix(seed), |state, byte| {
        mix(state.wrapping_add(u64::from(byte)))
    });
    let mut script = Vec::new();
    while script.len() < 3 && script.last() != Some(&CallStatus::Answered) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        script.push(match mix(state) % 10 {
            0..5 => CallStatus::Answered,
            5..8 => CallStatus::NoAnswer,
            _ => CallStatus::Busy,
        });
    }
    script
}

/// The body of `POST /make_call`.
#[derive(Debug)]
pub(super) struct CallRequest {
    pub(super) caller: Caller,
    pub(super) to_phone_number: String,
    pub(super) call_context: JsonObject,
}

/// What the agent of a call is named by.
#[derive(Debug)]
pub(super) enum Caller {
    Name(String),
    /// Invented: the specification mentions it and does not name the field.
    PhoneNumber(String),
}

impl CallRequest {
    /// Reads `body`, in which the field `agent_phone_field`, if any, may stand in for
    /// the agent's name.
    pub(super) fn read(
        body: &JsonObject,
        agent_phone_field: Option<&str>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut fields = Fields::new(body, &["body"], &mut problems);
        let caller = read_caller(&mut fields, agent_phone_field);
        let to_phone_number: Option<String> = fields.required("to_phone_number");
        if to_phone_number.as_deref() == Some("") {
            fields.problem("to_phone_number", "string_too_short", "String is empty");
        }
        let extra_config: Option<JsonObject> = fields.optional("extra_config");
        let call_context = extra_config
            .and_then(|extra| read_context(&extra, &mut problems))
            .unwrap_or_else(JsonObject::empty);
        match (caller, to_phone_number) {
            (Some(caller), Some(to_phone_number)) if problems.is_empty() => Ok(Self {
                caller,
                to_phone_number,
                call_context,
            }),
            _ => Err(problems),
        }
    }
}

fn read_caller(fields: &mut Fields, agent_phone_field: Option<&str>) -> Option<Caller> {
    if let Some(number) = agent_phone_field.and_then(|name| fields.optional(name)) {
        return Some(Caller::PhoneNumber(number));
    }
    fields.required("from_agent_name").map(Caller::Name)
}

/// A context whose values are strings, as the specification has it for direct calls.
fn read_context(extra_config: &JsonObject, problems: &mut Vec<Problem>) -> Option<JsonObject> {
    let path = ["body", "extra_config"];
    let context: JsonObject =
        Fields::new(extra_config, &path, problems).optional("call_context")?;
    let path = ["body", "extra_config", "call_context"];
    let mut fields = Fields::new(&context, &path, problems);
    for name in context.fields_not_string() {
        fields.problem(name, String::KIND, String::MESSAGE);
    }
    Some(context)
}

/// A call that was started directly.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) task_id: String,
    pub(super) agent_name: String,
    pub(super) from_number: String,
    pub(super) to_number: String,
    pub(super) call_context: Box<RawValue>,
    /// How it ends unless it is ended by hand.
    pub(super) script: CallStatus,
    pub(super) ended: Option<Ending>,
    pub(super) log: Log,
}

impl Call {
    /// Ends the call, as the script has it unless `ending` says otherwise. None where it is over.
    pub(super) fn end(&mut self, ending: Option<Ending>, now: SystemTime) -> Option<CallStatus> {
        if self.ended.is_some() {
            return None;
        }
        let ending = ending.unwrap_or_else(|| Ending::scripted(self.script));
        let status = ending.status();
        self.ended = Some(ending);
        self.log.end(1, status.as_str(), now);
        Some(status)
    }

    /// What a page shows.
    pub(super) fn shown(&self) -> entry::Facts<'_> {
        let ended = self.ended.as_ref();
        entry::Facts {
            id: self.task_id.clone(),
            kind: EntryKind::Call,
            number: &self.to_number,
            agent: &self.agent_name,
            context: self.call_context.get(),
            external_id: None,
            status: ended.map_or("IN_PROGRESS", |_| "COMPLETED"),
            attempts: usize::from(ended.is_some()),
            last: ended.map(Ending::status),
            log: &self.log,
        }
    }

    pub(super) fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            call_id: &self.task_id,
            agent_name: &self.agent_name,
            from_number: &self.from_number,
            to_number: &self.to_number,
            call_context: &self.call_context,
            ended: self.ended.as_ref(),
        }
    }
}

/// What is reported of a call, whether a docket's or a direct one.
pub(super) struct CallFacts<'a> {
    pub(super) call_id: &'a str,
    pub(super) agent_name: &'a str,
    pub(super) from_number: &'a str,
    pub(super) to_number: &'a str,
    pub(super) call_context: &'a RawValue,
    /// None while the call goes on.
    pub(super) ended: Option<&'a Ending>,
}

/// A record as `GET /call_details/{task_id}` lists it.
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

impl<'a> CallFacts<'a> {
    /// In the service's word.
    pub(super) fn status(&self) -> &'static str {
        let ended = self.ended.map(Ending::status);
        ended.map_or("IN_PROGRESS", CallStatus::as_str)
    }

    /// The record; without insights while the call goes on.
    pub(super) fn record(&self, meanings: &Meanings) -> CallRecord<'a> {
        CallRecord {
            agent_name: self.agent_name,
            call_context: self.call_context,
            call_insights: self.ended.and_then(|ending| insights(ending, meanings)),
            call_recording_url: recording_url(self.call_id, self.ended),
            from_number: self.from_number,
            to_number: self.to_number,
            call_status: self.status(),
            call_duration: self.ended.map_or(0.0, Ending::seconds),
        }
    }
}

/// Where the recording of an answered call would be (invented, resolves nowhere).
pub(super) fn recording_url(call_id: &str, ended: Option<&Ending>) -> Option<String> {
    ended?.conversation()?;
    Some(format!("https://recordings.voice.example/{call_id}.mp3"))
}

fn insights<'a>(ending: &'a Ending, meanings: &Meanings) -> Option<Insights<'a>> {
    match (ending.conversation(), meanings.unanswered_insights) {
        (Some(conversation), _) => Some(Insights {
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
        }),
        (None, UnansweredInsights::Null) => None,
        (None, UnansweredInsights::Redial) => Some(Insights {
            metadata: JsonObject::empty().text,
            user_interest: UserInterest {
                status: "UNKNOWN",
                confidence_score: 0.0,
                reasoning: "No one spoke",
            },
            next_action: NextAction {
                value: "REDIAL",
                reason: "The call was not answered",
            },
        }),
    }
}
