//! The guest for WASI 0.2: it joins the exports of the world `plugin` to the core,
//! and the core to wasi:http.

#![deny(unsafe_code)]

mod errors;
mod executor;
#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
mod heap;
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client as exports;
use voice_calling_core::types::*;
use voice_calling_core::webhooks::parse_in_environment;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

/// The WIT in Rust.
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

/// WASI 0.2, and what both guests use of wasi:http by the names of WASI 0.3.
mod wasi {
    pub(crate) use crate::bindings::wasi::{cli, clocks, http, io, random};
    pub(crate) use http::types::{
        ErrorCode, Fields, Method as HttpMethod, OutgoingRequest as HttpRequest, RequestOptions,
        Scheme as HttpScheme,
    };
}

thread_local! {
    /// Settings are read once for an instance, by its first call.
    static CLIENT: Result<Client<WasiTransport>, RequestError> =
        Settings::from_environment(get_environment())
            .map(|settings| Client::new(settings, WasiTransport));
}

/// Runs an operation of the client to its end.
#[inline(always)]
fn run<R>(
    operation: impl AsyncFnOnce(&Client<WasiTransport>) -> Result<R, RequestError>,
) -> Result<R, RequestError> {
    errors::aside(run_to_its_end(operation))
}

#[inline(never)]
fn run_to_its_end<R>(
    operation: impl AsyncFnOnce(&Client<WasiTransport>) -> Result<R, RequestError>,
) -> Result<R, RequestError> {
    CLIENT.with(|client| match client {
        Ok(client) => executor::block_on(operation(client)),
        Err(error) => Err(error.clone()),
    })
}

/// What the component exports.
struct Plugin;

#[allow(unsafe_code)]
mod exports_of_plugin {
    use super::{Plugin, bindings};
    bindings::export!(Plugin with_types_in crate::errors);
}

impl exports::agents::Guest for Plugin {
    fn create_agent(
        config: AgentConfig,
        options: Option<CallOptions>,
    ) -> Result<CreatedAgent, RequestError> {
        run(async |client| client.create_agent(&config, options).await)
    }

    fn list_agents(
        organization_id: String,
        options: Option<CallOptions>,
    ) -> Result<AgentList, RequestError> {
        run(async |client| client.list_agents(&organization_id, options).await)
    }
}

impl exports::calls::Guest for Plugin {
    fn make_call(
        request: CallRequest,
        options: Option<CallOptions>,
    ) -> Result<StartedCall, RequestError> {
        run(async |client| client.make_call(&request, options).await)
    }

    fn get_call_details(
        task_id: String,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsList, RequestError> {
        run(async |client| client.get_call_details(&task_id, options).await)
    }

    fn wait_for_call_details(
        task_id: String,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsWait, RequestError> {
        run(async |client| client.wait_for_call_details(&task_id, wait, options).await)
    }
}

impl exports::dockets::Guest for Plugin {
    fn create_docket(
        request: DocketRequest,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocket, RequestError> {
        run(async |client| client.create_docket(&request, options).await)
    }

    fn create_docket_v2(
        request: DocketRequestV2,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocketV2, RequestError> {
        run(async |client| client.create_docket_v2(&request, options).await)
    }

    fn get_docket(docket_id: String, options: Option<CallOptions>) -> Result<Docket, RequestError> {
        run(async |client| client.get_docket(&docket_id, options).await)
    }

    fn wait_for_docket(
        docket_id: String,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<DocketWait, RequestError> {
        run(async |client| client.wait_for_docket(&docket_id, wait, options).await)
    }
}

impl exports::bulk::Guest for Plugin {
    fn create_dockets_v2(
        requests: Vec<DocketRequestV2>,
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        run(async |client| {
            client
                .create_dockets_v2(&requests, timeout_ms, options)
                .await
        })
    }
}

impl exports::webhooks::Guest for Plugin {
    fn parse_docket_completed(body: String) -> Result<Option<DocketCompleted>, RequestError> {
        errors::aside(parse_in_environment(get_environment(), &body))
    }

    fn verify_docket_completed(
        body: String,
        options: Option<CallOptions>,
    ) -> Result<Verification, RequestError> {
        run(async |client| client.verify_docket_completed(&body, options).await)
    }
}
