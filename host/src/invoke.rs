//! Calls any function of a plugin, with JSON as input and output.

mod values;

use crate::plugin::Instance;
use anyhow::{Result, bail};
use serde_json::Value;
use serde_json::value::RawValue;
use voice_calling_core::base_url::BaseUrl;
use wasmtime::ToWasmtimeResult;
use wasmtime::component::Val;
use wasmtime::error::Context;

/// The functions that make a phone ring.
pub const RINGING: [&str; 4] = [
    "calls.make-call",
    "dockets.create-docket",
    "dockets.create-docket-v2",
    "bulk.create-dockets-v2",
];

/// The functions that certainly make no phone ring. All others count as functions that do.
pub const NOT_RINGING: [&str; 8] = [
    "agents.create-agent",
    "agents.list-agents",
    "calls.get-call-details",
    "calls.wait-for-call-details",
    "dockets.get-docket",
    "dockets.wait-for-docket",
    "webhooks.parse-docket-completed",
    "webhooks.verify-docket-completed",
];

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

impl Instance {
    /// Calls a function, such as `calls.make-call`, with arguments from JSON: an object with a member for each
    /// parameter, of which options may be omitted; or the record itself, for a function whose
    /// parameters are a record and options. Arguments that do not fit are an error, and end the
    /// instance.
    pub async fn invoke(&mut self, function: &str, arguments: &RawValue) -> Result<Outcome> {
        let (interface, name) = function.split_once('.').unwrap_or_default();
        let path = self.kind.interface(interface);
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
        let remote = ["http://127.0.0.1:8080", "https://api.example"];
        for function in RINGING.into_iter().chain(["calls.something-new"]) {
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
        for function in NOT_RINGING {
            let checked = check_real_call(function, remote, false);
            assert!(checked.is_ok(), "{function}");
        }
    }
}
