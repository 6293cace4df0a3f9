//! What a host notices that embeds the harness: how instances are shared and bounded,
//! where their memory comes from, what its connections carry, and what it keeps and logs.

mod allocation;
mod cancelled;
mod dropped;
mod log;
mod network;
mod peer;
mod pool;
mod raw_http2;
mod recorder;
mod sandbox;
mod shared;
mod stage;
mod stderr;
