//! The options of a mock: what it serves, and how time passes.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::agent::Agent;
use super::call::Scripts;
use super::creation::RepeatedExternalId;
use super::fault::FaultOrder;
use super::rate::RateLimit;

/// The options of a mock service. The default is a service on a random port whose calls are placed
/// by hand.
#[derive(Clone)]
pub struct Options {
    /// The address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// The API tokens that are accepted, at least one. Each belongs to an organization of its own,
    /// `org-1`, `org-2` and so on, which all have the same agents.
    pub tokens: Vec<String>,
    /// The agents that exist from the beginning.
    pub agents: Vec<Agent>,
    /// How time passes.
    pub pace: Pace,
    /// The results of calls.
    pub scripts: Scripts,
    /// The receiver of completions, if any: an `http` URL on this machine or in a private network.
    pub webhook: Option<String>,
    /// How often a notification that the receiver does not accept with a 2xx is sent again: after
    /// 1 s, 2 s, 4 s and so on, at most a minute apart.
    pub webhook_retries: u32,
    /// Faults that are ordered from the beginning.
    pub faults: Vec<FaultOrder>,
    /// The time between each request and its answer.
    pub answer_delay: Duration,
    /// The requests that each token may make, if there is a limit. Others are answered with 429.
    pub rate_limit: Option<RateLimit>,
    /// The answer to a version 2 creation whose external id was seen before.
    pub repeated_external_id: RepeatedExternalId,
}

/// Shows neither the tokens nor the webhook, whose URL may contain a secret.
impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("address", &self.address)
            .field("agents", &self.agents)
            .field("pace", &self.pace)
            .field("scripts", &self.scripts)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            tokens: vec!["mock-token-0001".to_owned()],
            agents: vec![
                Agent::new(7, "renewals", "+911140000007"),
                Agent::new(8, "collections", "+911140000008"),
            ],
            pace: Pace::Manual,
            scripts: Scripts::default(),
            webhook: None,
            webhook_retries: 0,
            faults: Vec::new(),
            answer_delay: Duration::ZERO,
            rate_limit: None,
            repeated_external_id: RepeatedExternalId::default(),
        }
    }
}

/// When calls end. The next attempt of a docket then rings at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Only on `MockService::place_next_call`, or on the page and by its API.
    Manual,
    /// Automatically, each after this long.
    Every(Duration),
}
