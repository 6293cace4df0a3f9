#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod batch;
mod builder;
mod client;
mod error;
#[cfg(feature = "ledger")]
pub mod ledger;
#[cfg(feature = "ledger")]
mod once;
mod operation;
mod transport;
mod wait;
pub mod webhooks;

pub use batch::Batch;
pub use builder::{Builder, CreateRetry};
pub use client::Client;
pub use error::Error;
#[cfg(feature = "ledger")]
pub use ledger::Ledger;
#[cfg(feature = "ledger")]
pub use once::Once;
#[cfg(feature = "ledger")]
pub use voice_calling_core::ledger::Recorded;
pub use voice_calling_core::types::{
    AgentConfig, AgentList, AgentSummary, AgentText, Attempt, CallDetails, CallDetailsList,
    CallDetailsOutcome, CallDetailsWait, CallInsights, CallRequest, CallStatus, CreatedAgent,
    CreatedDocket, CreatedDocketV2, Docket, DocketCompleted, DocketInsights, DocketOutcome,
    DocketRequest, DocketRequestV2, DocketStatus, DocketWait, Failure, HttpResponse, NextAction,
    Problem, RequestError, StartedCall, UserInterest, Verification, VerifiedCompletion,
};
pub use wait::Wait;
