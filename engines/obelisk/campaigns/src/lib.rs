//! The operator's endpoint of campaigns: list, progress, results, orders, and answers to questions.
//!
//! It stores nothing and decides nothing. The engine derives the ids of children from their
//! parents', so it finds all executions of a campaign by counting up, and asks for the status and
//! the result of one after another. What cannot be found by counting, orders, and answers go through
//! the engine's API.

#![deny(unsafe_code)]

mod campaign;
mod engine;
mod http;
mod list;
mod order;
mod progress;
mod results;
mod retry;
mod route;
mod row;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/campaigns",
        generate_all,
    });
}

#[allow(unsafe_code)]
mod exports {
    use super::http::Endpoint;
    wasi::http::proxy::export!(Endpoint);
}
