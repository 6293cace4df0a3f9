//! The command `invoke`: a call of one function, JSON in and out.

use crate::command::component::{Component, loading};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::value::RawValue;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use voice_calling_check::operation::Operation;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::settings::PREFIX;
use voice_calling_host::{
    InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Secrets, Stderr, Trust,
};

#[derive(Args)]
pub(crate) struct Invoke {
    /// Interface and function; docs/specification.md and wit/ describe them
    #[arg(value_parser = PossibleValuesParser::new(functions()))]
    function: String,
    /// The arguments: an object with a member for each parameter, or the record alone;
    /// `-` reads them from stdin
    ///
    /// Names are snake_case, an option may be null or left out, pairs are an object, and free-form
    /// JSON stands as it is, without quotes. For example:
    /// '{"task_id": "t-1", "wait": {"timeout_ms": 60000}, "options": {"max_attempts": 2}}'
    #[arg(long, value_name = "JSON")]
    json: String,
    /// Allows a real phone to ring, where the base URL is not on this machine
    #[arg(long)]
    place_real_call: bool,
    /// The certificate authorities to trust for TLS, in PEM, instead of the system's
    /// [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    component: Component,
}

/// Returns the names of all functions: those that send requests, and the one that does not.
fn functions() -> impl Iterator<Item = &'static str> {
    let sending = Operation::ALL.iter().map(|operation| operation.into());
    sending.chain(["webhooks.parse-docket-completed"])
}

/// Rejects a call that would make a real phone ring, unless the user asked for that.
fn check_real_call<'a>(
    function: &str,
    base_urls: impl IntoIterator<Item = &'a str>,
    place_real_call: bool,
) -> Result<()> {
    let rings = Operation::ALL
        .iter()
        .any(|it| it.rings() && it.to_string() == function);
    let is_remote = |url| !BaseUrl::parse(url).is_ok_and(|url| url.is_loopback());
    ensure!(
        place_real_call || !rings || !base_urls.into_iter().any(is_remote),
        "{function} makes a real phone ring, because VOICE_CALLING_BASE_URL, or that of an account, is not on this machine: pass --place-real-call to allow it"
    );
    Ok(())
}

pub(crate) async fn run_invoke(invoke: Invoke, secrets: Secrets) -> Result<ExitCode> {
    let environment = settings_of_user()?;
    let base_urls = || base_urls(&environment);
    check_real_call(&invoke.function, base_urls(), invoke.place_real_call)?;

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
    let read = |file: &PathBuf| {
        let pem = fs::read(file);
        pem.with_context(|| format!("--ca {}", file.display()))
    };
    let trust = Trust {
        authorities: invoke.ca.as_ref().map(read).transpose()?,
        ..Trust::default()
    };
    // An invalid base URL is reported by the component.
    let reach = Reach::of_urls(base_urls()).unwrap_or(Reach::Origins(Vec::new()));
    let network = PooledNetwork::new(&trust, reach).context("the certificate authorities")?;
    let plugin = Plugin::load_with(&invoke.component.path, &loading())?;
    let outgoing = Outgoing {
        secrets: secrets.clone(),
        ..Outgoing::over(network)
    };
    let mut settings = InstanceSettings::new(environment, outgoing);
    settings.stderr = Stderr::Inherited;
    let mut instance = plugin.instantiate(settings).await?;
    let answer = instance.invoke(&invoke.function, arguments).await?;
    let (shown, code) = match answer {
        Ok(value) => (value, ExitCode::SUCCESS),
        Err(error) => (serde_json::json!({ "error": error }), ExitCode::FAILURE),
    };
    println!("{:#}", secrets.mask_json(&shown));
    Ok(code)
}

/// Returns the variables that are settings of the component.
fn settings_of_user() -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in std::env::vars_os() {
        // A name that is not text cannot have the prefix.
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        match value.to_str() {
            Some(value) => settings.push((name.to_owned(), value.to_owned())),
            None => bail!("{name} is not valid Unicode"),
        }
    }
    Ok(settings)
}

/// Returns the base URL without a name, and those of accounts.
fn base_urls(environment: &[(String, String)]) -> impl Iterator<Item = &str> {
    let variables = environment.iter();
    let base_urls = variables.filter_map(|(name, url)| {
        let setting = name.strip_prefix(PREFIX)?;
        (setting == "BASE_URL" || setting.ends_with("_BASE_URL")).then_some(url)
    });
    base_urls.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_phone_rings_only_if_the_user_asks_for_it() {
        let remote = ["http://127.0.0.1:8080", "https://api.example"];
        for function in functions() {
            let rings = [
                "make-call",
                "create-docket",
                "create-docket-v2",
                "create-dockets-v2",
            ];
            let rings = rings
                .iter()
                .any(|name| function.ends_with(&format!(".{name}")));
            for (urls, is_local) in [
                (&[][..], true),
                (&remote[..1], true),
                (&remote[1..], false),
                (&remote, false),
                (&["no url"], false),
                (&["http://localhost.evil.example"], false),
            ] {
                let is_allowed = |deliberate| {
                    check_real_call(function, urls.iter().copied(), deliberate).is_ok()
                };
                assert_eq!(is_allowed(false), is_local || !rings, "{function} {urls:?}");
                assert!(is_allowed(true), "{function} {urls:?}");
            }
        }
    }
}
