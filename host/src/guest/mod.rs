//! What an instance is given, and what it may use up.

pub(crate) mod call;
pub mod capabilities;
pub mod limits;
pub mod settings;
pub(crate) mod stderr;
