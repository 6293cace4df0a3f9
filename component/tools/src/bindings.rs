//! The WIT in Rust.

wit_bindgen::generate!({
    path: ["../../wit", "../../wit/tools"],
    world: "voice-calling:tools/tools",
    generate_all,
    pub_export_macro: true,
});
