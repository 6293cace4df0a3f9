//! The entry of a key, and what may happen to it.

use super::ObservedDocket;
use super::claim::{created_id, recorded_id};
use crate::problem::problem;
use crate::types::Problem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a key in a ledger.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The create is in progress.
    Begun,
    /// It succeeded.
    Done,
    /// It may have been carried out: its outcome is not known, or its claim has ended before it
    /// was.
    #[default]
    Unknown,
    /// It was certainly not carried out, and may be sent.
    Free,
}

impl State {
    /// Returns the name that ledgers store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Unknown => "unknown",
            Self::Free => "free",
        }
    }

    /// Returns the state with this name. One that this version does not know is unknown, so that
    /// nothing is sent for it.
    pub fn of_name(name: &str) -> Self {
        match name {
            "begun" => Self::Begun,
            "done" => Self::Done,
            "free" => Self::Free,
            _ => Self::Unknown,
        }
    }
}

/// The keyed digests of a create's arguments, by name. Ledgers store them in place of the
/// arguments, which contain a phone number.
pub type Digests = BTreeMap<String, String>;

/// The entry of a key in a ledger. Times are milliseconds since 1970, UTC, by the clock of the
/// machine that wrote them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The function of the create, such as `dockets.create-docket-v2`.
    pub function: String,
    /// The digests of its arguments.
    pub digests: Digests,
    /// The state when it was written: [`state_at`](Self::state_at) is the state now.
    pub state: State,
    /// The unique name of the claim that began it last.
    pub claim: String,
    /// When it was begun.
    pub begun_ms: u64,
    /// When its claim ends: a create that has no outcome by then has an unknown one.
    pub claim_ends_ms: u64,
    /// When it ended, or was resolved.
    pub ended_ms: Option<u64>,
    /// The recorded answer of a create that is done: a JSON object with the id of what was created,
    /// and with neither names nor numbers.
    pub answer: Option<String>,
    /// The message of the failure that it ended in.
    pub message: Option<String>,
    /// The person that resolved it, or `docket` for a docket that was fetched or verified.
    pub resolved_by: Option<String>,
}

/// The entry that a claim has found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Found {
    /// The function of its create.
    pub function: String,
    /// Its state.
    pub state: State,
    /// When it was begun, in milliseconds since 1970, UTC.
    pub begun_ms: u64,
    /// The recorded answer of a create that is done.
    pub answer: Option<String>,
    /// The first argument that differs from those of the claim.
    pub differs_in: Option<String>,
}

/// How a claimed create ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Done, unknown or free.
    pub state: State,
    /// The answer, if it is done.
    pub answer: Option<String>,
    /// The message of the failure otherwise.
    pub message: Option<String>,
}

/// What happens to a key.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A create with the key is about to be sent.
    Claim {
        /// Its function.
        function: &'a str,
        /// The digests of its arguments.
        digests: &'a Digests,
        /// The unique name of the claim.
        claim: &'a str,
        /// How long the claim lasts, in milliseconds.
        lasts_ms: u64,
    },
    /// The create of a claim has ended.
    Record {
        /// The name of the claim.
        claim: &'a str,
        /// How it ended.
        outcome: &'a Outcome,
    },
    /// A docket was fetched or verified that may be the create's.
    Observe {
        /// The docket.
        docket: &'a ObservedDocket,
        /// The digest of its phone number, as an argument of the entry's function.
        to_phone_number: &'a str,
        /// Whether the docket is the answer of another key.
        is_of_another_key: bool,
    },
    /// A person has found out what the create has created.
    Resolve {
        /// The id of the docket, task or agent.
        created_id: &'a str,
        /// The person.
        by: &'a str,
    },
    /// A person has made sure that the create has created nothing.
    Release {
        /// The person.
        by: &'a str,
    },
}

/// What a ledger answers to an [`Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The claim was taken. The create may be sent once the entry is stored.
    Taken,
    /// The key has an entry that is not free.
    Found(Found),
    /// The entry has changed, and is to be stored.
    Recorded,
    /// Nothing has changed: the event is not about this entry.
    Ignored,
    /// Nothing has changed: the event is not allowed.
    Refused(Problem),
}

impl Reply {
    /// Returns `true` if the entry has changed, and is to be stored.
    pub fn is_change(&self) -> bool {
        matches!(self, Reply::Taken | Reply::Recorded)
    }
}

impl Entry {
    /// Returns the state at this time. A create whose claim has ended without an outcome has an
    /// unknown one. Neither of the two states is sent, so that a wrong clock calls no one twice.
    pub fn state_at(&self, now_ms: u64) -> State {
        match self.state {
            State::Begun if now_ms >= self.claim_ends_ms => State::Unknown,
            state => state,
        }
    }

