//! Tasks of the service: dockets and direct calls, from creation to the end, with their
//! history. Time is passed in.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::parse_borrowed;
use uuid::Uuid;

use super::agent::Agent;
use super::call::{CallStatus, Ending};
use super::creation::{Creation, Origin};

/// The length of the context of a listed [`Entry`], in characters.
const LISTED_CONTEXT: usize = 300;

/// The moments that a timeline keeps, the first and the newest: a docket may be fetched without end,
/// with faults.
const MOST_MOMENTS: usize = 200;

/// A docket or a direct call.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The id of the docket or task.
    pub id: Uuid,
    /// `docket`, or `call` for one that was started directly.
    pub kind: &'static str,
    /// The number to call.
    pub number: String,
    /// The agent's name.
    pub agent: String,
    /// The text of the context; in lists, its first 300 characters.
    pub context: String,
    /// The caller's own identifier.
    pub external_id: Option<String>,
    /// `OPEN`, `IN_PROGRESS` or `COMPLETED`.
    pub status: &'static str,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The number of attempts that have ended.
    pub attempts: usize,
    /// The result of the last attempt, as the service names it.
    pub last: Option<CallStatus>,
    /// The attempt that is ringing.
    pub ringing: Option<RingingAttempt>,
    /// The entry that was started for the same number and context up to a minute earlier.
    pub repeats: Option<Uuid>,
}

/// An attempt that is ringing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RingingAttempt {
    /// The number of the attempt in the docket, from 1.
    pub attempt: usize,
    /// The time at which it began, in milliseconds since 1970.
    pub since_ms: u64,
    /// Whether it rings until it is ended by hand.
    pub by_hand: bool,
}

/// An entry with its whole context and its history.
#[derive(Clone, Debug, Serialize)]
pub struct EntryDetails {
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// The events of its life, in order.
    pub timeline: Vec<Moment>,
}

/// A docket or a direct call, with its history.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: Uuid,
    /// The index of the organization that owns it, and of its token.
    pub(super) organization: usize,
    /// Its approximate memory, in bytes.
    pub(super) size: usize,
    pub(super) agent: Agent,
    pub(super) creation: Creation,
    script: Vec<CallStatus>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) closure: Option<Closure>,
    pub(super) created_at: SystemTime,
    pub(super) updated_at: SystemTime,
    /// The earlier task with the same number and context.
    pub(super) repeats: Option<Uuid>,
    /// The time since which the next attempt rings, if there is one.
    rings_since: SystemTime,
    /// The time at which the attempt that rings ends by itself.
    pub(super) rings_until: Option<SystemTime>,
    timeline: Vec<Moment>,
    /// The sequence number of the last change.
    pub(super) sequence: u64,
}

/// A call. Its shape in the webhook is invented.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) call_id: Uuid,
    pub(super) ending: Ending,
    pub(super) at: SystemTime,
}

#[derive(Debug)]
pub(super) struct Closure {
    pub(super) at: SystemTime,
    pub(super) notified: bool,
}

impl Task {
    pub(super) fn new(
        agent: &Agent,
        creation: &Creation,
        script: &[CallStatus],
        organization: usize,
        now: SystemTime,
    ) -> Self {
        Self {
            id: Uuid::new_v4(),
            organization,
            size: 0,
            agent: agent.clone(),
            creation: creation.clone(),
            script: script.to_vec(),
            attempts: Vec::new(),
            closure: None,
            created_at: now,
            updated_at: now,
            repeats: None,
            rings_since: now,
            rings_until: None,
            timeline: Vec::new(),
            sequence: 0,
        }
    }

    pub(super) fn is_docket(&self) -> bool {
        self.creation.origin != Origin::Call
    }

    pub(super) fn ring(&mut self, now: SystemTime) {
        self.rings_since = now;
        let text = format!("Attempt {} rings.", self.attempts.len() + 1);
        self.note(Moment::new(now, text));
    }

