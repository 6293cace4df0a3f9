//! What the parts of a campaign and its endpoint write for each other: the names of join sets, from
//! which the ids of executions follow, orders, and the texts in stubs.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use voice_calling_core::Breaker;
use voice_calling_core::types::{DocketInsights, DocketRequestV2, Failure, NextStep};

/// The maximum number of contacts on a page of a source, and of a campaign without a source.
pub const MOST_CONTACTS: usize = 500;

/// The join set of a campaign: the stubs of its orders, and of its segments' [`Handover`]s.
pub const CAMPAIGN: &str = "campaign";

/// The join set of a campaign with its segments.
pub const SEGMENTS: &str = "segment";

/// The join set of a segment: the stub of its order, that of its excluded contacts, those of the
/// [`News`] that its predecessor passes on, then for each contact a stub of its news and its run.
pub const OPEN: &str = "open";

/// The index in [`OPEN`] of the stub of a segment's order, of that of its excluded contacts, and of
/// the first one of news.
pub const ORDER: u32 = 1;
pub const EXCLUDED: u32 = 2;
pub const FIRST_NEWS: u32 = 3;

/// The join set of a segment that has read a page: the stub of the campaign's answer.
pub const NUMBERS: &str = "numbers";

/// The join set of a run with the claims of its creations.
pub const CLAIMS: &str = "claim";

/// Returns the id of a child. In a join set, the engine numbers stubs and workflows from 1 in the
/// order in which they were submitted; delays are numbered separately.
pub fn child(parent: &str, join_set: &str, index: u32) -> String {
    format!("{parent}.n:{join_set}_{index}")
}

/// Begins the origin of an operator's order.
pub const OPERATOR: &str = "operator ";

/// An order to a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Pause,
    Resume,
    Stop,
}

impl Order {
    const ALL: [Self; 3] = [Self::Pause, Self::Resume, Self::Stop];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// Returns the text for the campaign's stub. `by` is the campaign's own reason, or [`OPERATOR`]
    /// with digits that are unique, since the engine accepts the same text twice.
    pub fn to_text(self, by: &str) -> String {
        format!("{} {by}", self.name())
    }

    /// Returns the text of a pause that ends by itself after `ms` milliseconds.
    pub fn pause_for(ms: u64, reason: &str) -> String {
        Self::Pause.to_text(&format!("for {ms} ms: {reason}"))
    }

    /// Returns the length of a pause, if it is limited. `by` is what [`read`](Self::read) returned.
    pub fn pause_ms(by: &str) -> Option<u64> {
        by.strip_prefix("for ")?.split_once(" ms: ")?.0.parse().ok()
    }

    /// Returns the reason of an order that the campaign gave itself. `by` is as above.
    pub fn reason(by: &str) -> Option<&str> {
        (!by.starts_with(OPERATOR)).then_some(by)
    }

    /// Parses the text of a stub into the order and its origin or reason.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let (name, by) = text.split_once(' ')?;
        Some((Self::named(name)?, by))
    }
}

/// The state of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// Nothing is dispatched yet. Indistinguishable from any other running workflow.
    Beginning,
    Running,
    Paused,
    /// The campaign was stopped, and dockets are still open.
    Stopping,
    Stopped,
    Ended,
    Failed,
}

/// A contact, and what was tried so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    /// The contact's index in the campaign, from 0.
    pub index: u32,
    /// The request, with the number in the service's form unless the contact is excluded.
    pub request: DocketRequestV2,
    pub time_zone: Option<String>,
    /// Why the contact is never called.
    pub excluded: Option<Exclusion>,
    /// The moment before which the contact is not to be called; 0: none.
    pub not_before_ms: u64,
    /// The sum of the pauses between its tries.
    pub waited_ms: u64,
    pub tries: u32,
}

/// Why a contact is never called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exclusion {
    /// The contact of this index has the same number.
    Duplicate(u32),
    Invalid(String),
    Spared(String),
}

/// How a contact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Completed,
    TimedOut,
    NotCreated,
    Spared,
    Unknown,
    /// A person answered that no docket was created.
    GivenUp,
    Duplicate,
    Invalid,
    /// The engine could not run it.
    Failed,
}

impl State {
    /// Returns `true` if a docket existed, or may have.
    fn was_open(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::TimedOut | Self::Unknown | Self::GivenUp
        )
    }

    /// Returns `true` if it is certain that no docket exists, and the contact may be called again.
    pub fn may_be_retried(self) -> bool {
        matches!(self, Self::NotCreated | Self::GivenUp)
    }
}

/// The result of a contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The contact's index in the campaign, from 0; `None` if the engine could not run it.
    pub index: Option<u32>,
    pub to_phone_number: Option<String>,
    pub external_id: Option<String>,
    /// The run's execution id; `None` if there was none.
    pub run: Option<String>,
    pub state: State,
    pub docket_id: Option<String>,
    /// `webhook` or `poll`.
    pub known_by: Option<String>,
    /// UNVERIFIED, as delivered by the webhook.
    pub insights: Option<DocketInsights>,
    /// Why no docket exists or why that is unknown, for people to read.
    pub error: Option<String>,
}

impl Row {
    /// Returns the result of a contact of which nothing but its end is known.
    pub fn of(contact: &Contact, state: State) -> Self {
        Self {
            index: Some(contact.index),
            to_phone_number: Some(contact.request.to_phone_number.clone()),
            external_id: contact.request.external_id.clone(),
            ..Self::failed(None, state)
        }
    }

