//! How a delivery of the service's webhook finds the run that waits for it.
//!
//! There is no table that could be behind. A run writes its own execution id into the call
//! context before it creates the docket; the service keeps it, and returns it with the docket
//! and with the webhook. From the id follows that of the stub execution on which the run waits,
//! because the engine derives children's ids from their parents'.
//!
//! Pure: the guests use it, and it is tested natively.

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
