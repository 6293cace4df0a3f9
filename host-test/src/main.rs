//! `host-test`: runs components, calls them, and judges them.

mod command {
    //! The commands: arguments in, library calls, output.

    pub(crate) mod cases;
    pub(crate) mod check;
    pub(crate) mod component;
    pub(crate) mod invoke;
}
mod demo;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use command::cases::{Cases, serve_cases};
use command::check::{Check, run_check};
use command::invoke::{Invoke, run_invoke};
use demo::run_demo;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal;
use std::process::ExitCode;
use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use voice_calling_host::Secrets;

/// A call allocates some hundred times in the host; the system's allocator is slow at that with
/// many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The crates that trace the arguments of a guest's calls: paths with identifiers, and headers. No
/// log level shows these.
const ARGUMENTS_TRACED_BY: [&str; 5] = [
    "wasmtime_wasi::p2::bindings",
    "wasmtime_wasi::p3::bindings",
    "wasmtime_wasi_http::p2::bindings",
    "wasmtime_wasi_http::p3::bindings",
    "wasmtime_wasi_io::bindings",
];

/// The host harness of voice-calling
#[derive(Parser)]
#[command(version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the main job on the built-in mock service, step by step
    Demo(demo::Arguments),
    /// Calls a function of the component, JSON in and out
    ///
    /// The component gets the environment variables that begin with VOICE_CALLING_, with
    /// VOICE_CALLING_TRUST_CONNECTION_TIMEOUT=true unless that is among them, and reaches the host
    /// of VOICE_CALLING_BASE_URL, those of its accounts and nothing else. The answer is printed as
    /// JSON, an error of the component too, with exit code 1; any other error is printed to stderr,
    /// with exit code 2.
    Invoke(Invoke),
    /// Plays the service for the table of cases, and judges what a client did, until Ctrl-C
    ///
    /// The first line that is printed is where it listens. `host-test/cases/README.md` says what a client
    /// asks it for.
    Cases(Cases),
    /// Checks any component that exports the world `plugin`, whatever the service and the network
    /// do
    ///
    /// The service is in memory and the clock is virtual: no request leaves this process. Every
    /// check is judged in thousands of scenarios, most of them random. Exit code 0 if every check
    /// was tried and passed, 1 if not, 2 if something else goes wrong; docs/proof.md says more.
    Check(Check),
}

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // Applies whatever the filter allows.
    let shows_no_arguments = filter_fn(|what| {
        let traced = |by: &&str| what.target().starts_with(*by);
        *what.level() != Level::TRACE || !ARGUMENTS_TRACED_BY.iter().any(traced)
    });
    let secrets = Secrets::default();
    learn_tokens(&secrets);
    print_panics_without(secrets.clone());
    let log = secrets.clone();
    let shown = tracing_subscriber::fmt::layer()
        .with_writer(move || log.lines(std::io::stderr()))
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(shows_no_arguments)
        .with_filter(filter);
    tracing_subscriber::registry().with(shown).init();
    match run(command_line.command, secrets.clone()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", secrets.mask(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// Collects the tokens before anything is written.
fn learn_tokens(secrets: &Secrets) {
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        secrets.add_environment([(&*name, &*value)]);
    }
}

/// Prints panics to stderr as usual, without the tokens.
fn print_panics_without(secrets: Secrets) {
    std::panic::set_hook(Box::new(move |panic| {
        let mut text = panic.to_string();
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text += &format!("\n{backtrace}");
        }
        eprintln!("{}", secrets.mask(&text));
    }));
}

fn run(command: Command, secrets: Secrets) -> Result<ExitCode> {
    let runtime = || Runtime::new().context("cannot make a runtime");
    match command {
        Command::Demo(arguments) => runtime()?.block_on(run_demo(arguments, secrets))?,
        Command::Invoke(invoke) => return runtime()?.block_on(run_invoke(invoke, secrets)),
        Command::Cases(cases) => runtime()?.block_on(serve_cases(cases))?,
        // It has runtimes of its own, with virtual time.
        Command::Check(check) => return run_check(check),
    }
    Ok(ExitCode::SUCCESS)
}
