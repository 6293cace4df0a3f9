//! A component with our WIT, loaded into wasmtime and called with typed bindings.

use crate::capabilities::{Guest, link};
use crate::limits::{Computing, Limits, look_after_guests};
use crate::outgoing::Outgoing;
use anyhow::Result;
use bindings::voice_calling::client::types::*;
use std::path::Path;
use wasmtime::component::{Component, Instance as ComponentInstance, InstancePre, Linker};
use wasmtime::error::Context;
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

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
    pre: InstancePre<Guest>,
}

impl Plugin {
    /// Compiles the component in a file and checks that it exports our world and
    /// imports no more than the harness gives.
    pub fn load(path: &Path) -> Result<Self> {
        let wasm = std::fs::read(path).with_context(|| {
            format!(
                "cannot read the component {} (`cargo xtask build` makes it)",
                path.display()
            )
        })?;
        Self::compile(&wasm)
            .map_err(|error| error.context(format!("cannot load {}", path.display())))
    }

    /// As [`Plugin::load`], from memory.
    pub fn compile(wasm: &[u8]) -> Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config)?;
        look_after_guests(&engine)?;
        let component = Component::new(&engine, wasm).context("no component")?;
        let mut linker = Linker::new(&engine);
        link(&mut linker)?;
        let pre = linker
            .instantiate_pre(&component)
            .context("the component imports what the harness does not give")?;
        bindings::PluginPre::new(pre.clone())
            .context("the component does not export the world `plugin` of voice-calling:client")?;
        Ok(Self { pre })
    }

    /// A fresh instance, with nothing of any other in it.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Instance> {
        let stderr = settings.stderr.clone();
        let computing = Computing::new(settings.limits);
        let mut store = Store::new(self.pre.engine(), Guest::new(settings));
        store.limiter(Guest::memory_limiter);
        store.set_epoch_deadline(1);
        let watched = computing.clone();
        store.epoch_deadline_callback(move |_| watched.go_on());
        let instance = computing
            .count(self.pre.instantiate_async(&mut store))
            .await?;
        let exports = bindings::Plugin::new(&mut store, &instance)?;
        Ok(Instance {
            store,
            instance,
            exports,
            stderr,
            computing,
        })
    }
}

/// What an instance gets from outside.
pub struct InstanceSettings {
    /// Its environment variables, all of them.
    pub environment: Vec<(String, String)>,
    /// Its way out.
    pub outgoing: Outgoing,
    /// Where its jitter comes from; none is the machine's randomness. The bytes
    /// are repeated: `[0]` makes every pause as short as it can be, `[255]` has
    /// every bit set.
    pub randomness: Option<Vec<u8>>,
    /// The date at its beginning, since 1970; none is the machine's.
    pub date: Option<std::time::Duration>,
    /// Where its stderr goes.
    pub stderr: Stderr,
    /// What it may use up.
    pub limits: Limits,
}

impl InstanceSettings {
    /// An environment and a way out; the rest is as usual.
    pub fn new<N: Into<String>, V: Into<String>>(
        environment: impl IntoIterator<Item = (N, V)>,
        outgoing: Outgoing,
    ) -> Self {
        let variable = |(name, value): (N, V)| (name.into(), value.into());
        Self {
            environment: environment.into_iter().map(variable).collect(),
            outgoing,
            randomness: None,
            date: None,
            stderr: Stderr::default(),
            limits: Limits::default(),
        }
    }
}

/// Where a guest's stderr goes.
#[derive(Clone)]
pub enum Stderr {
    /// To the harness's own, line by line and without the token.
    Inherited,
    /// Into memory.
    Kept(MemoryOutputPipe),
}

impl Default for Stderr {
    fn default() -> Self {
        Stderr::Kept(MemoryOutputPipe::new(1 << 20))
    }
}

/// An instance of a plugin. The outer result of a call is the host's (a trap), the
/// inner one the component's.
pub struct Instance {
    pub(crate) store: Store<Guest>,
    pub(crate) instance: ComponentInstance,
    exports: bindings::Plugin,
    stderr: Stderr,
    pub(crate) computing: Computing,
}

type Called<T> = Result<Result<T, RequestError>>;

impl Instance {
    /// What it wrote to stderr, where that is kept.
    pub fn stderr(&self) -> String {
        match &self.stderr {
            Stderr::Inherited => String::new(),
            Stderr::Kept(pipe) => String::from_utf8_lossy(&pipe.contents()).into_owned(),
        }
    }

    /// How large its linear memories are. They never shrink, so that this is also the
    /// most that it ever used.
    pub fn memory_bytes(&self) -> usize {
        self.store.data().memory_bytes()
    }

    /// `agents.create-agent`
    pub async fn create_agent(&mut self, config: &AgentConfig) -> Called<CreatedAgent> {
        let agents = self.exports.voice_calling_client_agents();
        let call = agents.call_create_agent(&mut self.store, config);
        Ok(self.computing.count(call).await?)
    }

    /// `agents.list-agents`
    pub async fn list_agents(&mut self, organization_id: &str) -> Called<Vec<AgentSummary>> {
        let agents = self.exports.voice_calling_client_agents();
        let call = agents.call_list_agents(&mut self.store, organization_id);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.make-call`
    pub async fn make_call(&mut self, request: &CallRequest) -> Called<StartedCall> {
        let calls = self.exports.voice_calling_client_calls();
        let call = calls.call_make_call(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(&mut self, task_id: &str) -> Called<Vec<CallDetails>> {
        let calls = self.exports.voice_calling_client_calls();
        let call = calls.call_get_call_details(&mut self.store, task_id);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &mut self,
        task_id: &str,
        options: WaitOptions,
    ) -> Called<CallDetailsWait> {
        let calls = self.exports.voice_calling_client_calls();
        let call = calls.call_wait_for_call_details(&mut self.store, task_id, options);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.create-docket`
    pub async fn create_docket(&mut self, request: &DocketRequest) -> Called<CreatedDocket> {
        let dockets = self.exports.voice_calling_client_dockets();
        let call = dockets.call_create_docket(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(&mut self, request: &DocketRequestV2) -> Called<CreatedDocketV2> {
        let dockets = self.exports.voice_calling_client_dockets();
        let call = dockets.call_create_docket_v2(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.get-docket`
    pub async fn get_docket(&mut self, docket_id: &str) -> Called<Docket> {
        let dockets = self.exports.voice_calling_client_dockets();
        let call = dockets.call_get_docket(&mut self.store, docket_id);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &mut self,
        docket_id: &str,
        options: WaitOptions,
    ) -> Called<DocketWait> {
        let dockets = self.exports.voice_calling_client_dockets();
        let call = dockets.call_wait_for_docket(&mut self.store, docket_id, options);
        Ok(self.computing.count(call).await?)
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &mut self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
    ) -> Called<Vec<Result<CreatedDocketV2, RequestError>>> {
        let bulk = self.exports.voice_calling_client_bulk();
        let call = bulk.call_create_dockets_v2(&mut self.store, requests, timeout_ms);
        Ok(self.computing.count(call).await?)
    }

    /// `webhooks.parse-docket-completed`
    pub async fn parse_docket_completed(&mut self, body: &[u8]) -> Called<Option<DocketCompleted>> {
        let webhooks = self.exports.voice_calling_client_webhooks();
        let call = webhooks.call_parse_docket_completed(&mut self.store, body);
        Ok(self.computing.count(call).await?)
    }
}
