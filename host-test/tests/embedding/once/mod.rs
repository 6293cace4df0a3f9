//! Tests that choose the component themselves, so that they are run once and not again on the
//! components for WASI 0.3 and for steps.

mod allocation;
mod batches;
mod cancelled;
mod client;
mod dropped;
mod history;
mod sandbox;
mod shared;
