//! What a host notices that embeds the harness: how instances are shared and bounded,
//! where their memory comes from, and what its connections carry.

mod allocation;
mod network;
mod once;
mod peer;
mod pool;
mod raw_http2;
mod stage;
