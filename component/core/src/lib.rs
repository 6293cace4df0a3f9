//! The meaning of the voice-calling service's API: which request an operation sends, when it is
//! retried, and what a response says.
//!
//! Nothing here depends on WASI. A guest supplies a [`Transport`] and forwards its exports to a
//! [`Client`]; the same code runs natively in the tests.
//!
//! Every operation takes the same path: WIT record → validate → encode a request (`agents`,
//! `calls`, `dockets`, `bulk`, `webhooks`) → admit, attempt, decide (`operation`, with `gate`,
//! `permits`, `attempt` and `retry`) → decode the response → WIT record.

#![deny(unsafe_code)]

mod agents;
mod attempt;
pub mod base_url;
mod bulk;
mod calls;
mod client;
mod decimal;
pub mod dockets;
mod error_code;
mod exact;
mod failure;
mod gate;
mod json;
pub mod ledger;
mod names;
mod operation;
mod permits;
mod problem;
mod reader;
mod record;
mod request;
mod retry;
mod retry_after;
pub mod settings;
mod time_frame;
pub mod token;
mod transport;
#[allow(unsafe_code, missing_docs)]
pub mod types;
mod wait;
pub mod webhooks;

pub use bulk::{Batch, DocketResult, Item, ResultSink, Source};
pub use client::Client;
pub use error_code::ErrorCode;
pub use problem::{configuration_error, problem};
pub use settings::Settings;
pub use transport::{
    CANCELLED, Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

#[cfg(test)]
mod simulation;
