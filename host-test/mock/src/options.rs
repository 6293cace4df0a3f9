//! The options of a mock: what it serves, how time passes, and how much it keeps.

use std::time::Duration;

use super::agent::Agent;
use super::call::Scripts;
use super::fault::FaultOrder;
use super::meanings::Meanings;

/// The options of a mock service. The default is a service on a random port whose calls are placed
/// by hand.
#[derive(Clone)]
pub struct Options {
    /// The port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The only API token that is accepted.
    pub token: String,
    /// The only organization that exists.
    pub organization_id: String,
    /// The agents that exist from the beginning.
    pub agents: Vec<Agent>,
    /// How time passes.
    pub pace: Pace,
    /// Whether each attempt rings until `MockService::end_call` ends it, or
    /// `MockService::leave_call` leaves it to the script. The pace is then the time between
    /// attempts.
    pub manual: bool,
    /// The results of calls.
    pub scripts: Scripts,
    /// The receiver of completions, if any.
    pub webhook: Option<WebhookOptions>,
    /// Faults that are ordered from the beginning.
    pub faults: Vec<FaultOrder>,
    /// The time between each request and its answer.
    pub answer_delay: Duration,
    /// The interpretations of what the specification leaves open.
    pub meanings: Meanings,
    /// How many requests, deliveries, started numbers, created agents, and ended dockets and direct
    /// calls are kept: the newest of each, and at most 32 MiB of each. `None` keeps all, so that
    /// the mock grows with every request. What is dropped becomes unknown, and a docket's external
    /// id is free again. Open dockets and calls are never dropped: if there are twenty times as
    /// many, creations are answered with 503.
    pub kept: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            token: "mock-token-0001".to_owned(),
            organization_id: "org-1".to_owned(),
            agents: vec![
                Agent::new(7, "renewals", "+911140000007"),
                Agent::new(8, "collections", "+911140000008"),
            ],
            pace: Pace::Manual,
            manual: false,
            scripts: Scripts::default(),
            webhook: None,
            faults: Vec::new(),
            answer_delay: Duration::ZERO,
            meanings: Meanings::default(),
            kept: None,
        }
    }
}

/// When calls are placed and completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Only on `MockService::place_next_call`.
    Manual,
    /// Automatically: a docket's next attempt is made this long after its creation or its previous
    /// attempt, and a direct call ends this long after its start.
    Every(Duration),
}

/// The delivery of completions (specification, "Events").
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// An `http` URL on a loopback host.
    pub url: String,
    /// The number of times that each notification is sent: 1, or more for receivers that must
    /// tolerate duplicates.
    pub copies: u32,
    /// The time between the last call and the notification, for late webhooks.
    pub delay: Duration,
    /// Whether each call is reported too, in an invented shape: the specification only mentions
    /// that call-level webhooks exist.
    pub call_events: bool,
}

impl WebhookOptions {
    /// Returns options for one notification per docket, without delay, to `url`.
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            copies: 1,
            delay: Duration::ZERO,
            call_events: false,
        }
    }
}
