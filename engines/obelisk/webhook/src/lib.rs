//! The receiver of the service's webhook.
//!
//! It trusts nothing: a caller without the path's secret learns nothing, and the client, which
//! `cargo xtask obelisk build` plugs in, verifies each delivery with the service. The waiting run is
//! notified through the engine's API, and the engine stores nothing else. A delivery that cannot be
//! verified, or given to its run, within seconds is accepted (202) and left to the workflow
//! `deliveries.deliver`.

#![deny(unsafe_code)]

mod answer;
mod delivery;
mod http;
mod secret;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/webhook",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        generate_all,
    });
}

#[allow(unsafe_code)]
mod exports {
    use super::http::Receiver;
    wasi::http::proxy::export!(Receiver);
}
