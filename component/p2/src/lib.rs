//! The guest for WASI 0.2: it joins the exports of the world `plugin` to the core,
//! and the core to wasi:http.

#![deny(unsafe_code)]

mod delivery;
mod errors;
mod executor;
mod head;
#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
mod heap;
mod wasi_transport;

use bindings::exports::voice_calling::client as exports;
use std::cell::OnceCell;
use voice_calling_core::types::*;
use voice_calling_core::{Client, Settings};
use wasi_transport::WasiTransport;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "plugin",
        with: { "voice-calling:client/types@0.1.0": voice_calling_core::types },
    });
    use super::Plugin;
    export!(Plugin with_types_in crate::errors);
}

/// Runs an operation of the client to its end. Settings are read once for an
/// instance.
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
    thread_local! {
        static CLIENT: OnceCell<Result<Client<WasiTransport>, ConfigurationProblem>> =
            const { OnceCell::new() };
    }
    CLIENT.with(|client| {
        let client = client.get_or_init(|| {
            let settings = Settings::from_environment(wasi::cli::environment::get_environment())?;
            Ok(Client::new(settings, WasiTransport))
        });
        match client {
            Ok(client) => executor::block_on(operation(client)),
            Err(problem) => Err(RequestError::PermanentConfiguration(problem.clone())),
        }
    })
}

/// What the component exports.
struct Plugin;

impl exports::agents::Guest for Plugin {
    fn create_agent(config: AgentConfig) -> Result<CreatedAgent, RequestError> {
        run(async |client| client.create_agent(&config).await)
    }

    fn list_agents(organization_id: String) -> Result<Vec<AgentSummary>, RequestError> {
        run(async |client| client.list_agents(&organization_id).await)
    }
}

impl exports::calls::Guest for Plugin {
    fn make_call(request: CallRequest) -> Result<StartedCall, RequestError> {
        run(async |client| client.make_call(&request).await)
    }

    fn get_call_details(task_id: String) -> Result<Vec<CallDetails>, RequestError> {
        run(async |client| client.get_call_details(&task_id).await)
    }

    fn wait_for_call_details(
        task_id: String,
        options: WaitOptions,
    ) -> Result<CallDetailsWait, RequestError> {
        run(async |client| client.wait_for_call_details(&task_id, options).await)
    }
}

impl exports::dockets::Guest for Plugin {
    fn create_docket(request: DocketRequest) -> Result<CreatedDocket, RequestError> {
        run(async |client| client.create_docket(&request).await)
    }

    fn create_docket_v2(request: DocketRequestV2) -> Result<CreatedDocketV2, RequestError> {
        run(async |client| client.create_docket_v2(&request).await)
    }

    fn get_docket(docket_id: String) -> Result<Docket, RequestError> {
        run(async |client| client.get_docket(&docket_id).await)
    }

    fn wait_for_docket(
        docket_id: String,
        options: WaitOptions,
    ) -> Result<DocketWait, RequestError> {
        run(async |client| client.wait_for_docket(&docket_id, options).await)
    }
}

impl exports::bulk::Guest for Plugin {
    fn create_dockets_v2(
        requests: Vec<DocketRequestV2>,
        timeout_ms: u32,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        run(async |client| client.create_dockets_v2(&requests, timeout_ms).await)
    }
}

impl exports::webhooks::Guest for Plugin {
    fn parse_docket_completed(body: Vec<u8>) -> Result<Option<DocketCompleted>, RequestError> {
        errors::aside(voice_calling_core::webhooks::parse_docket_completed(&body))
    }
}
