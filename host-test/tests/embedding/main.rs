//! What a host notices that embeds the harness: how instances are shared and bounded,
//! where their memory comes from, and what its connections carry.

mod allocation;
mod cancelled;
#[path = "../compiled/mod.rs"]
mod compiled;
mod dropped;
mod network;
mod peer;
mod pool;
mod raw_http2;
mod sandbox;
mod shared;
mod stage;
