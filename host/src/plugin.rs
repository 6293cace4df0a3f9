//! A component with our WIT, loaded into wasmtime and called with types.

use crate::guest::settings::InstanceSettings;
use crate::load::interface::{exported_interface, package};
use crate::load::kind::GuestKind;
use crate::load::sandbox::{Loading, Running, Sandbox, read_and};
use crate::network::outgoing::Outgoing;
use crate::types::*;
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::ComponentExportIndex;
use wasmtime::error::Context;

/// A component that was compiled and linked, ready to be instantiated.
#[derive(Clone)]
pub struct Plugin {
    sandbox: Sandbox,
    places: Arc<Places>,
}

impl Plugin {
    /// Compiles the component in a file and checks that it exports our world and
    /// imports no more than the harness gives.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_with(path, &Loading::default())
    }

    /// As [`Plugin::load`], in a way that is chosen.
    pub fn load_with(path: &Path, loading: &Loading) -> Result<Self> {
        read_and(path, |wasm| Self::compile_with(wasm, loading))
    }

    /// As [`Plugin::load_with`], from memory.
    pub fn compile_with(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let sandbox = Sandbox::compile(wasm, loading)?;
        let places = Places::find(&sandbox).with_context(|| {
            let package = package(sandbox.kind());
            format!("the component does not export the world `plugin` of {package}")
        })?;
        Ok(Self {
            sandbox,
            places: Arc::new(places),
        })
    }

    /// Of which kind it is.
    pub fn kind(&self) -> GuestKind {
        self.sandbox.kind()
    }

    /// A fresh instance, with nothing of any other in it.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Instance> {
        Ok(Instance {
            running: self.sandbox.instantiate(settings).await?,
            places: self.places.clone(),
            kind: self.kind(),
        })
    }
}

/// An instance of a plugin, which is given one call after the other. The outer result of
/// a call is the host's (a trap), the inner one the component's.
///
/// A call that traps, or whose future is dropped, ends the instance and the requests that it
/// has open, as [`Running`] says; of creates among them a warning in the log says how many.
pub struct Instance {
    pub(crate) running: Running,
    places: Arc<Places>,
    pub(crate) kind: GuestKind,
}

impl Instance {
    /// Gives it another way out, from now on. One that has ended needs none.
    pub fn set_outgoing(&mut self, outgoing: Outgoing) {
        self.running.set_outgoing(outgoing);
    }

    /// What it wrote to its log, where that is kept ([`crate::Stderr::kept`]); else nothing.
    pub fn stderr(&self) -> String {
        self.running.stderr()
    }

    /// Returns `true` if it can be given calls: none trapped or was dropped.
    pub fn is_sound(&self) -> bool {
        self.running.is_sound()
    }

    /// How large its linear memories are. They never shrink, so that this is also the
    /// most that it ever used.
    pub fn memory_bytes(&self) -> usize {
        self.running.memory_bytes()
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

type Called<T> = Result<Result<T, RequestError>>;

/// Defines what an instance has for each function of the world: name, name in the WIT, arguments
/// that are borrowed (`&`) and those that are not, and what is returned.
macro_rules! functions {
    ($(
        $name:ident = $full_name:literal (
            $(&$lent:ident: $of:ty),+ $(, $given:ident: $taken:ty)*
        ) -> $returned:ty;
    )+) => {
        /// Where each function is in a component.
        struct Places {
            $($name: ComponentExportIndex,)+
        }

        impl Places {
            fn find(sandbox: &Sandbox) -> wasmtime::Result<Self> {
                Ok(Self {
                    $($name: place(sandbox, $full_name)?,)+
                })
            }
        }

        impl Instance {
            $(
                #[doc = concat!("`", $full_name, "`")]
                pub async fn $name(
                    &mut self,
                    $($lent: &$of,)+
                    $($given: $taken),*
                ) -> Called<$returned> {
                    type Arguments = ($(<$of as ToOwned>::Owned,)+ $($taken,)*);
                    type Returned = (Result<$returned, RequestError>,);
                    let Self { running, places, .. } = self;
                    let call = running.call_named($full_name, async |store, instance| {
                        let function = instance
                            .get_typed_func::<Arguments, Returned>(&mut *store, places.$name)?;
                        function.call_async(store, ($($lent.to_owned(),)+ $($given,)*)).await
                    });
                    Ok(call.await?.0)
                }
            )+
        }
    };
}

functions! {
    create_agent = "agents.create-agent" (&config: AgentConfig, options: Option<CallOptions>)
        -> CreatedAgent;
    list_agents = "agents.list-agents" (&organization_id: str, options: Option<CallOptions>)
        -> AgentList;
    make_call = "calls.make-call" (&request: CallRequest, options: Option<CallOptions>)
        -> StartedCall;
    get_call_details = "calls.get-call-details" (&task_id: str, options: Option<CallOptions>)
        -> CallDetailsList;
    wait_for_call_details = "calls.wait-for-call-details" (
        &task_id: str, wait: WaitOptions, options: Option<CallOptions>
    ) -> CallDetailsWait;
    create_docket = "dockets.create-docket" (&request: DocketRequest, options: Option<CallOptions>)
        -> CreatedDocket;
    create_docket_v2 = "dockets.create-docket-v2" (
        &request: DocketRequestV2, options: Option<CallOptions>
    ) -> CreatedDocketV2;
    get_docket = "dockets.get-docket" (&docket_id: str, options: Option<CallOptions>) -> Docket;
    wait_for_docket = "dockets.wait-for-docket" (
        &docket_id: str, wait: WaitOptions, options: Option<CallOptions>
    ) -> DocketWait;
    create_dockets_v2 = "bulk.create-dockets-v2" (
        &requests: [DocketRequestV2], timeout_ms: u32, options: Option<CallOptions>
    ) -> Vec<DocketResult>;
    parse_docket_completed = "webhooks.parse-docket-completed" (&body: str)
        -> Option<DocketCompleted>;
    verify_docket_completed = "webhooks.verify-docket-completed" (
        &body: str, options: Option<CallOptions>
    ) -> Verification;
}
