//! Many calls: instances in a pool, and instances that calls share.

pub mod pool;
#[cfg(feature = "wasi-0-3")]
pub mod shared;
#[cfg(feature = "wasi-0-3")]
mod turnstile;
