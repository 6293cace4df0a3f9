//! The receiver of the service's webhook.
//!
//! It trusts nothing: a caller without the path's secret learns nothing, and the workflow
//! `deliveries.deliver` checks each delivery with the service and notifies the waiting run. This
//! component handles only HTTP: it receives a delivery and answers with the verdict as a status. It
//! never waits long, since a waiting webhook holds one of the engine's few database connections: a
//! delivery that takes longer is accepted (202) and processed durably.

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
