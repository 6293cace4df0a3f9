//! A call of one function, JSON in and out.

use crate::Component;
use crate::command::archive::Archive;
use crate::command::loading::loading;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::value::RawValue;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use voice_calling_core::settings::PREFIX;
use voice_calling_host::{
    GuestKind, History, InstanceSettings, Origins, Outgoing, Plugin, PooledNetwork, Reach,
    Recorder, Stderr, TRUST_CONNECTION_TIMEOUT, Trust, invoke,
};

#[derive(Args)]
pub(crate) struct Invoke {
    /// Interface and function, such as calls.make-call
    function: String,
    /// The arguments: an object with a member for each parameter, or the record alone;
    /// `-` reads them from stdin
    ///
    /// Names are snake_case or kebab-case, an option may be null or left out, pairs may be an
    /// object, and free-form JSON stands as it is, without quotes. For example:
    /// '{"task_id": "t-1", "wait": {"timeout_ms": 60000}, "options": {"max_attempts": 2}}'
    #[arg(long, value_name = "JSON")]
    json: String,
    /// Allows a real phone to ring, where the base URL is not on this machine
    #[arg(long)]
    place_real_call: bool,
    /// The certificate authorities to trust for TLS, in PEM, instead of the public ones
    /// [default: the public ones]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    component: Component,
    #[command(flatten)]
    archive: Archive,
    /// Records everything that goes into and comes out of the guest in this file, for `host-test
    /// replay`: only with a component for steps
    ///
    /// The token is masked; phone numbers and call context are not. An existing file is an error.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

pub(crate) async fn run_invoke(invoke: Invoke, recorder: Recorder) -> Result<ExitCode> {
    let environment = settings_of_user()?;
    let base_urls = || invoke::base_urls(&environment);
    invoke::check_known(&invoke.function)?;
    invoke::check_deliberate(&invoke.function, base_urls(), invoke.place_real_call)?;

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
    let arguments: &RawValue = serde_json::from_str(&json).context("--json is not JSON")?;
    let trust = match &invoke.ca {
        Some(file) => Trust::from_pem_file(file).context("--ca")?,
        None => Trust::Public,
    };
    let plugin = Plugin::load_with(&invoke.component.path(), &loading())?;
    // A base URL that is none is for the component to complain about.
    let reach = Reach::of_urls(base_urls()).unwrap_or_else(|_| Reach::Origins(Origins::default()));
    let (recorder, file) = invoke.archive.begin(recorder)?;
    let outgoing = Outgoing {
        network: Arc::new(PooledNetwork::trusting(&trust, reach.clone())?),
        reach,
        recorder: recorder.clone(),
    };
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.history = match &invoke.history {
        Some(file) => Some(history(file, &plugin)?),
        None => None,
    };
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

/// A history in a file that only its owner can read.
fn history(file: &Path, plugin: &Plugin) -> Result<History> {
    ensure!(
        plugin.kind() == GuestKind::Steps,
        "--history: not supported by a component for {}; use the one for {} (--guest steps)",
        plugin.kind(),
        GuestKind::Steps
    );
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(file);
    let opened = opened.with_context(|| format!("cannot write {}", file.display()))?;
    Ok(History::to(opened))
}

/// The variables that are settings of the component, and what it may know of this host.
fn settings_of_user() -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in std::env::vars_os() {
        // What is not text has no such name.
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        match value.to_str() {
            Some(value) => settings.push((name.to_owned(), value.to_owned())),
            None => bail!("{name} is not valid Unicode"),
        }
    }
    let (trust, is_trusted) = TRUST_CONNECTION_TIMEOUT;
    if !settings.iter().any(|(name, _)| name == trust) {
        settings.push((trust.to_owned(), is_trusted.to_owned()));
    }
    Ok(settings)
}
