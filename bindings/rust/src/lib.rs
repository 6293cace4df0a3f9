#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod batch;
mod builder;
mod cancellation;
mod client;
mod clock;
mod error;
mod gzip;
mod hook;
#[cfg(feature = "ledger")]
pub mod ledger;
mod network;
mod operation;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;
mod wait;
pub mod webhooks;
mod wire;

pub use batch::{Batch, BatchRequest};
pub use builder::{Builder, CreateRetry};
pub use cancellation::Cancellation;
pub use client::Client;
pub use error::Error;
pub use hook::{Ended, Outgoing};
#[cfg(feature = "ledger")]
pub use ledger::Ledger;
pub use voice_calling_core::ledger::Recorded;
pub use voice_calling_core::types::{
    AgentConfig, AgentList, AgentSummary, AgentText, Attempt, CallDetails, CallDetailsList,
    CallDetailsOutcome, CallDetailsWait, CallInsights, CallRequest, CallStatus, CreatedAgent,
    CreatedDocket, CreatedDocketV2, Docket, DocketCompleted, DocketInsights, DocketOutcome,
    DocketRequest, DocketRequestV2, DocketStatus, DocketWait, Failure, FailureKind, HttpResponse,
    NextAction, NextStep, Problem, StartedCall, UserInterest, Verification, VerifiedCompletion,
};
pub use voice_calling_core::{Breaker, Decision};
pub use wait::Wait;

#[cfg(feature = "ledger")]
use ledger::Keys;
#[cfg(not(feature = "ledger"))]
use voice_calling_core::ledger::NoLedger as Keys;
