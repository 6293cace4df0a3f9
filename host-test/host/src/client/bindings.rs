//! What `bindgen!` makes of the events and effects of `voice-calling:client-steps`.

#[allow(missing_docs, clippy::all)]
mod generated {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../wit-steps"],
        world: "voice-calling:client-steps/types-only",
        with: { "voice-calling:client/types": crate::load::plugin::types },
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
    });
}

pub(crate) use generated::voice_calling::client_steps::types::*;
