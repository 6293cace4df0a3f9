//! The core, made to misbehave on purpose, in the one way that the environment variable `FAULT`
//! names. A check of components that does not detect one of these proves nothing.
//!
//! The crate contains what guests use of `voice_calling_core`, and replaces it under that name: the
//! glue of a guest compiles against it unchanged. The real core does the work, with an environment
//! that is changed before it is read (`settings`), a transport that disobeys (`transport`), and
//! changed results (`client`, `result`). If `FAULT` is not set, or is `none`, nothing is changed.
//!
//! Webhooks are parsed correctly with every fault: their function takes no settings.

// Support of tests, which print none of it.
#![expect(missing_debug_implementations)]

mod client;
mod fault;
mod result;
mod settings;
mod transport;

pub use client::Client;
pub use fault::Fault;
pub use settings::Settings;
pub use voice_calling_core::{
    Delivery, ErrorCode, Limits, Method, Request, Response, Scheme, SendError, Transport,
    error_code, ledger, types, webhooks,
};
