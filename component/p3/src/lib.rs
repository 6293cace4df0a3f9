//! The guest for WASI 0.3: it joins the exports of the world `plugin` of
//! `voice-calling:client-async` to the core, and the core to wasi:http. Every call is a task
//! of its own on the one client that the instance has.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
#[path = "../../p2/src/heap.rs"]
mod heap;
#[path = "../../p2/src/http.rs"]
mod http;
mod wasi_transport;

use bindings::exports::voice_calling::client_async as exports;
use voice_calling_core::types::*;
use voice_calling_core::webhooks::parse_in_environment;
use voice_calling_core::{Client, Settings};
use wasi::cli::environment::get_environment;
use wasi_transport::WasiTransport;

/// The WIT in Rust.
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

/// WASI 0.3, without the versions by which its packages differ from those of WASI 0.2, which the
/// types come with; and what both guests use of wasi:http.
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
    /// Settings are read once for an instance, by its first call. The client is never freed: the
    /// calls that run at the same time borrow it.
    static CLIENT: Result<&'static Client<WasiTransport>, RequestError> =
        Settings::from_environment(get_environment())
            .map(|settings| &*Box::leak(Box::new(Client::new(settings, WasiTransport))));
}

fn client() -> Result<&'static Client<WasiTransport>, RequestError> {
    CLIENT.with(Clone::clone)
}

/// What the component exports.
struct Plugin;

#[allow(unsafe_code)]
mod exports_of_plugin {
    use super::{Plugin, bindings};
    bindings::export!(Plugin with_types_in bindings);
}

impl exports::agents::Guest for Plugin {
    async fn create_agent(
        config: AgentConfig,
        options: Option<CallOptions>,
    ) -> Result<CreatedAgent, RequestError> {
        client()?.create_agent(&config, options).await
    }

    async fn list_agents(
        organization_id: String,
        options: Option<CallOptions>,
    ) -> Result<AgentList, RequestError> {
        client()?.list_agents(&organization_id, options).await
    }
}

impl exports::calls::Guest for Plugin {
    async fn make_call(
        request: CallRequest,
        options: Option<CallOptions>,
    ) -> Result<StartedCall, RequestError> {
        client()?.make_call(&request, options).await
    }

    async fn get_call_details(
        task_id: String,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsList, RequestError> {
        client()?.get_call_details(&task_id, options).await
    }

    async fn wait_for_call_details(
        task_id: String,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsWait, RequestError> {
        client()?
            .wait_for_call_details(&task_id, wait, options)
            .await
    }
}

impl exports::dockets::Guest for Plugin {
    async fn create_docket(
        request: DocketRequest,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocket, RequestError> {
        client()?.create_docket(&request, options).await
    }

    async fn create_docket_v2(
        request: DocketRequestV2,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocketV2, RequestError> {
        client()?.create_docket_v2(&request, options).await
    }

    async fn get_docket(
        docket_id: String,
        options: Option<CallOptions>,
    ) -> Result<Docket, RequestError> {
        client()?.get_docket(&docket_id, options).await
    }

    async fn wait_for_docket(
        docket_id: String,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<DocketWait, RequestError> {
        client()?.wait_for_docket(&docket_id, wait, options).await
    }
}

impl exports::bulk::Guest for Plugin {
    async fn create_dockets_v2(
        requests: Vec<DocketRequestV2>,
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        client()?
            .create_dockets_v2(&requests, timeout_ms, options)
            .await
    }
}

impl exports::webhooks::Guest for Plugin {
    fn parse_docket_completed(body: String) -> Result<Option<DocketCompleted>, RequestError> {
        parse_in_environment(get_environment(), &body)
    }

    async fn verify_docket_completed(
        body: String,
        options: Option<CallOptions>,
    ) -> Result<Verification, RequestError> {
        client()?.verify_docket_completed(&body, options).await
    }
}
