//! The operator's endpoint of campaigns: list, progress, results, orders, and answers to questions.
//!
//! It stores nothing and decides nothing. All that it shows is in the texts that a campaign and its
//! segments have received, which the engine's API returns in a few answers whatever the campaign's
//! size.

mod campaign;
mod http;
mod order;
mod progress;
mod results;
mod retry;
mod route;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../operator/wit", "../once/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/campaigns",
        generate_all,
    });
}

#[allow(unsafe_code)]
mod exports {
    use super::http::Endpoint;
    wasi::http::proxy::export!(Endpoint);
}
