//! A component of any world in the host that the harness is: compiled, linked to what
//! is in `capabilities` and to nothing else, and run within its limits.

use crate::guest::call::Caller;
use crate::guest::capabilities::{self, Guest};
use crate::guest::limits::{Computing, HANDLES, MemoryBytes, look_after_guests};
use crate::guest::settings::{InstanceSettings, Stderr};
use crate::load::allocation::Allocation;
use crate::load::cache::CompiledCache;
use crate::load::kind::GuestKind;
use crate::network::outgoing::Outgoing;
use anyhow::Result;
use std::path::Path;
use wasmtime::component::{Component, Instance as ComponentInstance, InstancePre, Linker};
use wasmtime::error::Context;
use wasmtime::{Config, Engine, Store};

/// A component of any world that was compiled and linked, ready to be instantiated. It
/// gets an environment, stderr, clocks, a little randomness and HTTP to what it may reach:
/// what a [`crate::Plugin`] needs, and therefore also a composition of a plugin and
/// guests that import nothing else.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) pre: InstancePre<Guest>,
    kind: GuestKind,
}

/// How a component is compiled. The default is to compile it each time.
#[derive(Clone, Debug, Default)]
pub struct Loading {
    /// Where the memory of its instances comes from.
    pub allocation: Allocation,
    /// Where it is read from if it was compiled before, and kept if it was not.
    pub cache: Option<CompiledCache>,
}

impl Sandbox {
    /// Compiles the component in a file and checks that it imports no more than the
    /// harness gives.
    pub fn load(path: &Path, loading: &Loading) -> Result<Self> {
        read_and(path, |wasm| Self::compile(wasm, loading))
    }

    /// As [`Sandbox::load`], from memory.
    pub fn compile(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let kind = GuestKind::of(wasm);
        let component = compiled(wasm, kind, loading)?;
        let mut linker = Linker::new(component.engine());
        capabilities::link_v0_2(&mut linker)?;
        if kind == GuestKind::V0_3 {
            capabilities::link_v0_3(&mut linker)?;
        }
        let pre = linker
            .instantiate_pre(&component)
            .context("the component imports something that this host does not provide")?;
        Ok(Self { pre, kind })
    }

    /// Of which kind it is.
    pub fn kind(&self) -> GuestKind {
        self.kind
    }

    /// What it imports, by name: `wasi:http/outgoing-handler@0.2.12`, or the like.
    pub fn imports(&self) -> Vec<String> {
        let ty = self.pre.component().component_type();
        let imports = ty.imports(self.pre.engine());
        imports.map(|(name, _)| name.to_owned()).collect()
    }

    /// A fresh instance, with nothing of any other in it.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Running> {
        let stderr = settings.stderr.clone();
        let computing = Computing::new(settings.limits);
        let mut store = Store::new(self.pre.engine(), Guest::new(settings));
        store.limiter(Guest::memory_limiter);
        store.set_max_component_handles(HANDLES);
        store.set_epoch_deadline(1);
        let watched = computing.clone();
        store.epoch_deadline_callback(move |_| watched.go_on());
        let memory = store.data().memory_bytes().clone();
        let instance = computing
            .count(self.pre.instantiate_async(&mut store))
            .await?;
        Ok(Running {
            store: Some(store),
            instance,
            stderr,
            computing,
            memory,
        })
    }
}

/// What is made of the component in a file; the error names the file.
pub(crate) fn read_and<T>(path: &Path, load: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let wasm = std::fs::read(path).with_context(|| {
        format!(
            "cannot read the component {} (`cargo xtask build` builds it)",
            path.display()
        )
    })?;
    load(&wasm).map_err(|error| error.context(format!("cannot load {}", path.display())))
}

/// Compiles a component for an engine of its own, which looks after its guests.
fn compiled(wasm: &[u8], kind: GuestKind, loading: &Loading) -> Result<Component> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    // What async functions need costs each call something.
    config.concurrency_support(kind == GuestKind::V0_3);
    loading.allocation.apply(&mut config, kind);
    let engine = Engine::new(&config)?;
    look_after_guests(&engine)?;
    let compiled = match &loading.cache {
        Some(cache) => cache.component(&engine, wasm),
        None => Component::new(&engine, wasm),
    };
    Ok(compiled.context("not a component")?)
}

/// An instance in a sandbox, which has one call at a time.
///
/// A call that traps, or whose future is dropped, ends the instance: the requests that it has
/// open end at that moment (their connections are closed, with HTTP/2 their streams), it begins
/// no others, and later calls return an error. If a dropped call had begun creates, its caller
/// does not know whether they were processed, and a warning in the log says how many there are.
pub struct Running {
    /// None during a call, and once one trapped or was dropped: with it goes all that the
    /// guest had open.
    store: Option<Store<Guest>>,
    instance: ComponentInstance,
    computing: Computing,
    stderr: Stderr,
    memory: MemoryBytes,
}

impl Running {
    /// Calls an export within the instance's limits, by bindings of the caller's own
    /// (`wasmtime::component::bindgen!` with async exports). The error is the host's: a trap,
    /// a limit, an export that is not there. It ends the instance.
    pub async fn call<T>(
        &mut self,
        export: impl AsyncFnOnce(&mut Store<Guest>, &ComponentInstance) -> wasmtime::Result<T>,
    ) -> Result<T> {
        self.call_named("a function of a sandbox", export).await
    }

    /// The same for a function that the log calls by this name.
    pub(crate) async fn call_named<T>(
        &mut self,
        function: &str,
        export: impl AsyncFnOnce(&mut Store<Guest>, &ComponentInstance) -> wasmtime::Result<T>,
    ) -> Result<T> {
        let ended = "the instance has ended: one of its calls trapped or was dropped";
        let mut store = self.store.take().context(ended)?;
        let caller = Caller::begin(function, &mut store);
        let returning = export(&mut store, &self.instance);
        let returned = self.computing.count(returning).await;
        caller.has_heard();
        if returned.is_ok() {
            self.store = Some(store);
        }
        Ok(returned?)
    }

    /// What it wrote to stderr, where that is kept ([`Stderr::kept`]); else nothing.
    pub fn stderr(&self) -> String {
        self.stderr.contents()
    }

    /// Gives it another way out, from now on. One that has ended needs none.
    pub fn set_outgoing(&mut self, outgoing: Outgoing) {
        if let Some(store) = &mut self.store {
            store.data_mut().set_outgoing(outgoing);
        }
    }

    /// Returns `true` if it can be given calls: none trapped or was dropped.
    pub fn is_sound(&self) -> bool {
        self.store.is_some()
    }

    /// How large its linear memories are. They never shrink, so that this is also the
    /// most that it ever used.
    pub fn memory_bytes(&self) -> usize {
        self.memory.get()
    }
}