    /// Makes the next attempt, which ends as `ending` says or by its script. Returns `None` if no
    /// further calls will be made.
    pub(super) fn place_next_call(
        &mut self,
        ending: Option<Ending>,
        now: SystemTime,
    ) -> Option<CallStatus> {
        let attempt = self.next_attempt()?;
        let ending = ending.unwrap_or_else(|| Ending::scripted(self.script[attempt - 1]));
        let status = ending.status;
        self.attempts.push(Attempt {
            call_id: match self.creation.origin {
                Origin::Call => self.id,
                _ => Uuid::new_v4(),
            },
            ending,
            at: now,
        });
        self.updated_at = now;
        let text = format!("Attempt {attempt} ended: {status}.");
        self.note(Moment::new(now, text));
        if !self.is_over() {
            self.ring(now);
        }
        Some(status)
    }

    /// Returns the number of the next attempt, which rings, from 1; `None` if no further calls will
    /// be made.
    pub(super) fn next_attempt(&self) -> Option<usize> {
        (!self.is_over()).then_some(self.attempts.len() + 1)
    }

    /// Returns `true` if no further calls will be made.
    pub(super) fn is_over(&self) -> bool {
        self.is_answered() || self.attempts.len() == self.script.len()
    }

    pub(super) fn is_answered(&self) -> bool {
        self.last_status() == Some(CallStatus::Answered)
    }

    fn last_status(&self) -> Option<CallStatus> {
        self.attempts.last().map(|attempt| attempt.ending.status)
    }

    /// Completes the docket for good.
    pub(super) fn close(&mut self, notified: bool, now: SystemTime) {
        self.closure = Some(Closure { at: now, notified });
        self.updated_at = now;
        let text = format!("Completed: {}.", self.closure_reason());
        self.note(Moment::new(now, text));
    }

    /// Returns the reason: DISPOSITION is specified, ATTEMPTS_EXHAUSTED is invented.
    pub(super) fn closure_reason(&self) -> &'static str {
        if self.is_answered() {
            "DISPOSITION"
        } else {
            "ATTEMPTS_EXHAUSTED"
        }
    }

    /// Returns the status in a fetch, and in a creation that finds this docket.
    pub(super) fn status(&self) -> &'static str {
        match self.creation.origin {
            _ if self.is_over() => "COMPLETED",
            Origin::DocketV2 if self.attempts.is_empty() => "OPEN",
            _ => "IN_PROGRESS",
        }
    }

    pub(super) fn note(&mut self, moment: Moment) {
        if self.timeline.len() == MOST_MOMENTS {
            self.timeline.remove(1);
        }
        self.timeline.push(moment);
    }

    /// Returns the entry for a list.
    pub(super) fn listed(&self) -> Entry {
        let context = self.creation.call_context.get();
        let cut = context.char_indices().nth(LISTED_CONTEXT);
        let end = cut.map_or(context.len(), |(index, _)| index);
        self.entry(&context[..end])
    }

    pub(super) fn details(&self) -> EntryDetails {
        EntryDetails {
            entry: self.entry(self.creation.call_context.get()),
            timeline: self.timeline.clone(),
        }
    }

    fn entry(&self, context: &str) -> Entry {
        Entry {
            id: self.id,
            kind: match self.creation.origin {
                Origin::Call => "call",
                _ => "docket",
            },
            number: self.creation.to_phone_number.clone(),
            agent: self.agent.agent_name.clone(),
            context: context.to_owned(),
            external_id: self.creation.external_id.clone(),
            status: self.status(),
            created_ms: milliseconds(self.created_at),
            attempts: self.attempts.len(),
            last: self.last_status(),
            ringing: self.next_attempt().map(|attempt| RingingAttempt {
                attempt,
                since_ms: milliseconds(self.rings_since),
                by_hand: self.rings_until.is_none(),
            }),
            repeats: self.repeats,
        }
    }
}

/// ISO 8601 without zone offset, with fractional seconds, as the service writes it.
const FORMAT: &str = "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]";

/// An event in the history of a docket or direct call.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// A sentence that describes the event.
    pub text: String,
}

impl Moment {
    pub(super) fn new(at: SystemTime, text: String) -> Self {
        Self {
            at_ms: milliseconds(at),
            text,
        }
    }
}

/// Returns the milliseconds since 1970.
pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// Formats `time` in UTC, such as `2026-01-31T09:08:07.000001`.
pub(super) fn iso_8601(time: SystemTime) -> String {
    let format = parse_borrowed::<2>(FORMAT).expect("a format");
    let formatted = OffsetDateTime::from(time).format(&format);
    formatted.expect("a year of four digits")
}
