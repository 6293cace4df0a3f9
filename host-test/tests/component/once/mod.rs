//! Tests that choose the component themselves: they run once, and not again for the component for
//! WASI 0.3.

mod cancelled;
mod dropped;
mod sandbox;
