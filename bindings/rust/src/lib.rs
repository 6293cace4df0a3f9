#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod batch;
mod builder;
mod client;
mod error;
mod operation;
mod transport;
mod wait;
pub mod webhooks;

pub use batch::Batch;
pub use builder::{Builder, CreateRetry};
pub use client::Client;
pub use error::Error;
pub use voice_calling_core::types::{
    AgentConfig, AgentList, AgentSummary, AgentText, Attempt, CallDetails, CallDetailsList,
    CallDetailsOutcome, CallDetailsWait, CallInsights, CallRequest, CallStatus, CreatedAgent,
    CreatedDocket, CreatedDocketV2, Docket, DocketCompleted, DocketInsights, DocketOutcome,
    DocketRequest, DocketRequestV2, DocketStatus, DocketWait, Failure, HttpResponse, NextAction,
    Problem, RequestError, StartedCall, UserInterest, Verification, VerifiedCompletion,
};
pub use wait::{Progress, Wait};
