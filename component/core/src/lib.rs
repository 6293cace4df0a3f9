//! The meaning of the voice-calling service's API: which request an operation sends, when it is
//! retried, and what a response says.
//!
//! Nothing here depends on WASI. A guest supplies a [`Transport`] and forwards its exports to a
//! [`Client`]; the same code runs natively in the tests.
//!
//! Every operation takes the same path: WIT record → validate → encode a request (`agents`,
//! `calls`, `dockets`, `bulk`, `webhooks`) → admit, attempt, decide (`operation`, with `gate`,
//! `permits`, `attempt` and `retry`) → decode the response → WIT record.

#![warn(missing_docs)]

mod agents;
mod attempt;
pub mod base_url;
mod breaker;
mod bulk;
mod calls;
mod client;
mod create;
mod departure;
pub mod dockets;
mod error_code;
mod exact;
mod failure;
mod gate;
mod json;
mod key;
pub mod ledger;
mod next_step;
mod operation;
mod permits;
mod problem;
mod record;
mod request;
mod retry;
mod retry_after;
pub mod settings;
mod time_frame;
pub mod token;
mod tokens;
mod transport;
pub mod types;
mod variables;
mod wait;
pub mod webhooks;

pub use breaker::{Breaker, Decision};
pub use bulk::{Batch, DocketResult, Item, ResultSink, Source};
pub use client::Client;
pub use departure::{Departure, Ticket};
pub use error_code::ErrorCode;
pub use key::check_key;
pub use problem::{configuration_failure, problem};
pub use settings::Settings;
pub use transport::{
    CANCELLED, Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

#[cfg(test)]
mod pages;
#[cfg(test)]
mod simulation;
