//! What the workflows of a campaign and its endpoint have in common: the join sets, from which the
//! ids of its executions follow, and what an order looks like.

/// The join set of a campaign with the stubs of its orders, and of what its segments leave.
pub const CAMPAIGN: &str = "campaign";

/// The join set of a campaign with its segments.
pub const SEGMENTS: &str = "segment";

/// The join set of a segment: the stub of its order, then stubs for the slots that earlier segments
/// hold, then its contacts.
pub const OPEN: &str = "open";

/// The join set of a run with the claims of its creations.
pub const CLAIMS: &str = "claim";

/// The id of a child. In a join set, the engine numbers stubs and workflows from 1 in the order in
/// which they were submitted; delays are numbered apart.
pub fn child(parent: &str, join_set: &str, index: u32) -> String {
    format!("{parent}.n:{join_set}_{index}")
}

/// What a campaign is ordered.
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

    /// What is written into the campaign's stub. `by`: the execution that orders, since the engine
    /// takes the same text twice; or the campaign's own reason.
    pub fn to_text(self, by: &str) -> String {
        format!("{} {by}", self.name())
    }

    /// The text of a pause for a time, after which the campaign resumes by itself.
    pub fn pause_for(ms: u64, reason: &str) -> String {
        Self::Pause.to_text(&format!("for {ms} ms: {reason}"))
    }

    /// The time of a pause, if it has one. `by`: as [`read`](Self::read) returns it.
    pub fn pause_ms(by: &str) -> Option<u64> {
        by.strip_prefix("for ")?.split_once(" ms: ")?.0.parse().ok()
    }

    /// The order in a stub, and who gave it or why.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let (name, by) = text.split_once(' ')?;
        Some((Self::named(name)?, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for order in Order::ALL {
            let text = order.to_text("E_1");
            assert_eq!(Order::read(&text), Some((order, "E_1")));
        }
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
