//! The client without I/O: events in, effects out.
//!
//! [`Steps`] is the machine, in plain Rust. What it means is documented in `wit-steps/`, whose
//! types these are. Two guests show it to the world: `steps-typed` as a WebAssembly component, and
//! `steps-text` as a core module that takes and gives JSON.

#![deny(unsafe_code)]

mod call;
mod exchange;
mod executor;
mod host;
mod machine;
mod tokens;
mod transport;

pub use machine::Steps;
pub use tokens::Tokens;

/// The records of the WIT package `voice-calling:client`.
pub use voice_calling_core::types as client_types;

/// The records of the WIT package `voice-calling:client-steps`: events and effects.
pub use bindings::voice_calling::client_steps::types;

/// What a delivery of the service's webhook says: pure, and needs no settings but a bound.
pub use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
pub use voice_calling_core::webhooks::parse_docket_completed;

#[allow(unsafe_code, missing_docs)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit-steps"],
        world: "voice-calling:client-steps/types-only",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        generate_unused_types: true,
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
    });
}
