//! `host-test`: runs the component on the built-in mock service, or calls one of its
//! functions.

#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use host_test::mock::{
    CallStatus, FaultOrder, Meanings, MockService, Options, Pace, WebhookOptions,
};
use host_test::{
    InstanceSettings, Outgoing, PersonalData, Plugin, PooledNetwork, Reach, Recorder, Secrets,
    Stderr,
};
use host_test::{check, demo, har, interface, invoke};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::value::RawValue;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::settings::PREFIX;

/// What traces the arguments of a guest's calls, which are paths with identifiers in
/// them, and headers. No log level shows these.
const ARGUMENTS_TRACED_BY: [&str; 3] = [
    "wasmtime_wasi::p2::bindings",
    "wasmtime_wasi_http::p2::bindings",
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
    /// Runs the main job on the built-in mock service, with progress and tables
    Demo(Demo),
    /// Calls a function of the component, JSON in and out
    ///
    /// The component gets the environment variables that begin with VOICE_CALLING_, and
    /// reaches the host of VOICE_CALLING_BASE_URL and nothing else. The answer is printed as
    /// JSON, an error of the component too, with exit code 1; anything else that goes wrong is
    /// told on stderr, with exit code 2.
    #[command(after_long_help = interface::functions_help().unwrap_or_default())]
    Invoke(Invoke),
    /// Serves the mock service until Ctrl-C
    Mock(Box<Mock>),
    /// Judges any component that exports our world, whatever the service and the network do
    ///
    /// The service is in memory and the clock is virtual: no request leaves this process. Every
    /// check is judged in thousands of scenarios, most of them random. Exit code 1 where the
    /// component fails a check, 2 where something else goes wrong.
    Check(Check),
    /// Shows what becomes of every error code at every moment for every function
    Faults(Faults),
}

#[derive(Args)]
struct Component {
    /// The component
    #[arg(long, value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
}

#[derive(Args)]
struct Demo {
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
}

#[derive(Args)]
struct Archive {
    /// Writes all HTTP exchanges to this file, as an HTTP Archive for the developer tools of
    /// a browser
    ///
    /// It is written also if something goes wrong. The token is masked; phone numbers, call
    /// context and all else that may be about people are masked too.
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
    /// Leaves phone numbers and call context in the archive, but not the token
    #[arg(long, requires = "har")]
    har_unmasked: bool,
}

#[derive(Args)]
struct Invoke {
    /// Interface and function, such as calls.make-call
    function: String,
    /// The arguments: an object with a member for each parameter, or the lone record;
    /// `-` reads them from stdin
    ///
    /// Names are snake_case or kebab-case, an option may be null or left out, bytes are a
    /// text, and free-form JSON stands as it is, without quotes. For example:
    /// '{"task_id": "t-1", "options": {"timeout_ms": 60000, "not_found_is_pending": true}}'
    #[arg(long, value_name = "JSON")]
    json: String,
    /// Lets a real phone ring, where the base URL is not this machine
    #[arg(long)]
    place_real_call: bool,
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
}

#[derive(Args)]
struct Mock {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The token that is accepted
    #[arg(long, default_value = "mock-token-0001")]
    token: String,
    /// Where completed dockets are reported: an http URL on loopback
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Reports each call as well, in an invented shape
    #[arg(long, requires = "webhook")]
    call_events: bool,
    /// How often each completed docket is reported
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "webhook")]
    webhook_copies: u32,
    /// How long after the last call a completed docket is reported
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "webhook")]
    webhook_delay_ms: u64,
    /// How long a call takes, and the time before a docket's next one
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    call_ms: u64,
    /// How the calls of a docket end, until one is answered; a direct call ends as the first
    /// [default: no-answer,answered; a direct call is answered]
    #[arg(long, value_enum, value_name = "STATUSES", value_delimiter = ',')]
    calls: Vec<CallStatus>,
    /// Draws how calls end from this seed and the phone number
    #[arg(long, conflicts_with = "calls")]
    seed: Option<u64>,
    /// Faults on order: ENDPOINT[@NTH]:FAULT[:OPTION], separated by commas
    ///
    /// ENDPOINT: create-agent, list-agents, make-call, get-call-details, create-docket,
    /// create-docket-v2, get-docket. NTH: which request to it, from 1. FAULT: a status,
    /// created-then-STATUS, or slow. OPTION: retry-after=SECONDS, delay-ms=MS. For example:
    /// create-docket-v2:503,make-call@2:429:retry-after=1,create-docket:created-then-503
    #[arg(long, value_name = "ORDERS", value_delimiter = ',')]
    faults: Vec<FaultOrder>,
    #[command(flatten)]
    meanings: Meanings,
}

