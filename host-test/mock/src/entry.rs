//! Dockets and direct calls as a page shows them.

use serde::Serialize;

use super::call::CallStatus;
use super::timeline::{Log, Moment, milliseconds};

/// How much of a context an [`Entry`] has in a list. Unit: characters.
const LISTED_CONTEXT: usize = 300;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A docket.
    Docket,
    /// A call that was started directly.
    Call,
}

/// A docket or a direct call.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The docket's or the task's id.
    pub id: String,
    /// Which of the two.
    pub kind: EntryKind,
    /// The number that is called.
    pub number: String,
    /// The agent's name.
    pub agent: String,
    /// The text of the context; in lists its first 300 characters.
    pub context: String,
    /// The caller's own identifier.
    pub external_id: Option<String>,
    /// `OPEN`, `IN_PROGRESS` or `COMPLETED`.
    pub status: &'static str,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// How many attempts are over.
    pub attempts: usize,
    /// How the last one ended, in the service's word.
    pub last: Option<&'static str>,
    /// The attempt that rings.
    pub ringing: Option<RingingAttempt>,
    /// The entry that was started for the same number and context within a minute before.
    pub repeats: Option<String>,
}

/// An attempt that rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RingingAttempt {
    /// Its number in the docket, from 1.
    pub attempt: usize,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

/// An entry with its whole context and what happened to it.
#[derive(Clone, Debug, Serialize)]
pub struct EntryDetails {
    /// The entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// The newest 100 moments, in order.
    pub timeline: Vec<Moment>,
}

/// What only dockets, or only direct calls, know.
pub(super) struct Facts<'a> {
    pub(super) id: String,
    pub(super) kind: EntryKind,
    pub(super) number: &'a str,
    pub(super) agent: &'a str,
    pub(super) context: &'a str,
    pub(super) external_id: Option<&'a str>,
    pub(super) status: &'static str,
    pub(super) attempts: usize,
    pub(super) last: Option<CallStatus>,
    pub(super) log: &'a Log,
}

impl Facts<'_> {
    pub(super) fn listed(&self) -> Entry {
        let cut = self.context.char_indices().nth(LISTED_CONTEXT);
        self.entry(&self.context[..cut.map_or(self.context.len(), |(index, _)| index)])
    }

    pub(super) fn details(&self) -> EntryDetails {
        EntryDetails {
            entry: self.entry(self.context),
            timeline: self.log.timeline.to_vec(),
        }
    }

    fn entry(&self, context: &str) -> Entry {
        Entry {
            id: self.id.clone(),
            kind: self.kind,
            number: self.number.to_owned(),
            agent: self.agent.to_owned(),
            context: context.to_owned(),
            external_id: self.external_id.map(str::to_owned),
            status: self.status,
            created_ms: milliseconds(self.log.created_at),
            attempts: self.attempts,
            last: self.last.map(CallStatus::as_str),
            ringing: self.log.ringing.map(|ringing| RingingAttempt {
                attempt: self.attempts + 1,
                since_ms: milliseconds(ringing.since),
            }),
            repeats: self.log.repeats.clone(),
        }
    }
}
