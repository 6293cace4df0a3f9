//! The guest for WASI 0.2: it connects the exports of the world `plugin` to the core, and the core
//! to wasi:http.

mod executor;
#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
mod heap;
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client as exports;
use voice_calling_core::ledger::NoLedger;
use voice_calling_core::types::Failure;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types", "../../wit"],
        world: "voice-calling:client/plugin",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
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
    static CLIENT: Result<Client<WasiTransport>, Failure> =
        Settings::from_environment(get_environment())
            .map(|settings| Client::new(settings, WasiTransport, NoLedger));
}

/// Runs an operation of the client to its end.
fn run<R>(
    operation: impl AsyncFnOnce(&Client<WasiTransport>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    CLIENT.with(|client| match client {
        Ok(client) => executor::block_on(operation(client)),
        Err(failure) => Err(failure.clone()),
    })
}

/// Implements the exports of the component.
struct Plugin;

#[allow(unreachable_pub, unsafe_code)]
mod exports_of_plugin {
    use super::{Plugin, bindings};
    bindings::export!(Plugin with_types_in bindings);
}

/// Exports a function that runs an operation of the client.
macro_rules! operation {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty = |$client:ident, $options:ident| $operation:expr) => {
        // Lowering a result from memory takes less code than from locals.
        #[inline(never)]
        fn $name(
            $($argument: $type,)*
            $options: Option<CallOptions>,
        ) -> Result<$result, RequestError> {
            crate::run(async |$client| $operation.await).map_err(RequestError::from)
        }
    };
}

mod plugin;
