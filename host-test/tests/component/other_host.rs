//! A host that is not the harness: plain wasmtime with WASI, except for a stderr that accepts
//! nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use voice_calling_host::clock::Clock;
use voice_calling_host::types::{CallOptions, CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_host::{GuestKind, InstanceSettings, Outgoing};
use voice_calling_test_guests::component;
use voice_calling_test_guests::docket_v2;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// A stderr that accepts nothing, and records whether a guest tried to write.
#[derive(Clone, Default)]
struct Full(Arc<AtomicBool>);

impl IsTerminal for Full {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Full {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Full {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        self.0.store(true, Ordering::Relaxed);
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The state of an instance in this host.
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

/// Creates a docket in an instance with the environment and network of these settings. Returns
/// also whether the guest tried to write to its stderr.
pub(crate) async fn create_docket_v2(
    settings: InstanceSettings,
) -> anyhow::Result<(Result<CreatedDocketV2, RequestError>, bool)> {
    type Arguments = (DocketRequestV2, Option<CallOptions>);
    type Created = (Result<CreatedDocketV2, RequestError>,);
    let engine = Engine::default();
    let wasm = std::fs::read(component())?;
    let component = Component::new(&engine, &wasm)?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    wasmtime_wasi::p3::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
    let (clock, stderr) = (Clock::start(), Full::default());
    let mut wasi = WasiCtx::builder();
    wasi.envs(&settings.environment)
        .monotonic_clock(clock)
        .wall_clock(clock)
        .stderr(stderr.clone());
    let guest = Guest {
        wasi: wasi.build(),
        http: WasiHttpCtx::new(),
        table: ResourceTable::new(),
        outgoing: settings.outgoing,
    };
    let mut store = Store::new(&engine, guest);
    let instance = linker.instantiate_async(&mut store, &component).await?;
    let interface = GuestKind::of(&wasm).interface("dockets");
    let interface = instance.get_export_index(&mut store, None, &interface);
    let function = instance
        .get_export_index(&mut store, interface.as_ref(), "create-docket-v2")
        .expect("the function");
    let function = instance.get_typed_func::<Arguments, Created>(&mut store, function)?;
    let (created,) = function.call_async(store, (docket_v2(), None)).await?;
    Ok((created, stderr.0.load(Ordering::Relaxed)))
}
