//! The guest for WASI 0.3: it connects the exports of the world `plugin` of
//! `voice-calling:client-async` to the core, and the core to wasi:http. Every call is its own task
//! on the instance's only client.

#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
#[path = "../../p2/src/heap.rs"]
mod heap;
#[path = "../../p2/src/http.rs"]
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client_async as exports;
use voice_calling_core::ledger::NoLedger;
use voice_calling_core::types::Failure;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types", "../../wit/async"],
        world: "voice-calling:client-async/plugin",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
        generate_all,
        pub_export_macro: true,
    });
}

/// WASI 0.3, and the parts of wasi:http that both guests use.
mod wasi {
    pub(crate) use crate::bindings::wasi::{cli, clocks, http, random};
    pub(crate) use http::types::{
        ErrorCode, Fields, Method as HttpMethod, Request as HttpRequest, RequestOptions,
        Scheme as HttpScheme,
    };
}

thread_local! {
    /// Settings are read once for each instance, by its first call. The client is never freed:
    /// concurrent calls borrow it.
    static CLIENT: Result<&'static Client<WasiTransport>, Failure> =
        Settings::from_environment(get_environment())
            .map(|settings| &*Box::leak(Box::new(Client::new(settings, WasiTransport, NoLedger))));
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
        async fn $name(
            $($argument: $type,)*
            $options: Option<CallOptions>,
        ) -> Result<$result, RequestError> {
            let $client = crate::CLIENT.with(Clone::clone)?;
            $operation.await.map_err(RequestError::from)
        }
    };
}

#[path = "../../p2/src/plugin.rs"]
mod plugin;
