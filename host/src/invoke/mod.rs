//! Calls any function of a plugin, with JSON as input and output.

pub mod functions;
mod values;

use self::functions::exported_functions;
use crate::guest::settings::InstanceSettings;
use crate::load::interface::exported_interface;
use crate::plugin::{Instance, Plugin};
use anyhow::{Result, bail};
use serde_json::Value;
use serde_json::value::RawValue;
use voice_calling_core::base_url::BaseUrl;
use wasmtime::ToWasmtimeResult;
use wasmtime::component::Val;
use wasmtime::error::Context;

/// The functions that certainly make no phone ring. All others count as functions that do.
const NOT_RINGING: [&str; 8] = [
    "agents.create-agent",
    "agents.list-agents",
    "calls.get-call-details",
    "calls.wait-for-call-details",
    "dockets.get-docket",
    "dockets.wait-for-docket",
    "webhooks.parse-docket-completed",
    "webhooks.verify-docket-completed",
];

/// Rejects an unknown function.
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

/// Rejects a call that would make a real phone ring, unless the user asked for that.
pub fn check_real_call<'a>(
    function: &str,
    base_urls: impl IntoIterator<Item = &'a str>,
    place_real_call: bool,
) -> Result<()> {
    let is_remote = |url| !BaseUrl::parse(url).is_ok_and(|url| url.is_loopback());
    let remote = base_urls.into_iter().any(is_remote);
    if remote && !place_real_call && !NOT_RINGING.contains(&function) {
        bail!(
            "{function} makes a real phone ring, because VOICE_CALLING_BASE_URL, or that of an account, is not on this machine: pass --place-real-call to allow it"
        );
    }
    Ok(())
}

/// The outcome of a function as JSON: its value, or its error.
pub type Outcome = std::result::Result<Value, Value>;

/// Calls a function, such as `calls.make-call`, in a fresh instance.
pub async fn invoke(
    plugin: &Plugin,
    settings: InstanceSettings,
    function: &str,
    arguments: &RawValue,
) -> Result<Outcome> {
    let mut instance = plugin.instantiate(settings).await?;
    instance.invoke(function, arguments).await
}

impl Instance {
    /// Calls a function by name with arguments from JSON: an object with a member for each
    /// parameter, of which options may be omitted; or the record itself, for a function whose
    /// parameters are a record and options. Arguments that do not fit are an error, and end the
    /// instance.
    pub async fn invoke(&mut self, function: &str, arguments: &RawValue) -> Result<Outcome> {
        check_known(function)?;
        let (interface, name) = function.split_once('.').unwrap_or_default();
        let path = exported_interface(self.kind, interface);
        let call = self.inner.call_named(function, async |store, instance| {
            let interface = instance.get_export_index(&mut *store, None, &path);
            let index = instance.get_export_index(&mut *store, interface.as_ref(), name);
            let callee = index
                .and_then(|index| instance.get_func(&mut *store, index))
                .with_context(|| format!("the component does not export {function}"))?;
            let ty = callee.ty(&*store);
            let arguments = values::arguments(arguments, ty.params().collect());
            let arguments = arguments.to_wasmtime_result()?;
            let mut results = vec![Val::Bool(false); ty.results().len()];
            callee.call_async(store, &arguments, &mut results).await?;
            Ok(results)
        });
        let results = call.await?;
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
    fn a_real_phone_rings_only_if_the_user_asks_for_it() {
        let functions = exported_functions().unwrap();
        let names = functions.iter().map(|function| function.name.as_str());
        let ringing: Vec<_> = names.filter(|name| !NOT_RINGING.contains(name)).collect();
        let expected = [
            "calls.make-call",
            "dockets.create-docket",
            "dockets.create-docket-v2",
            "bulk.create-dockets-v2",
        ];
        assert_eq!(ringing, expected);
        let remote = ["http://127.0.0.1:8080", "https://api.example"];
        for function in ringing.into_iter().chain(["calls.something-new"]) {
            for (urls, allowed) in [
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
                assert_eq!(is_allowed(false), allowed, "{function} {urls:?}");
                assert!(is_allowed(true), "{function} {urls:?}");
            }
        }
        for quiet in NOT_RINGING {
            assert!(check_real_call(quiet, remote, false).is_ok(), "{quiet}");
        }
    }
}
