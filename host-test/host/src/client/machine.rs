//! The guest without imports: compiled, and an instance of it.

use super::bindings::{Event, Random, Stepped};
use crate::guest::limits::{Limits, Memory, MemoryBytes, StepComputing};
use crate::load::cache::Origin;
use crate::load::interface::exported_interface;
use crate::load::kind::GuestKind;
use crate::load::plugin::types::{DocketCompleted, RequestError};
use crate::load::sandbox::{Compiled, Loading};
use anyhow::{Result, bail};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, TypedFunc};
use wasmtime::error::Context;
use wasmtime::{Result as WasmtimeResult, Store};

/// The component, compiled. It imports nothing: nothing is linked to it.
#[derive(Clone)]
pub(crate) struct StepsGuest {
    pre: InstancePre<Resources>,
    configure: ComponentExportIndex,
    step: ComponentExportIndex,
    parse_docket_completed: ComponentExportIndex,
    origin: Origin,
}

/// What an instance has of the host: nothing but what it uses up.
struct Resources {
    memory: Memory,
}

impl StepsGuest {
    /// Compiles the component.
    pub(crate) fn compile(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let Compiled {
            engine,
            component,
            origin,
        } = Compiled::new(wasm, GuestKind::Steps, loading)?;
        let pre = Linker::new(&engine)
            .instantiate_pre(&component)
            .context("a component of steps imports nothing")?;
        Ok(Self {
            configure: place(&component, "configure")?,
            step: place(&component, "step")?,
            parse_docket_completed: place(&component, "parse-docket-completed")?,
            pre,
            origin,
        })
    }

    /// The type of a function.
    pub(crate) fn function(&self, name: &str) -> Result<ComponentFunc> {
        let engine = self.pre.engine();
        let component = self.pre.component().component_type();
        let exported = component.get_export(engine, &interface());
        let function = match exported.map(|exported| exported.ty) {
            Some(ComponentItem::ComponentInstance(exported)) => {
                let function = exported.get_export(engine, name);
                function.map(|function| function.ty)
            }
            _ => None,
        };
        match function {
            Some(ComponentItem::ComponentFunc(function)) => Ok(function),
            _ => bail!("no function `{name}` in `{}`", interface()),
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// An instance with these settings. A problem with them is an error of every call.
    pub(crate) fn instantiate(
        &self,
        environment: &[(String, String)],
        random: Random,
        limits: Limits,
    ) -> Result<Machine> {
        let memory = Memory::new(limits);
        let memory_bytes = memory.bytes().clone();
        let computing = StepComputing::new(limits);
        let mut store = Store::new(self.pre.engine(), Resources { memory });
        store.limiter(|resources| &mut resources.memory);
        let watched = computing.clone();
        store.epoch_deadline_callback(move |_| watched.go_on());
        let mut bounded = Bounded { store, computing };
        let instance = bounded.call(|store| self.pre.instantiate(store))?;
        let store = &mut bounded.store;
        let configure: Configure = instance.get_typed_func(&mut *store, self.configure)?;
        let step = instance.get_typed_func(&mut *store, self.step)?;
        let parse_docket_completed =
            instance.get_typed_func(&mut *store, self.parse_docket_completed)?;
        let (configured,) = bounded.call(|store| configure.call(store, (environment, random)))?;
        Ok(Machine {
            bounded,
            step,
            parse_docket_completed,
            configured,
            memory_bytes,
        })
    }
}

type Configure<'a> = TypedFunc<(&'a [(String, String)], Random), (Result<(), RequestError>,)>;

/// The interface that has the functions.
fn interface() -> String {
    exported_interface(GuestKind::Steps, "steps")
}

/// Where a function is in the component.
fn place(component: &Component, function: &str) -> Result<ComponentExportIndex> {
    let interface = interface();
    let found = component
        .get_export_index(None, &interface)
        .with_context(|| format!("no exported interface `{interface}`"))?;
    let function = component
        .get_export_index(Some(&found), function)
        .with_context(|| format!("no function `{function}` in `{interface}`"))?;
    Ok(function)
}

/// A store whose guest computes within its limits.
struct Bounded {
    store: Store<Resources>,
    computing: StepComputing,
}

impl Bounded {
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Store<Resources>) -> WasmtimeResult<T>,
    ) -> Result<T> {
        self.computing.begin();
        self.store.set_epoch_deadline(1);
        Ok(call(&mut self.store)?)
    }
}

/// An instance. Once one of its functions has failed, it must not be used again.
pub(crate) struct Machine {
    bounded: Bounded,
    step: TypedFunc<(Vec<Event>, u64, u64), (Stepped,)>,
    parse_docket_completed: TypedFunc<(String,), (Parsed,)>,
    /// With an error it takes no events.
    pub(crate) configured: Result<(), RequestError>,
    pub(crate) memory_bytes: MemoryBytes,
}

/// What a delivery says.
pub(crate) type Parsed = Result<Option<DocketCompleted>, RequestError>;

impl Machine {
    pub(crate) fn step(&mut self, events: Vec<Event>, now_ms: u64, unix_s: u64) -> Result<Stepped> {
        let Self { bounded, step, .. } = self;
        let (stepped,) = bounded.call(|store| step.call(store, (events, now_ms, unix_s)))?;
        Ok(stepped)
    }

    pub(crate) fn parse_docket_completed(&mut self, body: &str) -> Result<Parsed> {
        let parse = &self.parse_docket_completed;
        let (parsed,) = self
            .bounded
            .call(|store| parse.call(store, (body.to_owned(),)))?;
        Ok(parsed)
    }
}
