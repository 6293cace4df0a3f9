//! The code that the components share: the ids of executions, the values of stubs, secrets, and
//! HTTP in both directions.
//!
//! A delivery of the service's webhook finds the run that waits for it without a table that could
//! lag behind. A run writes its own execution id into the call context before it creates the docket;
//! the service stores it, and returns it with the docket and in the webhook. The id of the stub on
//! which the run waits follows from it, because the engine derives children's ids from their
//! parents'.

mod api;
pub mod campaign;
mod completion;
mod context;
mod environment;
mod execution_id;
pub mod failure;
mod http;
mod server;
mod size;
mod verdict;

pub use api::{Api, Ending, Listed, Page, Response, Status, Submission};
pub use campaign::CampaignSummary;
pub use completion::{Completion, OVER};
pub use context::{CONTEXT_KEY, run_of_context, with_run};
pub use environment::{admits, variable};
pub use execution_id::RunId;
pub use http::{Answer, Method, Request, Uri, send};
pub use server::{Reply, body, stream};
pub use size::MOST_DOCUMENT_BYTES;
pub use verdict::Verdict;
