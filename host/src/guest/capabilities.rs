//! The capabilities of a guest: its environment, stderr, clocks, random numbers, and HTTP.
//! It has no files, no sockets and nothing else.

use super::call::Creates;
use super::limits::{HEADER_BYTES, Memory, RESOURCES};
use super::settings::{InstanceSettings, Stderr};
use super::stderr::MaskedStderr;
use crate::clock::Clock;
use crate::network::outgoing::{Outgoing, Sending};
use anyhow::Result;
use http::{Method, Request};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::random::{Deterministic, WasiRandom};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};
use wasmtime_wasi_io::bindings::wasi::io;

/// The variable that tells a guest whether it can rely on `connection-timeout`.
const TRUST_CONNECTION_TIMEOUT: &str = "VOICE_CALLING_TRUST_CONNECTION_TIMEOUT";

/// The host's state of an instance.
pub struct Guest {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    egress: Egress,
    memory: Memory,
}

/// Shows no environment, which contains the token.
impl fmt::Debug for Guest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Guest")
            .field("outgoing", &self.egress.outgoing)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// An instance's outgoing requests, and the creates of its current call.
struct Egress {
    outgoing: Outgoing,
    creates: Creates,
}

impl WasiHttpHooks for Egress {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        io: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Sending {
        let creates = usize::from(request.method() != Method::GET);
        self.creates.fetch_add(creates, Ordering::Relaxed);
        self.outgoing.send_request(request, options, io)
    }
}

impl Guest {
    pub(crate) fn new(settings: InstanceSettings) -> Self {
        let secrets = &settings.outgoing.secrets;
        let variables = settings.environment.iter();
        secrets.add_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())));
        let clock = settings.date.map_or_else(Clock::start, Clock::start_at);
        let mut wasi = WasiCtx::builder();
        let is_trust = |(name, _): &(String, String)| name == TRUST_CONNECTION_TIMEOUT;
        if settings.outgoing.network.has_reliable_connection_timeouts()
            && !settings.environment.iter().any(is_trust)
        {
            wasi.env(TRUST_CONNECTION_TIMEOUT, "true");
        }
        wasi.envs(&settings.environment)
            .monotonic_clock(clock)
            .wall_clock(clock);
        match settings.stderr {
            Stderr::Logged => wasi.stderr(MaskedStderr::logged(secrets)),
            Stderr::Inherited => wasi.stderr(MaskedStderr::inherited(secrets)),
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
            egress: Egress {
                outgoing: settings.outgoing,
                creates: Creates::default(),
            },
            memory: Memory::new(settings.limits),
        }
    }

    /// Begins a call; the instance serves no other at the same time.
    pub(crate) fn begin_call(&mut self) -> Creates {
        self.egress.creates = Creates::default();
        self.egress.creates.clone()
    }

    pub(crate) fn memory_limiter(&mut self) -> &mut dyn wasmtime::ResourceLimiter {
        &mut self.memory
    }

    pub(crate) fn memory_bytes(&self) -> Arc<AtomicUsize> {
        self.memory.bytes.clone()
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
            hooks: &mut self.egress,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links the interfaces that a component for WASI 0.2 may import.
pub(crate) fn link_v0_2(linker: &mut Linker<Guest>) -> Result<()> {
    io::error::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::poll::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::streams::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    clocks::monotonic_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    clocks::wall_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    // Ours does not need it, but the runtime of each guest in JavaScript does.
    random::random::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    Ok(())
}

/// Links the additional interfaces that a component for WASI 0.3 may import: it may be composed
/// with guests for 0.2.
pub(crate) fn link_v0_3(linker: &mut Linker<Guest>) -> Result<()> {
    use wasmtime_wasi::p3::bindings as p3;
    use wasmtime_wasi_http::WasiHttp;
    use wasmtime_wasi_http::p3::bindings::http;

    p3::clocks::types::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::clocks::monotonic_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::clocks::system_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    p3::random::insecure::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    p3::cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    p3::cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    http::client::add_to_linker::<Guest, WasiHttp>(linker, Guest::http)?;
    http::types::add_to_linker::<Guest, WasiHttp>(linker, Guest::http)?;
    Ok(())
}
