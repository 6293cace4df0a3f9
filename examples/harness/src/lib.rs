//! The examples in other languages, each composed with voice-calling into one component, in the
//! host harness. `cargo xtask examples` builds the compositions; the tests run them against the
//! mock service and prove that they do what their WIT says.

#![forbid(unsafe_code)]

mod composition;
mod lost_answer;

pub use self::composition::{Composition, Language};
pub use self::lost_answer::LostAnswer;

/// The bindings of the world `composed`.
#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "composed",
        exports: { default: async },
        additional_derives: [Clone, PartialEq],
    });
}

/// The records of the interface `renewals`.
pub use bindings::exports::voice_calling::example::renewals::{
    Campaign, Completion, Customer, Ending, Reminder,
};
