//! Runs a component of any world: it is compiled, linked to the interfaces in `capabilities` and to
//! nothing else, and run within its limits.

use crate::guest::call::CallGuard;
use crate::guest::capabilities::{self, Guest};
use crate::guest::limits::{CpuBudget, HANDLES, spawn_epoch_ticker};
use crate::guest::settings::{InstanceSettings, Stderr};
use crate::load::allocation::Allocation;
use crate::load::kind::GuestKind;
use anyhow::{Result, ensure};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmparser::Parser;
use wasmtime::component::{Component, Instance as ComponentInstance, InstancePre, Linker};
use wasmtime::error::Context;
use wasmtime::{Cache, Config, Engine, Store};

/// A compiled and linked component of any world, ready to be instantiated. It has an environment,
/// stderr, clocks, random numbers and HTTP within its reach. A [`crate::Plugin`] needs
/// nothing else, nor does a composition of a plugin with guests that import only these.
#[derive(Clone)]
pub struct Sandbox {
    pub(crate) pre: InstancePre<Guest>,
    kind: GuestKind,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sandbox")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// How a component is loaded. By default it is compiled each time.
#[derive(Clone, Debug, Default)]
pub struct Loading {
    /// The allocation of memory for its instances.
    pub allocation: Allocation,
    /// The cache of compiled components.
    pub cache: Option<Cache>,
}

impl Sandbox {
    /// Compiles the component in a file and checks that it imports only interfaces that the harness
    /// provides.
    pub fn load(path: &Path, loading: &Loading) -> Result<Self> {
        load_file(path, |wasm| Self::compile(wasm, loading))
    }

    /// Compiles a component in memory, like [`Sandbox::load`].
    pub fn compile(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let kind = GuestKind::of(wasm);
        let component = compile(wasm, kind, loading)?;
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

    /// Returns the kind of the component.
    pub fn kind(&self) -> GuestKind {
        self.kind
    }

    /// Returns the names of its imports, such as `wasi:http/outgoing-handler@0.2.12`.
    pub fn imports(&self) -> Vec<String> {
        let ty = self.pre.component().component_type();
        let imports = ty.imports(self.pre.engine());
        imports.map(|(name, _)| name.to_owned()).collect()
    }

    /// Returns the names of its exports, such as `voice-calling:client/agents@0.2.0`.
    pub fn exports(&self) -> Vec<String> {
        let ty = self.pre.component().component_type();
        let exports = ty.exports(self.pre.engine());
        exports.map(|(name, _)| name.to_owned()).collect()
    }

    /// Creates a new instance, which shares nothing with others.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<SandboxInstance> {
        let stderr = settings.stderr.clone();
        let cpu_budget = CpuBudget::new(settings.limits);
        let mut store = Store::new(self.pre.engine(), Guest::new(settings));
        store.limiter(Guest::memory_limiter);
        store.set_max_component_handles(HANDLES);
        store.set_epoch_deadline(1);
        let watched = cpu_budget.clone();
        store.epoch_deadline_callback(move |_| watched.on_epoch());
        let memory_bytes = store.data().memory_bytes();
        let instance = cpu_budget
            .measure(self.pre.instantiate_async(&mut store))
            .await?;
        Ok(SandboxInstance {
            store: Some(store),
            instance,
            stderr,
            cpu_budget,
            memory_bytes,
        })
    }
}

/// Loads the component in a file; the error names the file.
pub(crate) fn load_file<T>(path: &Path, load: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let wasm = std::fs::read(path).with_context(|| {
        format!(
            "cannot read the component {} (`cargo xtask build` builds it)",
            path.display()
        )
    })?;
    load(&wasm).map_err(|error| error.context(format!("cannot load {}", path.display())))
}

/// Compiles a component for its own engine, which checks its guests.
fn compile(wasm: &[u8], kind: GuestKind, loading: &Loading) -> Result<Component> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    // The support for async functions makes each call slower.
    config.concurrency_support(kind == GuestKind::V0_3);
    loading.allocation.apply(&mut config, kind);
    config.cache(loading.cache.clone());
    let engine = Engine::new(&config)?;
    spawn_epoch_ticker(&engine)?;
    ensure!(
        !Parser::is_core_wasm(wasm),
        "a core module, not a component: `wasm-tools component new` makes one of it"
    );
    Ok(Component::new(&engine, wasm).context("not a component")?)
}

/// An instance in a sandbox, which has one call at a time.
///
/// A call that traps, or whose future is dropped, ends the instance: its open requests end at that
/// moment (their connections are closed), it begins no others, and later calls return an error. If
/// the call had begun creates, its caller does not know whether they were processed, and a warning
/// in the log says how many there are.
pub struct SandboxInstance {
    /// `None` during a call, and after one trapped or was dropped: everything that the guest had
    /// open goes with it.
    store: Option<Store<Guest>>,
    instance: ComponentInstance,
    cpu_budget: CpuBudget,
    stderr: Stderr,
    memory_bytes: Arc<AtomicUsize>,
}

impl fmt::Debug for SandboxInstance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SandboxInstance")
            .field("guest", &self.store.as_ref().map(Store::data))
            .field("stderr", &self.stderr)
            .finish_non_exhaustive()
    }
}

impl SandboxInstance {
    /// Calls an export within the instance's limits, through bindings of the caller
    /// (`wasmtime::component::bindgen!` with async exports). The error is the host's: a trap, a
    /// limit, a missing export. It ends the instance.
    pub async fn call<T>(
        &mut self,
        export: impl AsyncFnOnce(&mut Store<Guest>, &ComponentInstance) -> wasmtime::Result<T>,
    ) -> Result<T> {
        self.call_named("a function of a sandbox", export).await
    }

    /// Calls an export, which has this name in the log.
    pub(crate) async fn call_named<T>(
        &mut self,
        function: &str,
        export: impl AsyncFnOnce(&mut Store<Guest>, &ComponentInstance) -> wasmtime::Result<T>,
    ) -> Result<T> {
        let ended = "the instance has ended: one of its calls trapped or was dropped";
        let mut store = self.store.take().context(ended)?;
        let guard = CallGuard::begin(function, &mut store);
        let returning = export(&mut store, &self.instance);
        let returned = self.cpu_budget.measure(returning).await;
        if returned.is_ok() {
            guard.complete();
            self.store = Some(store);
        }
        Ok(returned?)
    }

    /// Returns its stderr if that is kept ([`Stderr::kept`]), and an empty text otherwise.
    pub fn stderr(&self) -> String {
        self.stderr.contents()
    }

    /// Returns `true` if it can serve calls: none trapped or was dropped.
    pub fn is_alive(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the size of its linear memories. They never shrink, so that this is also the largest
    /// size that they ever had.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }
}
