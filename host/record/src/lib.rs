//! Records without the token, and optionally without the people: HTTP exchanges as data and as HTTP
//! archives, and the masking of these and of logs.

#![forbid(unsafe_code)]

pub mod exchange;
pub mod har;
pub mod masking;
pub mod secrets;

pub use exchange::Exchange;
pub use masking::PersonalData;
pub use secrets::Secrets;
