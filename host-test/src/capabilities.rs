//! What a guest is given: its environment, stderr, clocks, a little randomness, and
//! HTTP. No files, no sockets, nothing else.

use crate::abandoned::{CallsInFlight, HttpClient};
use crate::clock::Clock;
use crate::limits::{HEADER_BYTES, Memory, MemoryBytes, RESOURCES};
use crate::outgoing::Outgoing;
use crate::sandbox::{InstanceSettings, Stderr};
use crate::stderr::MaskedStderr;
use crate::wasi::Wasi;
use anyhow::Result;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::p3::bindings as p3;
use wasmtime_wasi::random::{Deterministic, WasiRandom};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p3::bindings::http;
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::bindings::wasi::io;

/// An instance's side of the host.
pub struct Guest {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    outgoing: Outgoing,
    memory: Memory,
    pub(crate) calls: CallsInFlight,
}

impl Guest {
    pub(crate) fn new(settings: InstanceSettings) -> Self {
        let secrets = settings.outgoing.recorder.secrets();
        let variables = settings.environment.iter();
        secrets.learn_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())));
        let clock = settings.date.map_or_else(Clock::start, Clock::start_at);
        let mut wasi = WasiCtx::builder();
        wasi.envs(&settings.environment)
            .monotonic_clock(clock)
            .wall_clock(clock);
        match settings.stderr {
            Stderr::Inherited => wasi.stderr(MaskedStderr::new(secrets)),
            Stderr::Kept(pipe) => wasi.stderr(pipe),
        };
        if let Some(randomness) = settings.randomness {
            wasi.insecure_random(Deterministic::new(randomness));
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HEADER_BYTES);
        Self {
            wasi: wasi.build(),
            http,
            table,
            outgoing: settings.outgoing,
            memory: Memory::new(settings.limits),
            calls: CallsInFlight::default(),
        }
    }

    pub(crate) fn set_outgoing(&mut self, outgoing: Outgoing) {
        self.outgoing = outgoing;
    }

    pub(crate) fn memory_limiter(&mut self) -> &mut dyn wasmtime::ResourceLimiter {
        &mut self.memory
    }

    pub(crate) fn memory_bytes(&self) -> &MemoryBytes {
        self.memory.bytes()
    }
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

struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links exactly the interfaces that a plugin may import. One for WASI 0.3 may be composed
/// with guests for 0.2.
pub(crate) fn link(linker: &mut Linker<Guest>, wasi: Wasi) -> Result<()> {
    link_v0_2(linker)?;
    match wasi {
        Wasi::V0_2 => Ok(()),
        Wasi::V0_3 => link_v0_3(linker),
    }
}

fn link_v0_2(linker: &mut Linker<Guest>) -> Result<()> {
    io::error::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::poll::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::streams::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    clocks::monotonic_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    clocks::wall_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    Ok(())
}

fn link_v0_3(linker: &mut Linker<Guest>) -> Result<()> {
    p3::clocks::types::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::clocks::monotonic_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::clocks::system_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    p3::cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    p3::cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    http::client::add_to_linker::<Guest, HttpClient>(linker, Guest::http)?;
    http::types::add_to_linker::<Guest, WasiHttp>(linker, Guest::http)?;
    Ok(())
}
