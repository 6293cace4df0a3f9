//! The guest for WASI 0.3: it joins the exports of the world `plugin` of
//! `voice-calling:client-async` to the core, and the core to wasi:http. Every call is a task
//! of its own on the one client that the instance has.

#![deny(unsafe_code)]

#[path = "../../p2/src/delivery.rs"]
mod delivery;
#[path = "../../p2/src/head.rs"]
mod head;
#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
#[path = "../../p2/src/heap.rs"]
mod heap;
mod wasi_transport;

use bindings::exports::voice_calling::client_async as exports;
use std::rc::Rc;
use voice_calling_core::types::*;
use voice_calling_core::{Client, Settings};
use wasi_transport::WasiTransport;
use wasip3::cli::environment::get_environment;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "../../wit-async"],
        world: "voice-calling:client-async/plugin",
        with: { "voice-calling:client/types@0.1.0": voice_calling_core::types },
    });
    use super::Plugin;
    export!(Plugin);
}

thread_local! {
    /// Settings are read once for an instance, by its first call.
    static CLIENT: Result<Rc<Client<WasiTransport>>, ConfigurationProblem> = {
        Settings::from_environment(get_environment())
            .map(|settings| Rc::new(Client::new(settings, WasiTransport)))
    };
}

fn client() -> Result<Rc<Client<WasiTransport>>, RequestError> {
    CLIENT.with(|client| client.clone().map_err(RequestError::PermanentConfiguration))
}

/// What the component exports.
struct Plugin;

impl exports::agents::Guest for Plugin {
    async fn create_agent(config: AgentConfig) -> Result<CreatedAgent, RequestError> {
        client()?.create_agent(&config).await
    }

    async fn list_agents(organization_id: String) -> Result<Vec<AgentSummary>, RequestError> {
        client()?.list_agents(&organization_id).await
    }
}

impl exports::calls::Guest for Plugin {
    async fn make_call(request: CallRequest) -> Result<StartedCall, RequestError> {
        client()?.make_call(&request).await
    }

    async fn get_call_details(task_id: String) -> Result<Vec<CallDetails>, RequestError> {
        client()?.get_call_details(&task_id).await
    }

    async fn wait_for_call_details(
        task_id: String,
        options: WaitOptions,
    ) -> Result<CallDetailsWait, RequestError> {
        client()?.wait_for_call_details(&task_id, options).await
    }
}

impl exports::dockets::Guest for Plugin {
    async fn create_docket(request: DocketRequest) -> Result<CreatedDocket, RequestError> {
        client()?.create_docket(&request).await
    }

    async fn create_docket_v2(request: DocketRequestV2) -> Result<CreatedDocketV2, RequestError> {
        client()?.create_docket_v2(&request).await
    }

    async fn get_docket(docket_id: String) -> Result<Docket, RequestError> {
        client()?.get_docket(&docket_id).await
    }

    async fn wait_for_docket(
        docket_id: String,
        options: WaitOptions,
    ) -> Result<DocketWait, RequestError> {
        client()?.wait_for_docket(&docket_id, options).await
    }
}

impl exports::bulk::Guest for Plugin {
    async fn create_dockets_v2(
        requests: Vec<DocketRequestV2>,
        timeout_ms: u32,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        client()?.create_dockets_v2(&requests, timeout_ms).await
    }
}

impl exports::webhooks::Guest for Plugin {
    async fn parse_docket_completed(
        body: Vec<u8>,
    ) -> Result<Option<DocketCompleted>, RequestError> {
        voice_calling_core::webhooks::parse_docket_completed(&body)
    }
}
