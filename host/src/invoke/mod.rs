//! Calls any function of a plugin, JSON in and out.

pub mod functions;
mod values;

use self::functions::exported_functions;
use crate::guest::call::{Call, alive};
use crate::guest::settings::InstanceSettings;
use crate::load::interface::exported_interface;
use crate::load::sandbox::Running;
use crate::plugin::{Instance, Plugin};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use serde_json::value::RawValue;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::settings::PREFIX;
use wasmtime::component::Val;

/// The functions that certainly make no phone ring. Whatever is not in this list
/// counts as one that does.
const QUIET: [&str; 8] = [
    "agents.create-agent",
    "agents.list-agents",
    "calls.get-call-details",
    "calls.wait-for-call-details",
    "dockets.get-docket",
    "dockets.wait-for-docket",
    "webhooks.parse-docket-completed",
    "webhooks.verify-docket-completed",
];

/// Refuses an unknown function.
pub fn check_known(function: &str) -> Result<()> {
    let known = exported_functions()?;
    if !known.iter().any(|known| known.name == function) {
        let names: Vec<_> = known.iter().map(|known| known.name.as_str()).collect();
        bail!(
            "unknown function {function:?}; allowed: {}",
            names.join(", ")
        );
    }
    Ok(())
}

/// Refuses to let a real phone ring unless that is what the user asked for.
pub fn check_deliberate<'a>(
    function: &str,
    base_urls: impl IntoIterator<Item = &'a str>,
    place_real_call: bool,
) -> Result<()> {
    let is_remote = |url| !BaseUrl::parse(url).is_ok_and(|url| url.is_loopback());
    let remote = base_urls.into_iter().any(is_remote);
    if remote && !place_real_call && !QUIET.contains(&function) {
        bail!(
            "{function} makes a real phone ring, because VOICE_CALLING_BASE_URL, or that of an account, is not on this machine: pass --place-real-call to allow it"
        );
    }
    Ok(())
}

/// The base URLs in the environment of a guest: that without a name, and those of accounts.
pub fn base_urls(environment: &[(String, String)]) -> impl Iterator<Item = &str> {
    let is_base_url = |name: &str| {
        let setting = name.strip_prefix(PREFIX);
        setting.is_some_and(|setting| setting == "BASE_URL" || setting.ends_with("_BASE_URL"))
    };
    let variables = environment.iter();
    let base_urls = variables.filter(move |(name, _)| is_base_url(name));
    base_urls.map(|(_, url)| url.as_str())
}

/// What a function answered, as JSON: its value, or its error.
pub type Answer = std::result::Result<Value, Value>;

/// Calls a function, such as `calls.make-call`, in a fresh instance.
pub async fn invoke(
    plugin: &Plugin,
    settings: InstanceSettings,
    function: &str,
    arguments: &RawValue,
) -> Result<Answer> {
    let mut instance = plugin.instantiate(settings).await?;
    instance.invoke(function, arguments).await
}

impl Instance {
    /// Calls a function by name with arguments from JSON: an object with a member for each
    /// parameter, of which options may be left out; or the record itself, for a function that
    /// takes a record and options.
    pub async fn invoke(&mut self, function: &str, arguments: &RawValue) -> Result<Answer> {
        check_known(function)?;
        let (interface, name) = function.split_once('.').unwrap_or_default();
        let Running {
            store,
            instance,
            computing,
            kind,
            ..
        } = &mut self.running;
        let path = exported_interface(*kind, interface);
        let living = alive(store)?;
        let interface = instance.get_export_index(&mut *living, None, &path);
        let index = instance.get_export_index(&mut *living, interface.as_ref(), name);
        let callee = index
            .and_then(|index| instance.get_func(&mut *living, index))
            .with_context(|| format!("the component does not export {function}"))?;

        let ty = callee.ty(&*living);
        let arguments = values::arguments(arguments, ty.params().collect())?;
        let mut results = vec![Val::Bool(false); ty.results().len()];
        let mut call = Call::begin(store, function.to_owned())?;
        let returning = callee.call_async(&mut call.store, &arguments, &mut results);
        let returned = computing.count(returning).await;
        call.end(returned)?;
        let json = |value: &Option<Box<Val>>| value.as_deref().map_or(Value::Null, values::to_json);
        match results.first() {
            Some(Val::Result(Ok(value))) => Ok(Ok(json(value))),
            Some(Val::Result(Err(error))) => Ok(Err(json(error))),
            other => bail!("{function} returned {other:?}, which is not a result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_deliberate_word_makes_a_real_phone_ring() {
        let remote = Some("https://api.example");
        for ringing in [
            "calls.make-call",
            "dockets.create-docket",
            "dockets.create-docket-v2",
            "bulk.create-dockets-v2",
            "calls.something-new",
        ] {
            assert!(
                check_deliberate(ringing, remote, false).is_err(),
                "{ringing}"
            );
            assert!(check_deliberate(ringing, Some("no url"), false).is_err());
            let one_is_remote = ["http://127.0.0.1:8080", "https://api.example"];
            assert!(check_deliberate(ringing, one_is_remote, false).is_err());
            assert!(
                check_deliberate(ringing, Some("http://localhost.evil.example"), false).is_err()
            );
            assert!(check_deliberate(ringing, remote, true).is_ok());
            assert!(check_deliberate(ringing, Some("http://127.0.0.1:8080"), false).is_ok());
            assert!(check_deliberate(ringing, None, false).is_ok());
        }
        for quiet in QUIET {
            assert!(check_deliberate(quiet, remote, false).is_ok(), "{quiet}");
        }
    }

    #[test]
    fn every_function_is_known_to_ring_or_not() {
        let ringing: Vec<_> = exported_functions()
            .unwrap()
            .into_iter()
            .map(|function| function.name)
            .filter(|name| !QUIET.contains(&name.as_str()))
            .collect();
        assert_eq!(
            ringing,
            [
                "calls.make-call",
                "dockets.create-docket",
                "dockets.create-docket-v2",
                "bulk.create-dockets-v2",
            ]
        );
    }
}
