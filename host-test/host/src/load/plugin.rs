//! A component with our WIT, loaded into wasmtime and called with types.

use crate::calls::batch::{CREATE_DOCKETS_V2, DocketResult};
use crate::client::Client;
use crate::client::lone::LoneClient;
use crate::client::machine::StepsGuest;
use crate::guest::in_flight::{LoneCall, alive};
use crate::guest::settings::InstanceSettings;
use crate::load::cache::Origin;
use crate::load::interface::{exported_interface, package};
use crate::load::kind::GuestKind;
use crate::load::sandbox::{Loading, Running, Sandbox};
use crate::network::outgoing::Outgoing;
use anyhow::{Result, bail};
use bindings::voice_calling::client::types::*;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::{ComponentExportIndex, TypedFunc};
use wasmtime::error::Context;

/// What `bindgen!` makes of the types.
#[allow(missing_docs, clippy::all)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "types-only",
        additional_derives: [Clone, PartialEq, serde::Serialize, serde::Deserialize],
    });
}

/// The records of the WIT package.
pub use bindings::voice_calling::client::types;

/// A component that was compiled and linked, ready to be instantiated.
#[derive(Clone)]
pub struct Plugin(Form);

#[derive(Clone)]
enum Form {
    /// It does its I/O itself.
    Wasi {
        sandbox: Sandbox,
        places: Arc<Places>,
    },
    Steps(StepsGuest),
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
                "cannot read the component {} (`cargo xtask build` builds it)",
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
        let kind = GuestKind::of(wasm);
        let form = match kind {
            GuestKind::V0_2 | GuestKind::V0_3 => {
                let sandbox = Sandbox::compile(wasm, loading)?;
                let places = Places::find(&sandbox).with_context(|| {
                    let package = package(kind);
                    format!("the component does not export the world `plugin` of {package}")
                })?;
                Form::Wasi {
                    sandbox,
                    places: Arc::new(places),
                }
            }
            GuestKind::Steps => Form::Steps(StepsGuest::compile(wasm, loading)?),
        };
        Ok(Self(form))
    }

    /// Whether it was compiled, and why, or read from a cache.
    pub fn origin(&self) -> &Origin {
        match &self.0 {
            Form::Wasi { sandbox, .. } => sandbox.origin(),
            Form::Steps(guest) => guest.origin(),
        }
    }

    /// Of which kind it is.
    pub fn kind(&self) -> GuestKind {
        match &self.0 {
            Form::Wasi { sandbox, .. } => sandbox.kind(),
            Form::Steps(_) => GuestKind::Steps,
        }
    }

    /// A client of its own, for any number of calls at the same time.
    ///
    /// # Errors
    ///
    /// If the component does its I/O itself, through WASI: use [`Plugin::instantiate`], or the
    /// component for steps. A problem with the settings is an error of each call.
    pub fn client(&self, settings: InstanceSettings) -> Result<Client> {
        match &self.0 {
            Form::Steps(guest) => Client::new(guest, settings),
            Form::Wasi { sandbox, .. } => bail!(
                "the component is for {}, but a client needs the one for {} \
                 (voice-calling-steps.wasm)",
                sandbox.kind(),
                GuestKind::Steps
            ),
        }
    }

    /// A fresh instance, with nothing of any other in it.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Instance> {
        Ok(Instance(match &self.0 {
            Form::Wasi { .. } => {
                Hosted::OnWasi(Box::new(self.instantiate_on_wasi(settings).await?))
            }
            Form::Steps(_) => {
                let stderr = settings.stderr.clone();
                Hosted::BySteps(LoneClient::of(self.client(settings)?, stderr))
            }
        }))
    }

    /// The same of a component that does its I/O itself.
    pub(crate) async fn instantiate_on_wasi(&self, settings: InstanceSettings) -> Result<OnWasi> {
        match &self.0 {
            Form::Wasi { sandbox, places } => Ok(OnWasi {
                running: sandbox.instantiate(settings).await?,
                places: places.clone(),
                functions: Functions::default(),
            }),
            Form::Steps(_) => bail!("a component for steps does not run by itself"),
        }
    }
}

/// An instance of a plugin, which is given one call after the other. The outer result of
/// a call is the host's (a trap), the inner one the component's.
///
/// A call that traps, or whose future is dropped, ends the instance and the requests that it
/// has open, as [`Running`] says; of creates among them a warning in the log says how many.
pub struct Instance(pub(crate) Hosted);

pub(crate) enum Hosted {
    OnWasi(Box<OnWasi>),
    BySteps(LoneClient),
}

/// An instance that does its I/O itself.
pub(crate) struct OnWasi {
    pub(crate) running: Running,
    pub(crate) places: Arc<Places>,
    functions: Functions,
}

impl Instance {
    /// Gives it another way out, from now on. One that has ended needs none.
    pub fn set_outgoing(&mut self, outgoing: Outgoing) {
        match &mut self.0 {
            Hosted::OnWasi(it) => it.running.set_outgoing(outgoing),
            Hosted::BySteps(it) => it.set_outgoing(outgoing),
        }
    }

    /// What it wrote to its log, where that is kept ([`crate::Stderr::kept`]); else nothing.
    pub fn stderr(&self) -> String {
        match &self.0 {
            Hosted::OnWasi(it) => it.running.stderr(),
            Hosted::BySteps(it) => it.stderr(),
        }
    }

    /// How many calls it was given.
    pub fn calls(&self) -> u32 {
        match &self.0 {
            Hosted::OnWasi(it) => it.running.calls(),
            Hosted::BySteps(it) => it.calls(),
        }
    }

