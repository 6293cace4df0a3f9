//! The WIT in Rust.

wit_bindgen::generate!({
    path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
    world: "voice-calling:obelisk/campaigns",
    generate_all,
});
