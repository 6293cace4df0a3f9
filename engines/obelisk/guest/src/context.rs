//! The run's id in the call context, which the service returns with the docket.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use voice_calling_core::problem;
use voice_calling_core::types::Problem;

use crate::execution_id::RunId;
use crate::size::MOST_CONTEXT_BYTES;

/// The member of the call context that holds the id of the run.
pub const CONTEXT_KEY: &str = "obelisk_execution_id";

/// Returns the context with the run's id added. Everything else keeps its text.
pub fn with_run(context: &str, run: &str) -> Result<String, Problem> {
    if context.len() > MOST_CONTEXT_BYTES {
        let found = format!("{} bytes", context.len());
        let allowed = format!("at most {MOST_CONTEXT_BYTES} bytes");
        return Err(problem("call-context", found, allowed));
    }
    let no_object = |found: String| problem("call-context", found, "a JSON object");
    let value: &RawValue =
        serde_json::from_str(context).map_err(|error| no_object(format!("not JSON: {error}")))?;
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(value.get())
        .map_err(|_| no_object("JSON that is not an object".to_owned()))?;
    if members.contains_key(CONTEXT_KEY) {
        return Err(problem(
            format!("call-context.{CONTEXT_KEY}"),
            "a member of that name",
            "no such member: the run sets it",
        ));
    }
    let (open, rest) = context.split_once('{').unwrap_or_default();
    let comma = if members.is_empty() { "" } else { "," };
    Ok(format!(r#"{open}{{"{CONTEXT_KEY}":"{run}"{comma}{rest}"#))
}

/// Returns the run that the context names, if any.
pub fn run_of_context(context: &str) -> Option<RunId> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(context).ok()?;
    let id: String = serde_json::from_str(members.get(CONTEXT_KEY)?.get()).ok()?;
    RunId::read(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA.n:open_7";

    #[test]
    fn the_id_is_added_and_all_else_keeps_its_text() {
        let context = "{ \"big\": 12345678901234567890, \"\\ud800\": 0.10, \"a\":1, \"a\":2 }";
        let tagged = with_run(" {\"amount\": 0.10} ", RUN).unwrap();
        assert_eq!(
            tagged,
            format!(" {{\"obelisk_execution_id\":\"{RUN}\",\"amount\": 0.10}} ")
        );
        assert_eq!(run_of_context(&tagged).unwrap().as_str(), RUN);
        let empty = with_run("{ }", RUN).unwrap();
        assert_eq!(empty, format!("{{\"obelisk_execution_id\":\"{RUN}\" }}"));
        assert_eq!(run_of_context(&empty).unwrap().as_str(), RUN);
        // A key that no Rust string can hold is refused: supporting it is not worth the effort.
        assert_eq!(with_run(context, RUN).unwrap_err().allowed, "a JSON object");
    }

    #[test]
    fn a_context_that_is_no_object_or_has_the_key_is_refused() {
        for context in ["", "[]", "null", "\"{}\"", "{", "{}}"] {
            let refused = with_run(context, RUN).unwrap_err();
            assert_eq!(refused.allowed, "a JSON object", "{context:?}");
        }
        for taken in [
            r#"{"obelisk_execution_id":1}"#,
            r#"{"obelisk_execution_\u0069d":1}"#,
        ] {
            let refused = with_run(taken, RUN).unwrap_err();
            assert_eq!(refused.subject, "call-context.obelisk_execution_id");
        }
    }

    #[test]
    fn a_context_is_as_large_as_allowed_and_no_larger() {
        let largest = format!("{{{}}}", " ".repeat(MOST_CONTEXT_BYTES - 2));
        assert!(with_run(&largest, RUN).is_ok());
        let larger = with_run(&format!("{largest} "), RUN).unwrap_err();
        assert_eq!(
            (&*larger.found, &*larger.allowed),
            ("32769 bytes", "at most 32768 bytes")
        );
    }

    #[test]
    fn a_context_without_an_id_of_the_engines_form_names_no_run() {
        for context in [
            "{}",
            "[]",
            "",
            r#"{"obelisk_execution_id":null}"#,
            r#"{"obelisk_execution_id":7}"#,
            r#"{"obelisk_execution_id":"E_1"}"#,
            r#"{"in":{"obelisk_execution_id":"E_01JA1Z3KQ4T2X8V5R6M7N8P9QA"}}"#,
        ] {
            assert_eq!(run_of_context(context), None, "{context}");
        }
    }
}
