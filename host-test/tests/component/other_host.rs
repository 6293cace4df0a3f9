//! A host that is not the harness: wasmtime's WASI as it is, but for its stderr and for when its
//! wasi:http fails.

use crate::stage::component_path;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use voice_calling_check::operation::docket_v2;
use voice_calling_check::script;
use voice_calling_host::clock::Clock;
use voice_calling_host::load::interface::exported_interface;
use voice_calling_host::types::{
    AgentList, CallOptions, CreatedDocketV2, DocketRequestV2, RequestError,
};
use voice_calling_host::{GuestKind, InMemoryNetwork, InstanceSettings, Outgoing};
use wasmtime::component::{
    Component, ComponentNamedList, Instance, Lift, Linker, Lower, Resource, ResourceTable,
};
use wasmtime::{Config, Engine, OptLevel, Store, StoreContextMut};
use wasmtime_wasi::cli::StdoutStream;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};
use wasmtime_wasi_http::{RequestOptions, WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// The component, compiled once for all tests.
struct Compiled {
    component: Component,
    kind: GuestKind,
}

fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let wasm = std::fs::read(component_path()).expect("the component");
        let mut config = Config::new();
        config.cranelift_opt_level(OptLevel::None);
        let engine = Engine::new(&config).expect("an engine");
        Compiled {
            component: Component::new(&engine, &wasm).expect("a component"),
            kind: GuestKind::of(&wasm),
        }
    })
}

/// What an instance has in this host.
struct Guest {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    outgoing: Outgoing,
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.outgoing,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

/// An instance in this host.
pub struct OtherHost {
    store: Store<Guest>,
    instance: Instance,
}

impl OtherHost {
    /// With this stderr. Of the settings it takes the environment and the way out.
    pub async fn with_stderr(
        settings: InstanceSettings,
        stderr: impl StdoutStream + 'static,
    ) -> Self {
        let mut linker = linker();
        if compiled().kind == GuestKind::V0_2 {
            wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker).unwrap();
        }
        Self::start(&linker, settings, stderr).await
    }

    /// One that fails each request with this code as soon as it is given the request, and counts
    /// them.
    pub async fn failing_at_once(
        mut settings: InstanceSettings,
        code: &ErrorCode,
    ) -> (Self, Arc<AtomicUsize>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let (counter, code) = (requests.clone(), code.clone());
        let mut linker = linker();
        match compiled().kind {
            GuestKind::V0_2 => fail_in_handle(&mut linker, code, counter).unwrap(),
            GuestKind::V0_3 => {
                // `send` has returned when it is first polled.
                settings.outgoing = Outgoing::loopback(InMemoryNetwork(move |_, _| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    ready(Err(script::error(code.clone())))
                }));
            }
        }
        let host = Self::start(&linker, settings, tokio::io::empty()).await;
        (host, requests)
    }

    async fn start(
        linker: &Linker<Guest>,
        settings: InstanceSettings,
        stderr: impl StdoutStream + 'static,
    ) -> Self {
        let clock = Clock::start();
        let mut wasi = WasiCtx::builder();
        wasi.envs(&settings.environment)
            .monotonic_clock(clock)
            .wall_clock(clock)
            .stderr(stderr);
        let guest = Guest {
            wasi: wasi.build(),
            http: WasiHttpCtx::new(),
            table: ResourceTable::new(),
            outgoing: settings.outgoing,
        };
        let component = &compiled().component;
        let mut store = Store::new(component.engine(), guest);
        let instance = linker.instantiate_async(&mut store, component).await;
        Self {
            store,
            instance: instance.expect("an instance"),
        }
    }

    pub async fn create_docket_v2(
        &mut self,
    ) -> anyhow::Result<Result<CreatedDocketV2, RequestError>> {
        let arguments: (DocketRequestV2, Option<CallOptions>) = (docket_v2(), None);
        self.call("dockets", "create-docket-v2", arguments).await
    }

    pub async fn list_agents(&mut self) -> anyhow::Result<Result<AgentList, RequestError>> {
        let arguments: (String, Option<CallOptions>) = ("org-1".to_owned(), None);
        self.call("agents", "list-agents", arguments).await
    }

    async fn call<P, T>(
        &mut self,
        interface: &str,
        function: &str,
        arguments: P,
    ) -> anyhow::Result<Result<T, RequestError>>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        T: Lift + Send + Sync + 'static,
        (Result<T, RequestError>,): ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let Self { store, instance } = self;
        let interface = exported_interface(compiled().kind, interface);
        let interface = instance.get_export_index(&mut *store, None, &interface);
        let function = instance
            .get_export_index(&mut *store, interface.as_ref(), function)
            .expect("the function");
        let function =
            instance.get_typed_func::<P, (Result<T, RequestError>,)>(&mut *store, function)?;
        let (returned,) = function.call_async(store, arguments).await?;
        Ok(returned)
    }
}

/// What every instance imports but, on WASI 0.2, wasi:http.
fn linker() -> Linker<Guest> {
    let mut linker = Linker::new(compiled().component.engine());
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    if compiled().kind == GuestKind::V0_3 {
        wasmtime_wasi::p3::add_to_linker(&mut linker).unwrap();
        wasmtime_wasi_http::p3::add_to_linker(&mut linker).unwrap();
    }
    linker
}

/// Links a wasi:http of WASI 0.2 whose `handle` returns this code itself, not in a future.
fn fail_in_handle(
    linker: &mut Linker<Guest>,
    code: ErrorCode,
    counter: Arc<AtomicUsize>,
) -> wasmtime::Result<()> {
    use wasmtime_wasi_http::WasiHttp;
    use wasmtime_wasi_http::p2::bindings::{LinkOptions, http::types};

    type Handled = Result<Resource<HostFutureIncomingResponse>, ErrorCode>;
    type Request = Resource<HostOutgoingRequest>;
    type Options = Option<Resource<RequestOptions>>;

    let options = LinkOptions::default();
    types::add_to_linker::<_, WasiHttp>(linker, &(&options).into(), Guest::http)?;
    let mut handler = linker.instance("wasi:http/outgoing-handler@0.2.0")?;
    handler.func_wrap(
        "handle",
        move |mut store: StoreContextMut<'_, Guest>, (request, options): (Request, Options)| {
            counter.fetch_add(1, Ordering::Relaxed);
            let table = &mut store.data_mut().table;
            table.delete(request)?;
            options.map(|options| table.delete(options)).transpose()?;
            Ok((Handled::Err(code.clone()),))
        },
    )
}
