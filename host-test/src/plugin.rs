//! A component with our WIT, loaded into wasmtime and called with typed bindings.

use crate::cache::Origin;
use crate::capabilities::Guest;
use crate::sandbox::{InstanceSettings, Loading, Running, Sandbox};
use anyhow::Result;
use bindings::exports::voice_calling::client::{agents, bulk, calls, dockets, webhooks};
use bindings::voice_calling::client::types::*;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::InstancePre;
use wasmtime::error::Context;

/// What `bindgen!` makes of the world `plugin`.
#[allow(missing_docs, clippy::all)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin",
        exports: { default: async },
        additional_derives: [Clone, PartialEq],
    });
}

/// The records of the WIT package.
pub use bindings::voice_calling::client::types;

/// A component that was compiled and linked, ready to be instantiated.
#[derive(Clone)]
pub struct Plugin {
    sandbox: Sandbox,
    interfaces: Arc<Interfaces>,
}

/// Where the functions of each interface are in a component.
struct Interfaces {
    agents: agents::GuestIndices,
    calls: calls::GuestIndices,
    dockets: dockets::GuestIndices,
    bulk: bulk::GuestIndices,
    webhooks: webhooks::GuestIndices,
}

impl Interfaces {
    fn new(pre: &InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(Self {
            agents: agents::GuestIndices::new(pre)?,
            calls: calls::GuestIndices::new(pre)?,
            dockets: dockets::GuestIndices::new(pre)?,
            bulk: bulk::GuestIndices::new(pre)?,
            webhooks: webhooks::GuestIndices::new(pre)?,
        })
    }
}

impl Plugin {
    /// Compiles the component in a file and checks that it exports our world and
    /// imports no more than the harness gives.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_with(path, &Loading::default())
    }

    /// As [`Plugin::load`], in a way that is chosen.
    pub fn load_with(path: &Path, loading: &Loading) -> Result<Self> {
        let wasm = std::fs::read(path).with_context(|| {
            format!(
                "cannot read the component {} (`cargo xtask build` makes it)",
                path.display()
            )
        })?;
        Self::compile_with(&wasm, loading)
            .map_err(|error| error.context(format!("cannot load {}", path.display())))
    }

    /// As [`Plugin::load`], from memory.
    pub fn compile(wasm: &[u8]) -> Result<Self> {
        Self::compile_with(wasm, &Loading::default())
    }

    /// As [`Plugin::load_with`], from memory.
    pub fn compile_with(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let sandbox = Sandbox::compile(wasm, loading)?;
        let interfaces = Interfaces::new(&sandbox.pre)
            .context("the component does not export the world `plugin` of voice-calling:client")?;
        Ok(Self {
            sandbox,
            interfaces: Arc::new(interfaces),
        })
    }

    /// Whether it was compiled, and why, or read from a cache.
    pub fn origin(&self) -> &Origin {
        self.sandbox.origin()
    }

    /// A fresh instance, with nothing of any other in it.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Instance> {
        Ok(Instance {
            running: self.sandbox.instantiate(settings).await?,
            interfaces: self.interfaces.clone(),
            exports: Exports::default(),
        })
    }
}

/// An instance of a plugin. The outer result of a call is the host's (a trap), the
/// inner one the component's.
pub struct Instance {
    pub(crate) running: Running,
    interfaces: Arc<Interfaces>,
    exports: Exports,
}

/// The functions of an instance by interface, each looked at (types and all) when one of
/// them is called for the first time: many instances are made for a single call.
#[derive(Default)]
struct Exports {
    agents: Option<agents::Guest>,
    calls: Option<calls::Guest>,
    dockets: Option<dockets::Guest>,
    bulk: Option<bulk::Guest>,
    webhooks: Option<webhooks::Guest>,
}

macro_rules! exports {
    ($instance:ident, $interface:ident) => {
        match &mut $instance.exports.$interface {
            Some(loaded) => loaded,
            empty => {
                let indices = &$instance.interfaces.$interface;
                empty.insert(
                    indices.load(&mut $instance.running.store, &$instance.running.instance)?,
                )
            }
        }
    };
}

type Called<T> = Result<Result<T, RequestError>>;

impl Deref for Instance {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl Instance {
    /// `agents.create-agent`
    pub async fn create_agent(&mut self, config: &AgentConfig) -> Called<CreatedAgent> {
        let agents = exports!(self, agents);
        let call = agents.call_create_agent(&mut self.running.store, config);
        Ok(self.running.computing.count(call).await?)
    }

    /// `agents.list-agents`
    pub async fn list_agents(&mut self, organization_id: &str) -> Called<Vec<AgentSummary>> {
        let agents = exports!(self, agents);
        let call = agents.call_list_agents(&mut self.running.store, organization_id);
        Ok(self.running.computing.count(call).await?)
    }

    /// `calls.make-call`
    pub async fn make_call(&mut self, request: &CallRequest) -> Called<StartedCall> {
        let calls = exports!(self, calls);
        let call = calls.call_make_call(&mut self.running.store, request);
        Ok(self.running.computing.count(call).await?)
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(&mut self, task_id: &str) -> Called<Vec<CallDetails>> {
        let calls = exports!(self, calls);
        let call = calls.call_get_call_details(&mut self.running.store, task_id);
        Ok(self.running.computing.count(call).await?)
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &mut self,
        task_id: &str,
        options: WaitOptions,
    ) -> Called<CallDetailsWait> {
        let calls = exports!(self, calls);
        let call = calls.call_wait_for_call_details(&mut self.running.store, task_id, options);
        Ok(self.running.computing.count(call).await?)
    }

    /// `dockets.create-docket`
    pub async fn create_docket(&mut self, request: &DocketRequest) -> Called<CreatedDocket> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_create_docket(&mut self.running.store, request);
        Ok(self.running.computing.count(call).await?)
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(&mut self, request: &DocketRequestV2) -> Called<CreatedDocketV2> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_create_docket_v2(&mut self.running.store, request);
        Ok(self.running.computing.count(call).await?)
    }

    /// `dockets.get-docket`
    pub async fn get_docket(&mut self, docket_id: &str) -> Called<Docket> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_get_docket(&mut self.running.store, docket_id);
        Ok(self.running.computing.count(call).await?)
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &mut self,
        docket_id: &str,
        options: WaitOptions,
    ) -> Called<DocketWait> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_wait_for_docket(&mut self.running.store, docket_id, options);
        Ok(self.running.computing.count(call).await?)
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &mut self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
    ) -> Called<Vec<Result<CreatedDocketV2, RequestError>>> {
        let bulk = exports!(self, bulk);
        let call = bulk.call_create_dockets_v2(&mut self.running.store, requests, timeout_ms);
        Ok(self.running.computing.count(call).await?)
    }

    /// `webhooks.parse-docket-completed`
    pub async fn parse_docket_completed(&mut self, body: &[u8]) -> Called<Option<DocketCompleted>> {
        let webhooks = exports!(self, webhooks);
        let call = webhooks.call_parse_docket_completed(&mut self.running.store, body);
        Ok(self.running.computing.count(call).await?)
    }
}
