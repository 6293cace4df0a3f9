//! The component as its users meet it: the built file in wasmtime, against the mock
//! service over loopback, or a network in memory with virtual time.

mod accounts;
mod agents;
mod attempts;
mod bad_input;
mod base_url;
mod bulk;
mod calls;
#[path = "../compiled/mod.rs"]
mod compiled;
mod dockets;
mod error_codes;
mod failure;
mod full_pipe;
mod interface;
mod invoke;
mod log;
mod operation;
mod other_host;
mod pauses;
mod recorder;
mod script;
mod secrets;
mod settings;
mod stage;
mod timeouts;
mod transport;
mod waits;
mod webhooks;
mod wire;
