//! The operator's endpoint of campaigns: progress, results, and orders.
//!
//! It stores nothing and decides nothing. The engine derives the ids of children from their
//! parents', so it finds all executions of a campaign by counting up, and asks for the status and
//! the result of one after another. Orders are workflows (`campaign.pause` and so on), which it
//! schedules and waits for.

#![deny(unsafe_code)]

mod auth;
#[allow(unsafe_code)]
mod bindings;
mod campaign;
mod engine;
mod execution;
mod http;
mod order;
mod progress;
mod results;
mod route;
mod row;
#[cfg(test)]
mod tree;

#[allow(unsafe_code)]
mod exports {
    use super::http::Endpoint;
    wasi::http::proxy::export!(Endpoint);
}
