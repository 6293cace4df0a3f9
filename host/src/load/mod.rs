//! Loading a component, from its file to an instance.

pub mod allocation;
pub mod cache;
pub mod kind;
pub mod sandbox;
