//! Tests that choose the component themselves, so that they are run once and not again on the
//! component for WASI 0.3.

mod cancelled;
mod dropped;
mod sandbox;
