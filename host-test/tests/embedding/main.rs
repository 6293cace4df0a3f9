//! What a host notices that embeds the host crate: where the memory of instances comes from, what
//! its connections carry and to whom, and what it keeps and logs.

mod addresses;
mod allocation;
mod authorities;
#[path = "../compiled/mod.rs"]
mod compiled;
mod log;
mod network;
mod once;
mod peer;
mod raw_http2;
mod recorder;
mod stage;
mod stderr;