#[derive(Args)]
struct Check {
    /// The component
    #[arg(value_name = "FILE", default_value = "target/voice-calling.wasm")]
    component: PathBuf,
    /// Only these checks, separated by commas
    #[arg(long, value_enum, value_name = "CHECKS", value_delimiter = ',')]
    only: Vec<check::Check>,
    /// Only these scenarios, separated by commas
    #[arg(long, value_enum, value_name = "SOURCES", value_delimiter = ',')]
    scenarios: Vec<check::Source>,
    /// How many random histories
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    histories: u64,
    /// The seed of the first history; one that failed is played again with this alone
    #[arg(long)]
    seed: Option<u64>,
    /// A report for machines
    #[arg(long)]
    json: bool,
    /// A variable that the component gets besides its settings
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
}

#[derive(Args)]
struct Faults {
    #[command(flatten)]
    component: Component,
    /// The report in Markdown, as it is kept in docs/faults.md
    #[arg(long)]
    markdown: bool,
}

fn variable(text: &str) -> Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .context("a variable is NAME=VALUE, without spaces around the sign")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let mut filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    for bindings in ARGUMENTS_TRACED_BY {
        let directive = format!("{bindings}=debug").parse();
        filter = filter.add_directive(directive.expect("a directive"));
    }
    let recorder = Recorder::default();
    let secrets = recorder.secrets().clone();
    learn_tokens(&secrets, &command_line.command);
    tell_panics_without(secrets.clone());
    let log = secrets.clone();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || log.lines(std::io::stderr()))
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    match run(command_line.command, recorder) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", secrets.mask(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// The tokens are known before anything is written.
fn learn_tokens(secrets: &Secrets, command: &Command) {
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        secrets.learn_environment([(&*name, &*value)]);
    }
    if let Command::Mock(mock) = command {
        secrets.learn(&mock.token);
    }
}

/// Panics are told on stderr as always, without the tokens.
fn tell_panics_without(secrets: Secrets) {
    std::panic::set_hook(Box::new(move |panic| {
        let mut told = panic.to_string();
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            told += &format!("\n{backtrace}");
        }
        eprintln!("{}", secrets.mask(&told));
    }));
}

fn run(command: Command, recorder: Recorder) -> Result<ExitCode> {
    match command {
        // These have runtimes of their own, in which time is virtual.
        Command::Check(check) => run_check(check),
        Command::Faults(faults) => run_faults(&faults),
        command => tokio::runtime::Runtime::new()
            .context("cannot make a runtime")?
            .block_on(run_in_real_time(command, recorder)),
    }
}

async fn run_in_real_time(command: Command, recorder: Recorder) -> Result<ExitCode> {
    match command {
        Command::Demo(demo) => run_demo(demo, recorder).await?,
        Command::Invoke(invoke) => return run_invoke(invoke, recorder).await,
        Command::Mock(mock) => serve_mock(*mock).await?,
        Command::Check(_) | Command::Faults(_) => bail!("not a command of real time"),
    }
    Ok(ExitCode::SUCCESS)
}

