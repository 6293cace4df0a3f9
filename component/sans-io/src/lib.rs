//! The client without I/O, as a core module: events in, effects out, both in JSON.
//!
//! `machine` runs the operations of the core on a transport (`transport`) whose requests are
//! effects and whose responses are events (`types`). `client` converts its functions to JSON, and
//! `abi` exports them. `docs/sans-io.md` describes how a host drives it.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod call;
mod client;
mod exchange;
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
#[path = "../../p2/src/heap.rs"]
mod heap;
mod host;
mod json;
mod ledger;
mod machine;
mod requests;
mod strict;
#[cfg(test)]
mod tests;
mod transport;
mod types;
