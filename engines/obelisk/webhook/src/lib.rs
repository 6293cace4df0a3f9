//! The receiver of the service's webhook.
//!
//! It believes nothing: who does not know the path's secret learns nothing, and what a delivery
//! says is checked with the service by the workflow `deliveries.deliver`, which also notifies the
//! run that waits. Here is only HTTP: a delivery in, the verdict as a status out. It never waits
//! for long, since a webhook that waits holds one of the engine's few connections to its
//! database: what takes longer is accepted (202), and goes on durably.

#![deny(unsafe_code)]

mod answer;
#[allow(unsafe_code)]
mod bindings;
mod delivery;
mod http;
mod secret;

#[allow(unsafe_code)]
mod exports {
    use super::http::Receiver;
    wasi::http::proxy::export!(Receiver);
}
