//! What happened, without the token, and if need be without the people.

pub mod har;
pub mod masking;
pub mod recorder;
pub mod secrets;
