//! The bindings of the component's WIT world.

wit_bindgen::generate!({
    path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
    world: "voice-calling:obelisk/webhook",
    with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
    generate_all,
});
