//! What an instance is given, and what it may use up.

#[cfg(feature = "wasi-0-3")]
pub(crate) mod abandoned;
pub mod capabilities;
pub(crate) mod in_flight;
pub mod limits;
pub mod settings;
pub(crate) mod stderr;