    /// Returns the id of what was created, if it is known.
    pub fn created_id(&self) -> Option<String> {
        created_id(&self.function, self.answer.as_deref()?)
    }

    fn found(self, digests: &Digests, now_ms: u64) -> Found {
        let mut names = digests.keys().chain(self.digests.keys());
        let differs_in = names.find(|name| digests.get(*name) != self.digests.get(*name));
        Found {
            differs_in: differs_in.cloned(),
            state: self.state_at(now_ms),
            function: self.function,
            begun_ms: self.begun_ms,
            answer: self.answer,
        }
    }

    fn settled(self, answer: Option<String>, by: &str, now_ms: u64) -> Self {
        Self {
            state: match answer {
                Some(_) => State::Done,
                None => State::Free,
            },
            ended_ms: Some(now_ms),
            answer,
            resolved_by: Some(by.to_owned()),
            ..self
        }
    }
}

/// Returns the entry of a key after an event, and the answer to it.
pub fn transition(entry: Option<Entry>, event: Event<'_>, now_ms: u64) -> (Option<Entry>, Reply) {
    let state = entry.as_ref().map(|entry| entry.state_at(now_ms));
    match (event, entry) {
        (
            Event::Claim {
                function,
                digests,
                claim,
                lasts_ms,
            },
            entry,
        ) => match entry {
            Some(entry) if state != Some(State::Free) => {
                let found = entry.clone().found(digests, now_ms);
                (Some(entry), Reply::Found(found))
            }
            _ => {
                let begun = Entry {
                    function: function.to_owned(),
                    digests: digests.clone(),
                    state: State::Begun,
                    claim: claim.to_owned(),
                    begun_ms: now_ms,
                    claim_ends_ms: now_ms.saturating_add(lasts_ms),
                    ended_ms: None,
                    answer: None,
                    message: None,
                    resolved_by: None,
                };
                (Some(begun), Reply::Taken)
            }
        },
        (Event::Record { claim, outcome }, Some(entry)) if counts(&entry, claim, outcome) => {
            let ended = Entry {
                state: outcome.state,
                ended_ms: Some(now_ms),
                answer: outcome.answer.clone(),
                message: outcome.message.clone(),
                resolved_by: None,
                ..entry
            };
            (Some(ended), Reply::Recorded)
        }
        (
            Event::Observe {
                docket,
                to_phone_number,
                is_of_another_key,
            },
            Some(entry),
        ) if state == Some(State::Unknown)
            && !is_of_another_key
            && docket.may_be_of(&entry, to_phone_number) =>
        {
            let answer = recorded_id(&entry.function, &docket.docket_id).ok();
            (
                Some(entry.settled(answer, "docket", now_ms)),
                Reply::Recorded,
            )
        }
        (Event::Resolve { by: "", .. } | Event::Release { by: "" }, entry) => {
            let problem = problem("by", "an empty text", "who made sure of it");
            (entry, Reply::Refused(problem))
        }
        (Event::Resolve { created_id, by }, Some(entry)) if state == Some(State::Unknown) => {
            match recorded_id(&entry.function, created_id) {
                Ok(answer) => (
                    Some(entry.settled(Some(answer), by, now_ms)),
                    Reply::Recorded,
                ),
                Err(problem) => (Some(entry), Reply::Refused(problem)),
            }
        }
        (Event::Release { by }, Some(entry)) if state == Some(State::Unknown) => {
            (Some(entry.settled(None, by, now_ms)), Reply::Recorded)
        }
        (Event::Resolve { .. } | Event::Release { .. }, entry) => {
            let found = state.map_or("no entry".to_owned(), |state| {
                format!("an entry that is {}", state.name())
            });
            let problem = problem("key", found, "the key of an entry that is unknown");
            (entry, Reply::Refused(problem))
        }
        (Event::Record { .. } | Event::Observe { .. }, entry) => (entry, Reply::Ignored),
    }
}

/// Returns `true` if an outcome changes an entry. One that counts as unknown, since its caller was
/// gone, may still arrive; the answer of the service takes precedence over a docket that was seen,
/// and what is known is never replaced by what is not.
fn counts(entry: &Entry, claim: &str, outcome: &Outcome) -> bool {
    entry.claim == claim
        && match entry.state {
            State::Begun | State::Unknown => true,
            State::Free => outcome.state == State::Done,
            State::Done => {
                outcome.state == State::Done && entry.resolved_by.as_deref() == Some("docket")
            }
        }
}

#[cfg(test)]
mod tests;