    /// Returns the result of a run without one.
    pub fn failed(run: Option<String>, state: State) -> Self {
        Self {
            index: None,
            to_phone_number: None,
            external_id: None,
            run,
            state,
            docket_id: None,
            known_by: None,
            insights: None,
            error: None,
        }
    }
}

/// The parameter of a question to a person: whether a docket was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub agent_id: i64,
    pub to_phone_number: String,
    pub external_id: Option<String>,
}

/// A report of one contact to its segment. Each try has two: what became of its creation, and how
/// it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// The docket was created.
    Created,
    /// The docket was not created, or that is unknown.
    Setback(Box<Setback>),
    /// Nothing was sent: it was not time, an order came, or the number is spared.
    NotSent,
    /// The contact has ended for good.
    Ended(Box<Row>),
    /// The same, passed on by an earlier segment, which has the row.
    EndedBefore(State),
    /// Certainly nothing was created, and the contact is dispatched again.
    Again(Box<Contact>),
}

/// Why a docket was not created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setback {
    pub failure: Failure,
    /// The order that follows, if the next contact would meet the same.
    pub order: Option<String>,
    /// The stub of the campaign's next order when the creation was granted.
    pub gate: String,
}

/// The counts of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub ended: CampaignSummary,
    /// The dockets that exist, or may, and have not ended.
    pub open: u32,
    /// The creations whose outcome was unknown, answered or not.
    pub doubts: u32,
}

impl Tally {
    pub fn apply(&mut self, news: &News) {
        match news {
            News::Created => self.open += 1,
            News::Setback(it) if it.failure.next_step == NextStep::Unknown => {
                self.open += 1;
                self.doubts += 1;
            }
            News::Setback(_) | News::NotSent | News::Again(_) => {}
            News::Ended(row) => self.count(row.state),
            News::EndedBefore(state) => self.count(*state),
        }
    }

    /// Counts a contact that has ended.
    pub fn count(&mut self, state: State) {
        let ended = &mut self.ended;
        *match state {
            State::Completed => &mut ended.completed,
            State::TimedOut => &mut ended.timed_out,
            State::NotCreated | State::GivenUp => &mut ended.not_created,
            State::Spared => &mut ended.spared,
            State::Unknown => &mut ended.unknown,
            State::Failed => &mut ended.failed,
            State::Duplicate => &mut ended.duplicate,
            State::Invalid => &mut ended.invalid,
        } += 1;
        if state.was_open() {
            self.open = self.open.saturating_sub(1);
        }
    }
}

/// The grants that were given under the hours and the pace of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The minute of the last grant, in minutes since 1970-01-01T00:00:00Z.
    pub minute: u64,
    /// The number of its turns that were given, or are over.
    pub count: u32,
}

/// The state of a campaign, which one segment leaves to the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// The contacts to dispatch. If there are none, the source is read.
    pub queue: VecDeque<Contact>,
    /// Where the source continues; `None` if it was read to its end, or there is none.
    pub position: Option<u64>,
    /// The index of the next contact that is read.
    pub index: u32,
    /// The number of slots held by the segment and its predecessors.
    pub held: u32,
    /// The number of news that these have not reported yet.
    pub due: u32,
    pub given: Given,
    pub breaker: Breaker,
    /// The creations since the campaign began or was resumed.
    pub creations: u32,
    pub tally: Tally,
}

/// The text that a segment writes into its stub of the campaign.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Handover {
    /// All contacts have ended.
    Done(Tally),
    /// The next segment, of this index, continues with the rest.
    Rest(u32, Box<Rest>),
    /// The segment has read a page, and waits for the campaign's answer.
    Page {
        /// The index of the first contact on it.
        first: u32,
        /// The number of each contact that may be called.
        numbers: Vec<Option<u64>>,
        is_last: bool,
    },
}

/// Returns the text for a stub.
pub fn to_text(value: &impl Serialize) -> String {
    // Numbers and strings always serialize.
    serde_json::to_string(value).unwrap_or_default()
}

/// The contacts of a campaign, counted by how they ended: `campaign-types.campaign-summary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CampaignSummary {
    pub completed: u32,
    pub timed_out: u32,
    pub not_created: u32,
    pub spared: u32,
    pub unknown: u32,
    pub failed: u32,
    pub not_begun: u32,
    pub duplicate: u32,
    pub invalid: u32,
    pub callable: u32,
}

impl CampaignSummary {
    /// Returns the number of contacts.
    #[must_use]
    pub fn sum(self) -> u32 {
        let called = self.completed + self.timed_out + self.unknown + self.failed;
        let certainly_not = self.not_created + self.spared + self.duplicate + self.invalid;
        called + certainly_not + self.not_begun + self.callable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for order in Order::ALL {
            let text = order.to_text("operator 1");
            assert_eq!(Order::read(&text), Some((order, "operator 1")));
        }
        assert_eq!(Order::reason("operator 1"), None);
        assert_eq!(
            Order::reason("the answer is 404"),
            Some("the answer is 404")
        );
        let text = Order::pause_for(3_600_000, "429");
        let (order, by) = Order::read(&text).unwrap();
        assert_eq!(
            (order, Order::pause_ms(by)),
            (Order::Pause, Some(3_600_000))
        );
        assert_eq!(Order::pause_ms("the answer is 404"), None);
        for text in ["", "stop", "Stop E_1", "halt E_1"] {
            assert_eq!(Order::read(text), None, "{text:?}");
        }
    }
}
