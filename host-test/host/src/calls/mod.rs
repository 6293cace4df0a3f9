//! Many calls: instances in a pool, instances that calls share, and batches.

pub mod batch;
pub mod pool;
#[cfg(feature = "wasi-0-3")]
pub mod shared;
