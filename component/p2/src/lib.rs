//! The guest for WASI 0.2: it connects the exports of the world `plugin` to the core, and the core
//! to wasi:http.

#![deny(unsafe_code)]

mod errors;
mod executor;
#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
mod heap;
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client as exports;
use voice_calling_core::types::{DocketCompleted, RequestError};
use voice_calling_core::webhooks::parse_in_environment;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "plugin",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        generate_all,
        pub_export_macro: true,
    });
}

/// WASI 0.2, and the parts of wasi:http that both guests use, by their names in WASI 0.3.
mod wasi {
    pub(crate) use crate::bindings::wasi::{cli, clocks, http, io, random};
    pub(crate) use http::types::{
        ErrorCode, Fields, Method as HttpMethod, OutgoingRequest as HttpRequest, RequestOptions,
        Scheme as HttpScheme,
    };
}

thread_local! {
    /// Settings are read once for each instance, by its first call.
    static CLIENT: Result<Client<WasiTransport>, RequestError> =
        Settings::from_environment(get_environment())
            .map(|settings| Client::new(settings, WasiTransport));
}

/// Implements `webhooks.parse-docket-completed`.
fn parse(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
    errors::stash(parse_in_environment(get_environment(), body))
}

/// Runs an operation of the client to its end.
#[inline(always)]
fn run<R>(
    operation: impl AsyncFnOnce(&Client<WasiTransport>) -> Result<R, RequestError>,
) -> Result<R, RequestError> {
    errors::stash(block_on_operation(operation))
}

#[inline(never)]
fn block_on_operation<R>(
    operation: impl AsyncFnOnce(&Client<WasiTransport>) -> Result<R, RequestError>,
) -> Result<R, RequestError> {
    CLIENT.with(|client| match client {
        Ok(client) => executor::block_on(operation(client)),
        Err(error) => Err(error.clone()),
    })
}

/// Implements the exports of the component.
struct Plugin;

#[allow(unsafe_code)]
mod exports_of_plugin {
    use super::{Plugin, bindings};
    bindings::export!(Plugin with_types_in crate::errors);
}

/// Exports a function that runs an operation of the client.
macro_rules! operation {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty = ($($passed:expr),*)) => {
        fn $name($($argument: $type,)* options: Option<CallOptions>) -> Result<$result, RequestError> {
            crate::run(async |client| client.$name($($passed,)* options).await)
        }
    };
}

mod plugin;
