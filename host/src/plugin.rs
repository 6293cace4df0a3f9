//! A component with our WIT, loaded into wasmtime and called with types.

use crate::guest::settings::InstanceSettings;
use crate::load::kind::GuestKind;
use crate::load::sandbox::{Loading, Sandbox, SandboxInstance, load_file};
use crate::types::*;
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::ComponentExportIndex;
use wasmtime::error::Context;

/// A compiled and linked component, ready to be instantiated.
#[derive(Clone, Debug)]
pub struct Plugin {
    sandbox: Sandbox,
    exports: Arc<Exports>,
}

impl Plugin {
    /// Compiles the component in a file and checks that it exports our world and imports only
    /// interfaces that the harness provides.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_with(path, &Loading::default())
    }

    /// Loads a component like [`Plugin::load`], with options.
    pub fn load_with(path: &Path, loading: &Loading) -> Result<Self> {
        load_file(path, |wasm| Self::compile_with(wasm, loading))
    }

    /// Compiles a component in memory, like [`Plugin::load_with`].
    pub fn compile_with(wasm: &[u8], loading: &Loading) -> Result<Self> {
        let sandbox = Sandbox::compile(wasm, loading)?;
        let exports = Exports::find(&sandbox).with_context(|| {
            let (package, exports) = (sandbox.kind().package(), sandbox.exports());
            let found = match &*exports {
                [] => "nothing".to_owned(),
                exports => exports.join(", "),
            };
            format!(
                "the component does not export the world `plugin` of {package}: it exports {found}"
            )
        })?;
        Ok(Self {
            sandbox,
            exports: Arc::new(exports),
        })
    }

    /// Returns the kind of the component.
    pub fn kind(&self) -> GuestKind {
        self.sandbox.kind()
    }

    /// Creates a new instance, which shares nothing with others.
    pub async fn instantiate(&self, settings: InstanceSettings) -> Result<Instance> {
        Ok(Instance {
            sandbox: self.sandbox.instantiate(settings).await?,
            exports: self.exports.clone(),
            kind: self.kind(),
        })
    }
}

/// An instance of a plugin, which serves one call after the other. The outer result of a call is
/// the host's (a trap), the inner one the component's.
///
/// A call that traps, or whose future is dropped, ends the instance and its open requests, as
/// [`SandboxInstance`] says; a warning in the log gives the number of creates among them.
#[derive(Debug)]
pub struct Instance {
    /// The sandbox that it runs in: its log, its memory, and whether it has ended.
    pub sandbox: SandboxInstance,
    exports: Arc<Exports>,
    pub(crate) kind: GuestKind,
}

fn export_index(sandbox: &Sandbox, name: &str) -> wasmtime::Result<ComponentExportIndex> {
    let component = sandbox.pre.component();
    let (interface, function) = name.split_once('.').context("a name without a dot")?;
    let interface = sandbox.kind().interface(interface);
    let found = component
        .get_export_index(None, &interface)
        .with_context(|| format!("no exported interface `{interface}`"))?;
    component
        .get_export_index(Some(&found), function)
        .with_context(|| format!("no function `{function}` in `{interface}`"))
}

type CallResult<T> = Result<Result<T, RequestError>>;

/// Defines the methods of an instance, one for each function of the world: name, name in the WIT,
/// borrowed (`&`) and owned arguments, and the returned type.
macro_rules! functions {
    ($(
        $name:ident = $full_name:literal (
            $(&$borrowed:ident: $of:ty),+ $(, $owned:ident: $owned_type:ty)*
        ) -> $returned:ty;
    )+) => {
        /// The index of each function in a component.
        #[derive(Debug)]
        struct Exports {
            $($name: ComponentExportIndex,)+
        }

        impl Exports {
            fn find(sandbox: &Sandbox) -> wasmtime::Result<Self> {
                Ok(Self {
                    $($name: export_index(sandbox, $full_name)?,)+
                })
            }
        }

        impl Instance {
            $(
                #[doc = concat!("`", $full_name, "`")]
                pub async fn $name(
                    &mut self,
                    $($borrowed: &$of,)+
                    $($owned: $owned_type),*
                ) -> CallResult<$returned> {
                    type Arguments = ($(<$of as ToOwned>::Owned,)+ $($owned_type,)*);
                    type Returned = (Result<$returned, RequestError>,);
                    let Self { sandbox, exports, .. } = self;
                    let call = sandbox.call_named($full_name, async |store, instance| {
                        let function = instance
                            .get_typed_func::<Arguments, Returned>(&mut *store, exports.$name)?;
                        function.call_async(store, ($($borrowed.to_owned(),)+ $($owned,)*)).await
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
