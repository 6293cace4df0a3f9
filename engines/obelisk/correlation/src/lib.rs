//! Correlates a delivery of the service's webhook with the run that waits for it.
//!
//! No table is involved that could lag behind. A run writes its own execution id into the call
//! context before it creates the docket; the service stores it, and returns it with the docket and
//! in the webhook. The id of the stub on which the run waits follows from it, because the engine
//! derives children's ids from their parents'.
//!
//! The crate is pure: the guests use it, and it is tested natively.

#![forbid(unsafe_code)]

pub mod campaign;
mod completion;
mod context;
mod execution_id;
mod size;

pub use completion::{Completion, OVER};
pub use context::{CONTEXT_KEY, ContextError, run_of_context, with_run};
pub use execution_id::RunId;
pub use size::{MOST_CONTEXT_BYTES, MOST_DOCUMENT_BYTES};
