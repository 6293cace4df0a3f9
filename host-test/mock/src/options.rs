//! The options of a mock: what it serves, and how time passes.

use std::time::Duration;

use super::agent::Agent;
use super::call::Scripts;
use super::creation::RepeatedExternalId;
use super::fault::FaultOrder;

/// The options of a mock service. The default is a service on a random port whose calls are placed
/// by hand.
#[derive(Clone)]
pub struct Options {
    /// The port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    /// The only API token that is accepted.
    pub token: String,
    /// The agents that exist from the beginning.
    pub agents: Vec<Agent>,
    /// How time passes.
    pub pace: Pace,
    /// The results of calls.
    pub scripts: Scripts,
    /// The receiver of completions, if any: an `http` URL on a loopback host.
    pub webhook: Option<String>,
    /// Faults that are ordered from the beginning.
    pub faults: Vec<FaultOrder>,
    /// The time between each request and its answer.
    pub answer_delay: Duration,
    /// The answer to a version 2 creation whose external id was seen before.
    pub repeated_external_id: RepeatedExternalId,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            token: "mock-token-0001".to_owned(),
            agents: vec![
                Agent::new(7, "renewals", "+911140000007"),
                Agent::new(8, "collections", "+911140000008"),
            ],
            pace: Pace::Manual,
            scripts: Scripts::default(),
            webhook: None,
            faults: Vec::new(),
            answer_delay: Duration::ZERO,
            repeated_external_id: RepeatedExternalId::default(),
        }
    }
}

/// When calls end. The next attempt of a docket then rings at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Only on `MockService::place_next_call` or `MockService::end_call`.
    Manual,
    /// Automatically, each after this long.
    Every(Duration),
}
