//! The bindings of the component's WIT world.

wit_bindgen::generate!({
    path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
    world: "voice-calling:obelisk/campaigns",
    generate_all,
});
