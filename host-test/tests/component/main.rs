//! The component as its users meet it: the built file in wasmtime, against peers on loopback, or a
//! service in memory with virtual time. What it decides is proven in the core and by the table of
//! cases; this is about its glue to WASI, and about what a program notices that embeds it with the
//! crate of the host: what its connections carry and to whom, what it keeps and logs, and what
//! becomes of calls that it drops.

mod allocation;
mod authorities;
#[path = "../compiled/mod.rs"]
mod compiled;
mod interface;
mod invoke;
mod log;
mod network;
mod once;
mod other_host;
mod peer;
mod recorder;
mod secrets;
mod stage;
mod stderr;
mod transport;
mod wire;
