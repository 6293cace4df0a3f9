//! The component as its users meet it: the built file in wasmtime, against peers on loopback, or a
//! service in memory with virtual time. What it decides is proven in the core and by the table of
//! cases; this is about its glue to WASI, and about what the host makes of its calls.

#[path = "../compiled/mod.rs"]
mod compiled;
mod errors;
mod interface;
mod invoke;
mod other_host;
mod recorder;
mod secrets;
mod stage;
mod transport;
mod wire;
