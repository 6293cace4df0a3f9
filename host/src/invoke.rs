//! Calls any function of a plugin, with JSON as input and output.

mod values;

use crate::plugin::Instance;
use anyhow::{Result, bail};
use serde_json::Value;
use serde_json::value::RawValue;
use wasmtime::ToWasmtimeResult;
use wasmtime::component::Val;
use wasmtime::error::Context;

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
        let call = self.sandbox.call_named(function, async |store, instance| {
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
