//! How the mock is set up: what it serves, how time passes, and how much it keeps.

use std::time::Duration;

use super::agent::Agent;
use super::call::Scripts;
use super::fault::FaultOrder;
use super::meanings::Meanings;

/// Everything about a mock service; the default is a service on a random port whose
/// calls are placed by hand.
#[derive(Clone)]
pub struct Options {
    /// Port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The only API token that is accepted.
    pub token: String,
    /// The only organization there is.
    pub organization_id: String,
    /// The agents there are from the beginning.
    pub agents: Vec<Agent>,
    /// How time passes.
    pub pace: Pace,
    /// Whether each attempt rings until `MockService::end_call` ends it, or
    /// `MockService::leave_call` leaves it to the script. The pace is the time between attempts.
    pub manual: bool,
    /// How calls end.
    pub scripts: Scripts,
    /// Where completions are sent to; none: nowhere.
    pub webhook: Option<WebhookOptions>,
    /// Faults ordered from the beginning.
    pub faults: Vec<FaultOrder>,
    /// Time between request and answer, everywhere.
    pub answer_delay: Duration,
    /// What the mock makes of what is not specified.
    pub meanings: Meanings,
    /// How many requests, deliveries, started numbers, created agents, and dockets and direct calls
    /// that are over are kept, the newest of each, and at most 32 MiB of each; none: all, so that
    /// the mock grows with every request. What is forgotten is unknown from then on, and a docket's
    /// external id is free again. What goes on is never forgotten: where twenty times as much does,
    /// creations are answered with 503.
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
    /// Only when `MockService::place_next_call` or `MockService::complete_task` says so.
    Manual,
    /// By themselves: this long after its creation or its previous attempt a docket's
    /// next attempt is made, and a direct call is over this long after its start.
    Every(Duration),
}

/// Where and how completions are delivered (specification, "Events").
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// An `http` URL on a loopback host.
    pub url: String,
    /// How often each notification is sent, one after the other: 1, or more for
    /// receivers that must bear duplicates.
    pub copies: u32,
    /// Time between the last call and the notification: a late webhook.
    pub delay: Duration,
    /// Whether the docket is seen completed before or after its notification.
    pub order: NotificationOrder,
    /// Whether each call is notified too, in an invented shape: the specification only
    /// mentions that call-level webhooks exist.
    pub call_events: bool,
}

impl WebhookOptions {
    /// One notification per docket, at once, to `url`.
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            copies: 1,
            delay: Duration::ZERO,
            order: NotificationOrder::default(),
            call_events: false,
        }
    }
}

/// Which comes first: the notification or the COMPLETED in a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationOrder {
    /// A receiver that fetches the docket finds it completed.
    #[default]
    AfterCompletion,
    /// The docket is seen completed only once the receiver has answered.
    BeforeCompletion,
}
