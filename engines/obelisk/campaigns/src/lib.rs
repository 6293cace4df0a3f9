//! The operator's endpoint of campaigns: progress, results, and orders.
//!
//! It keeps nothing and decides nothing: the engine derives children's ids from their parents', so
//! all executions of a campaign are found by counting up, and what they are and returned is asked
//! one after the other. Orders are workflows (`campaign.pause` and so on), which are scheduled and
//! waited for.

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
