//! The core, made to misbehave on purpose: in one way at a time, which the
//! environment variable `MUTANT` names. A check of components that lets one of these
//! pass proves nothing.
//!
//! The crate has what guests use of `voice_calling_core`, and stands in for it under
//! that name: the glue of a guest compiles against it unchanged. The real core does
//! the work. Around it are an environment that was changed before it is read
//! (`settings`), a transport that disobeys (`transport`), and changed
//! results (`client`, `result`); with no `MUTANT`, or with `none`, nothing is changed.
//!
//! Webhooks are parsed as they should be, whatever `MUTANT` says: their function takes
//! no settings.

#![forbid(unsafe_code)]

mod client;
mod mutant;
mod result;
mod settings;
mod transport;

pub use client::Client;
pub use mutant::Mutant;
pub use settings::Settings;
pub use voice_calling_core::{
    Delivery, ErrorCode, Limits, Method, Request, Response, Scheme, SendError, Transport,
    error_code, types, webhooks,
};
