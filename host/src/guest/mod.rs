//! The capabilities and the limits of an instance.

pub(crate) mod call;
pub mod capabilities;
pub mod limits;
pub mod settings;
pub(crate) mod stderr;
