//! What a host notices that embeds the harness: how instances are shared and bounded,
//! where their memory comes from, what its connections carry, and to whom.

mod addresses;
mod allocation;
mod authorities;
mod network;
mod once;
mod peer;
mod pool;
mod raw_http2;
mod stage;
