//! The guest for WASI 0.3: it connects the exports of the world `plugin` of
//! `voice-calling:client-async` to the core, and the core to wasi:http. Every call is its own task
//! on the instance's only client.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
#[path = "../../p2/src/heap.rs"]
mod heap;
#[path = "../../p2/src/http.rs"]
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client_async as exports;
use voice_calling_core::types::{DocketCompleted, RequestError};
use voice_calling_core::webhooks::parse_in_environment;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit/async"],
        world: "voice-calling:client-async/plugin",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        generate_all,
        pub_export_macro: true,
    });
}

/// WASI 0.3, and the parts of wasi:http that both guests use. The aliases omit the versions that
/// distinguish its packages from those of WASI 0.2, which the types depend on.
mod wasi {
    pub(crate) use crate::bindings::wasi::{
        cli0_3_2 as cli, clocks0_3_2 as clocks, http0_3_2 as http, random0_3_2 as random,
    };
    pub(crate) use http::types::{
        ErrorCode, Fields, Method as HttpMethod, Request as HttpRequest, RequestOptions,
        Scheme as HttpScheme,
    };
}

thread_local! {
    /// Settings are read once for each instance, by its first call. The client is never freed:
    /// concurrent calls borrow it.
    static CLIENT: Result<&'static Client<WasiTransport>, RequestError> =
        Settings::from_environment(get_environment())
            .map(|settings| &*Box::leak(Box::new(Client::new(settings, WasiTransport))));
}

fn client() -> Result<&'static Client<WasiTransport>, RequestError> {
    CLIENT.with(Clone::clone)
}

/// Implements `webhooks.parse-docket-completed`.
fn parse(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
    parse_in_environment(get_environment(), body)
}

/// Implements the exports of the component.
struct Plugin;

#[allow(unsafe_code)]
mod exports_of_plugin {
    use super::{Plugin, bindings};
    bindings::export!(Plugin with_types_in bindings);
}

/// Exports a function that runs an operation of the client.
macro_rules! operation {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty = ($($passed:expr),*)) => {
        async fn $name(
            $($argument: $type,)*
            options: Option<CallOptions>,
        ) -> Result<$result, RequestError> {
            crate::client()?.$name($($passed,)* options).await
        }
    };
}

#[path = "../../p2/src/plugin.rs"]
mod plugin;
