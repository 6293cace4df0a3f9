//! Conventions between a campaign's workflows and its endpoint: the names of join sets, from which
//! the ids of its executions follow, the form of an order, and the summary.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The maximum number of contacts on a page of a source, and of a campaign without a source.
pub const MOST_CONTACTS: usize = 500;

/// The join set of a campaign with the stubs of its orders and of its segments' handovers.
pub const CAMPAIGN: &str = "campaign";

/// The join set of a campaign with the stub that receives the number of its contacts.
pub const TOTAL: &str = "total";

/// The join set of a campaign with its segments.
pub const SEGMENTS: &str = "segment";

/// The join set of a segment: the stub of its order, then the stubs of the slots that its
/// predecessors hold, then its contacts.
pub const OPEN: &str = "open";

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
    pub fn sum(mut self) -> u32 {
        self.counts().into_iter().map(|count| *count).sum()
    }

    fn counts(&mut self) -> [&mut u32; 10] {
        [
            &mut self.completed,
            &mut self.timed_out,
            &mut self.not_created,
            &mut self.spared,
            &mut self.unknown,
            &mut self.failed,
            &mut self.not_begun,
            &mut self.duplicate,
            &mut self.invalid,
            &mut self.callable,
        ]
    }
}

impl AddAssign for CampaignSummary {
    fn add_assign(&mut self, mut other: Self) {
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count += *more;
        }
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
