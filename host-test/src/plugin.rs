//! A component with our WIT, loaded into wasmtime and called with typed bindings.

use crate::allocation::Allocation;
use crate::cache::{CompiledCache, Origin, Reason};
use crate::capabilities::{Guest, link};
use crate::limits::{Computing, Limits, look_after_guests};
use crate::outgoing::Outgoing;
use anyhow::Result;
use bindings::exports::voice_calling::client::{agents, bulk, calls, dockets, webhooks};
use bindings::voice_calling::client::types::*;
use std::path::Path;
use std::sync::Arc;
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
    interfaces: Arc<Interfaces>,
    origin: Origin,
}

/// How a component is made into a plugin. The default is to compile it each time.
#[derive(Clone, Debug, Default)]
pub struct Loading {
    /// Where the memory of its instances comes from.
    pub allocation: Allocation,
    /// Where it is read from if it was compiled before, and kept if it was not.
    pub cache: Option<CompiledCache>,
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
        let mut config = Config::new();
        config.epoch_interruption(true);
        loading.allocation.apply(&mut config);
        let engine = Engine::new(&config)?;
        look_after_guests(&engine)?;
        let (component, origin) = match &loading.cache {
            Some(cache) => cache.component(&engine, wasm),
            None => Component::new(&engine, wasm).map(|component| {
                let reason = Reason::NoCache;
                (component, Origin::Compiled { reason })
            }),
        }
        .context("no component")?;
        let mut linker = Linker::new(&engine);
        link(&mut linker)?;
        let pre = linker
            .instantiate_pre(&component)
            .context("the component imports what the harness does not give")?;
        let interfaces = Interfaces::new(&pre)
            .context("the component does not export the world `plugin` of voice-calling:client")?;
        Ok(Self {
            pre,
            interfaces: Arc::new(interfaces),
            origin,
        })
    }

    /// Whether it was compiled, and why, or read from a cache.
    pub fn origin(&self) -> &Origin {
        &self.origin
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
        Ok(Instance {
            store,
            instance,
            interfaces: self.interfaces.clone(),
            exports: Exports::default(),
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
    interfaces: Arc<Interfaces>,
    exports: Exports,
    stderr: Stderr,
    pub(crate) computing: Computing,
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
                empty.insert(indices.load(&mut $instance.store, &$instance.instance)?)
            }
        }
    };
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

    /// Gives it another way out, from now on.
    pub(crate) fn set_outgoing(&mut self, outgoing: Outgoing) {
        self.store.data_mut().set_outgoing(outgoing);
    }

    /// How many calls it was given.
    pub fn calls(&self) -> u32 {
        self.computing.calls().saturating_sub(1)
    }

    /// Whether every call returned. One that trapped, or was dropped in the middle, may
    /// have left anything behind.
    pub fn is_sound(&self) -> bool {
        self.computing.all_returned()
    }

    /// How large its linear memories are. They never shrink, so that this is also the
    /// most that it ever used.
    pub fn memory_bytes(&self) -> usize {
        self.store.data().memory_bytes()
    }

    /// `agents.create-agent`
    pub async fn create_agent(&mut self, config: &AgentConfig) -> Called<CreatedAgent> {
        let agents = exports!(self, agents);
        let call = agents.call_create_agent(&mut self.store, config);
        Ok(self.computing.count(call).await?)
    }

    /// `agents.list-agents`
    pub async fn list_agents(&mut self, organization_id: &str) -> Called<Vec<AgentSummary>> {
        let agents = exports!(self, agents);
        let call = agents.call_list_agents(&mut self.store, organization_id);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.make-call`
    pub async fn make_call(&mut self, request: &CallRequest) -> Called<StartedCall> {
        let calls = exports!(self, calls);
        let call = calls.call_make_call(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(&mut self, task_id: &str) -> Called<Vec<CallDetails>> {
        let calls = exports!(self, calls);
        let call = calls.call_get_call_details(&mut self.store, task_id);
        Ok(self.computing.count(call).await?)
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &mut self,
        task_id: &str,
        options: WaitOptions,
    ) -> Called<CallDetailsWait> {
        let calls = exports!(self, calls);
        let call = calls.call_wait_for_call_details(&mut self.store, task_id, options);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.create-docket`
    pub async fn create_docket(&mut self, request: &DocketRequest) -> Called<CreatedDocket> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_create_docket(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(&mut self, request: &DocketRequestV2) -> Called<CreatedDocketV2> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_create_docket_v2(&mut self.store, request);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.get-docket`
    pub async fn get_docket(&mut self, docket_id: &str) -> Called<Docket> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_get_docket(&mut self.store, docket_id);
        Ok(self.computing.count(call).await?)
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &mut self,
        docket_id: &str,
        options: WaitOptions,
    ) -> Called<DocketWait> {
        let dockets = exports!(self, dockets);
        let call = dockets.call_wait_for_docket(&mut self.store, docket_id, options);
        Ok(self.computing.count(call).await?)
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &mut self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
    ) -> Called<Vec<Result<CreatedDocketV2, RequestError>>> {
        let bulk = exports!(self, bulk);
        let call = bulk.call_create_dockets_v2(&mut self.store, requests, timeout_ms);
        Ok(self.computing.count(call).await?)
    }

    /// `webhooks.parse-docket-completed`
    pub async fn parse_docket_completed(&mut self, body: &[u8]) -> Called<Option<DocketCompleted>> {
        let webhooks = exports!(self, webhooks);
        let call = webhooks.call_parse_docket_completed(&mut self.store, body);
        Ok(self.computing.count(call).await?)
    }
}
