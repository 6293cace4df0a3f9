//! The WIT in Rust.

wit_bindgen::generate!({
    path: ["../../wit", "../../wit/async"],
    world: "voice-calling:client-async/plugin",
    with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
    generate_all,
    pub_export_macro: true,
});
