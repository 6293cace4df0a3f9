//! The records of the WIT package `voice-calling:types`, in the shape that the WIT demands. Guests
//! use them in place of generated ones, so that the compiler compares the two.
//!
//! A field of an answer is an `Option` if the service does not promise it. It is also `None` if it
//! came in a form other than the promised one; the whole answer is always in `raw_json`. Free-form
//! JSON is text that contains one JSON value, and is passed on unchanged. Times are the service's
//! own text; durations are milliseconds, and have `_ms` in their names.

mod agents;
mod calls;
mod dockets;
mod failure;
mod options;
mod waits;
mod webhooks;

pub use agents::{AgentConfig, AgentList, AgentSummary, AgentText, CreatedAgent};
pub use calls::{
    CallDetails, CallDetailsList, CallInsights, CallRequest, CallStatus, NextAction, StartedCall,
    UserInterest,
};
pub use dockets::{
    CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2, DocketStatus,
};
pub use failure::{Attempt, Failure, FailureKind, HttpResponse, NextStep, Problem, RequestError};
pub use options::CallOptions;
pub use waits::{CallDetailsOutcome, CallDetailsWait, DocketOutcome, DocketWait, WaitOptions};
pub use webhooks::{DocketCompleted, DocketInsights, Verification, VerifiedCompletion};
