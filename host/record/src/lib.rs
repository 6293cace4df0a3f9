//! What happened, without the token, and if need be without the people: exchanges over HTTP as data
//! and as HTTP archives, and what is masked in them and in logs.

#![forbid(unsafe_code)]

pub mod exchange;
pub mod har;
pub mod masking;
pub mod secrets;

pub use exchange::Exchange;
pub use masking::PersonalData;
pub use secrets::Secrets;