fn run_check(arguments: Check) -> Result<ExitCode> {
    let usual = check::Options::default();
    let options = check::Options {
        only: arguments.only,
        sources: match arguments.scenarios.is_empty() {
            true => usual.sources,
            false => arguments.scenarios,
        },
        histories: arguments.histories,
        seed: arguments.seed.unwrap_or(usual.seed),
    };
    let wasm = read_component(&arguments.component)?;
    let progress = ProgressBar::hidden();
    if !arguments.json && std::io::stderr().is_terminal() {
        progress.set_draw_target(ProgressDrawTarget::stderr());
        progress.set_style(ProgressStyle::with_template("{wide_bar} {percent} %")?);
    }
    let report = check::check(&wasm, arguments.environment, &options, |done, of| {
        progress.set_length(of);
        progress.set_position(done);
    })?;
    progress.finish_and_clear();
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("{report}"),
    }
    Ok(match report.passed() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn run_faults(arguments: &Faults) -> Result<ExitCode> {
    let plugin = Plugin::load(&arguments.component.component)?;
    let table = check::faults::play(&plugin.into())?;
    match arguments.markdown {
        true => print!("{}", table.markdown()),
        false => println!("{table}"),
    }
    for finding in &table.findings {
        eprintln!("{finding}");
    }
    Ok(match table.findings.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn read_component(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| {
        format!(
            "cannot read the component {} (`cargo xtask build` makes it)",
            path.display()
        )
    })
}

async fn run_demo(demo: Demo, recorder: Recorder) -> Result<()> {
    let plugin = Plugin::load(&demo.component.component)?;
    let (recorder, file) = demo.archive.begin(recorder)?;
    let ran = demo::run(&plugin, recorder.clone()).await;
    let written = demo.archive.write(file, &recorder);
    ran.and(written)
}

impl Archive {
    /// Opens the file before anything is sent, since a call whose record cannot be
    /// written is better not made. Bodies are recorded for it alone.
    fn begin(&self, recorder: Recorder) -> Result<(Recorder, Option<File>)> {
        let Some(path) = &self.har else {
            return Ok((recorder, None));
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Who may read it is for its owner to say.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok((recorder.with_bodies(), Some(file)))
    }

    fn write(&self, file: Option<File>, recorder: &Recorder) -> Result<()> {
        let (Some(file), Some(path)) = (file, &self.har) else {
            return Ok(());
        };
        let personal_data = match self.har_unmasked {
            true => PersonalData::Shown,
            false => PersonalData::Masked,
        };
        let archive = har::archive(&recorder.exchanges(), personal_data);
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, &archive)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

async fn run_invoke(invoke: Invoke, recorder: Recorder) -> Result<ExitCode> {
    let environment = settings_of_user()?;
    let base_url = environment
        .iter()
        .find(|(name, _)| name == "VOICE_CALLING_BASE_URL");
    let base_url = base_url.map(|(_, url)| url.as_str());
    invoke::check_known(&invoke.function)?;
    invoke::check_deliberate(&invoke.function, base_url, invoke.place_real_call)?;

    let json = match invoke.json.as_str() {
        "-" => {
            let mut json = String::new();
            std::io::stdin()
                .read_to_string(&mut json)
                .context("cannot read stdin")?;
            json
        }
        json => json.to_owned(),
    };
    let arguments: &RawValue = serde_json::from_str(&json).context("--json is no JSON")?;
    let plugin = Plugin::load(&invoke.component.component)?;
    let reach = reach_of(base_url);
    let (recorder, file) = invoke.archive.begin(recorder)?;
    let outgoing = Outgoing {
        network: Arc::new(PooledNetwork::new(reach.clone())?),
        reach,
        recorder: recorder.clone(),
    };
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.stderr = Stderr::Inherited;
    let answer = invoke::invoke(&plugin, settings, &invoke.function, arguments).await;
    let written = invoke.archive.write(file, &recorder);
    let (shown, code) = match answer? {
        Ok(value) => (value, ExitCode::SUCCESS),
        Err(error) => (serde_json::json!({ "error": error }), ExitCode::FAILURE),
    };
    println!("{:#}", recorder.secrets().mask_json(&shown));
    written.map(|()| code)
}

/// The variables that are settings of the component.
fn settings_of_user() -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in std::env::vars_os() {
        // What is no text has no such name.
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        match value.to_str() {
            Some(value) => settings.push((name.to_owned(), value.to_owned())),
            None => bail!("{name} is no Unicode text"),
        }
    }
    Ok(settings)
}

/// A base URL that is no URL is for the component to complain about; nothing but
/// loopback is within reach meanwhile.
fn reach_of(base_url: Option<&str>) -> Reach {
    match base_url.map(BaseUrl::parse) {
        Some(Ok(url)) if !url.is_loopback() => {
            Reach::Hosts(BTreeSet::from([url.authority().to_owned()]))
        }
        _ => Reach::Loopback,
    }
}

async fn serve_mock(mock: Mock) -> Result<()> {
    let mut options = Options {
        port: mock.port,
        token: mock.token,
        pace: Pace::Every(Duration::from_millis(mock.call_ms)),
        faults: mock.faults,
        meanings: mock.meanings,
        ..Options::default()
    };
    options.scripts.seed = mock.seed;
    if let Some(first) = mock.calls.first() {
        options.scripts.direct_call = *first;
        options.scripts.docket = mock.calls;
    }
    options.webhook = mock.webhook.map(|url| WebhookOptions {
        call_events: mock.call_events,
        copies: mock.webhook_copies,
        delay: Duration::from_millis(mock.webhook_delay_ms),
        ..WebhookOptions::to(url)
    });
    let service = MockService::start(options).await?;
    println!("The mock service is ready. No phone rings. Ctrl-C stops it.");
    println!("export VOICE_CALLING_BASE_URL={}", service.base_url());
    println!("export VOICE_CALLING_API_TOKEN={}", service.token());
    tokio::signal::ctrl_c()
        .await
        .context("cannot wait for Ctrl-C")?;
    service.stop().await;
    println!("The mock service has stopped.");
    Ok(())
}