    /// Whether it can be given calls: every one returned, none trapped or was dropped.
    pub fn is_sound(&self) -> bool {
        match &self.0 {
            Hosted::OnWasi(it) => it.running.is_sound(),
            Hosted::BySteps(it) => it.is_sound(),
        }
    }

    /// How large its linear memories are. They never shrink, so that this is also the
    /// most that it ever used.
    pub fn memory_bytes(&self) -> usize {
        match &self.0 {
            Hosted::OnWasi(it) => it.running.memory_bytes(),
            Hosted::BySteps(it) => it.memory_bytes(),
        }
    }

    /// `bulk.create-dockets-v2`. If the instance ends in the middle, the results that a component
    /// for WASI 0.3 had handed over are in the error: [`crate::UnfinishedBatch`]. One for steps
    /// reports what is known of each request, as [`Client::create_dockets_v2`] says.
    pub async fn create_dockets_v2(
        &mut self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<Vec<DocketResult>> {
        match &mut self.0 {
            Hosted::OnWasi(it) => it.create_dockets_v2(requests, timeout_ms, options).await,
            Hosted::BySteps(it) => {
                it.call(async |client| {
                    client
                        .create_dockets_v2(requests, timeout_ms, options)
                        .await
                })
                .await
            }
        }
    }
}

/// Where a function is in a component.
fn place(sandbox: &Sandbox, name: &str) -> wasmtime::Result<ComponentExportIndex> {
    let component = sandbox.pre.component();
    let (interface, function) = name.split_once('.').context("a name without a dot")?;
    let interface = exported_interface(sandbox.kind(), interface);
    let found = component
        .get_export_index(None, &interface)
        .with_context(|| format!("no exported interface `{interface}`"))?;
    component
        .get_export_index(Some(&found), function)
        .with_context(|| format!("no function `{function}` in `{interface}`"))
}

pub(crate) type Called<T> = Result<Result<T, RequestError>>;

/// Passes on a list of all functions of the world but that of batches, which is not the same on
/// both WASIs: name, name in the WIT, arguments as they are given and as they are taken, and what
/// is returned.
macro_rules! with_functions {
    ($what:ident) => {
        $what! {
            create_agent = "agents.create-agent" (
                config: &AgentConfig as AgentConfig,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> CreatedAgent;
            list_agents = "agents.list-agents" (
                organization_id: &str as String,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> AgentList;
            make_call = "calls.make-call" (
                request: &CallRequest as CallRequest,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> StartedCall;
            get_call_details = "calls.get-call-details" (
                task_id: &str as String,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> CallDetailsList;
            wait_for_call_details = "calls.wait-for-call-details" (
                task_id: &str as String,
                wait: WaitOptions as WaitOptions,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> CallDetailsWait;
            create_docket = "dockets.create-docket" (
                request: &DocketRequest as DocketRequest,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> CreatedDocket;
            create_docket_v2 = "dockets.create-docket-v2" (
                request: &DocketRequestV2 as DocketRequestV2,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> CreatedDocketV2;
            get_docket = "dockets.get-docket" (
                docket_id: &str as String,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> Docket;
            wait_for_docket = "dockets.wait-for-docket" (
                docket_id: &str as String,
                wait: WaitOptions as WaitOptions,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> DocketWait;
            parse_docket_completed = "webhooks.parse-docket-completed" (body: &str as String)
                -> Option<DocketCompleted>;
            verify_docket_completed = "webhooks.verify-docket-completed" (
                body: &str as String,
                options: Option<CallOptions> as Option<CallOptions>
            ) -> Verification;
        }
    };
}
#[cfg(feature = "wasi-0-3")]
pub(crate) use with_functions;

/// What an instance has for each function.
macro_rules! functions {
    ($($name:ident = $full_name:literal ($($argument:ident: $given:ty as $taken:ty),*) -> $returned:ty;)+) => {
        /// Where each function is in a component.
        pub(crate) struct Places {
            $(pub(crate) $name: ComponentExportIndex,)+
            pub(crate) create_dockets_v2: ComponentExportIndex,
        }

        impl Places {
            fn find(sandbox: &Sandbox) -> wasmtime::Result<Self> {
                Ok(Self {
                    $($name: place(sandbox, $full_name)?,)+
                    create_dockets_v2: place(sandbox, CREATE_DOCKETS_V2)?,
                })
            }
        }

        /// The functions of an instance, each looked at (types and all) when it is called for
        /// the first time: many instances are made for a single call.
        #[derive(Default)]
        struct Functions {
            $($name: Option<TypedFunc<($($taken,)*), (Result<$returned, RequestError>,)>>,)+
        }

        impl Instance {
            $(
                #[doc = concat!("`", $full_name, "`")]
                pub async fn $name(&mut self, $($argument: $given),*) -> Called<$returned> {
                    match &mut self.0 {
                        Hosted::OnWasi(it) => it.$name($($argument),*).await,
                        Hosted::BySteps(it) => {
                            it.call(async |client| client.$name($($argument),*).await).await
                        }
                    }
                }
            )+
        }

        impl OnWasi {
            $(
                async fn $name(&mut self, $($argument: $given),*) -> Called<$returned> {
                    let Running { store, instance, computing, .. } = &mut self.running;
                    let function = match self.functions.$name {
                        Some(function) => function,
                        None => instance.get_typed_func(alive(store)?, self.places.$name)?,
                    };
                    self.functions.$name = Some(function);
                    let mut call = LoneCall::begin(store, $full_name)?;
                    let returning =
                        function.call_async(&mut call.store, ($($argument.to_owned(),)*));
                    let returned = computing.count(returning).await;
                    let (returned,) = call.end(returned)?;
                    Ok(returned)
                }
            )+
        }
    };
}

with_functions!(functions);
