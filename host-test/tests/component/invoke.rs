//! Functions called by name with invalid JSON arguments. The table of cases proves that each can be
//! called, and how results and errors look.

use crate::stage::{Script, Step, plugin, settings};
use serde_json::value::RawValue;
use voice_calling_host::invoke::invoke;

/// Returns the host's own error; nothing may be sent.
async fn misunderstood(function: &str, arguments: &str) -> String {
    let script = Script::new([Step::ok("[]")]);
    let settings = settings(&[], script.outgoing());
    let json = RawValue::from_string(arguments.to_owned()).unwrap();
    let answer = invoke(plugin(), settings, function, &json).await;
    assert!(script.sent().is_empty(), "{function} {arguments}");
    format!("{:#}", answer.unwrap_err())
}

#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_are_told_by_their_names() {
    for (function, arguments, expected) in [
        ("agents.list-agents", "{}", "organization_id: missing"),
        (
            "agents.list-agents",
            r#"{"organization_id":"o","org":1}"#,
            "arguments: unknown member \"org\"; allowed: organization_id, options",
        ),
        (
            "agents.list-agents",
            r#"{"organization_id":null}"#,
            "organization_id: found null; expected a string",
        ),
        (
            "agents.list-agents",
            "[]",
            "arguments: found []; expected a JSON object",
        ),
        (
            "agents.list-agents",
            r#"{"organization_id":"o","options":{"deadline":1}}"#,
            "options: unknown member \"deadline\"; allowed: account, deadline_ms, max_attempts",
        ),
        (
            "agents.create-agent",
            r#"{"agent_name":"a","prompt":{"default":"x"}}"#,
            "prompt.default_text: missing",
        ),
        (
            "agents.create-agent",
            r#"{"config":{"agent_name":"a","enabled":1}}"#,
            "config.enabled: found 1; expected true or false",
        ),
        (
            "agents.create-agent",
            r#"{"agent_name":"a","options":null}"#,
            "arguments: unknown member \"options\"; allowed: prompt, agent_name",
        ),
        (
            "calls.make-call",
            r#"{"from_agent_name":"a","to_phone_number":"1","call_context":{"n":1}}"#,
            "call_context.n: found 1; expected a string",
        ),
        (
            "calls.make-call",
            r#"{"from_agent_name":"a","to_phone_number":"1","call_context":[["n","1"]]}"#,
            "call_context: found [[\"n\",\"1\"]]; expected a JSON object",
        ),
        (
            "dockets.create-docket",
            r#"{"agent_id":"7","to_phone_number":"1","call_context":{}}"#,
            "agent_id: found \"7\"; expected an integer of 64 bits",
        ),
        (
            "dockets.wait-for-docket",
            r#"{"docket_id":"d","wait":{"timeout_ms":-1,"not_found_is_pending":true}}"#,
            "wait.timeout_ms: found -1; expected a number from 0 to 4294967295",
        ),
        (
            "bulk.create-dockets-v2",
            r#"{"requests":{},"timeout_ms":1}"#,
            "requests: found {}; expected a JSON array",
        ),
        (
            "bulk.create-dockets-v2",
            r#"{"requests":[{"agent_id":7}],"timeout_ms":1}"#,
            "requests[0].to_phone_number: missing",
        ),
    ] {
        let error = misunderstood(function, arguments).await;
        assert!(error.starts_with(expected), "{error}");
    }
}
