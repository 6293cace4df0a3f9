//! Functions called by name, JSON in and out. That each of them can be, and how results and errors
//! look, the table of cases shows.

use crate::stage::{FREE_FORM, NUMBER, Operation, Script, Step, plugin, settings};
use Operation::{CreateAgent, CreateDocketV2, MakeCall, WaitForCallDetails};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use voice_calling_host::invoke::{Answer, invoke};

/// Calls a function of an instance that talks to this service.
async fn invoked(script: &Script, function: &str, arguments: &str) -> anyhow::Result<Answer> {
    let arguments = RawValue::from_string(arguments.to_owned())?;
    invoke(
        plugin(),
        settings(&[], script.outgoing()),
        function,
        &arguments,
    )
    .await
}

/// What a function answers, and its only request.
async fn answered(operation: Operation, arguments: &str) -> (Value, String) {
    let script = Script::new([Step::ok(operation.satisfying())]);
    let answer = invoked(&script, &operation.to_string(), arguments).await;
    let [sent] = script.sent().try_into().expect("one request");
    let body = String::from_utf8_lossy(&sent.body);
    let sent = format!("{} {} {body}", sent.method, sent.path_and_query());
    (answer.unwrap().expect("no error"), sent)
}

/// The host's own error: nothing may be sent.
async fn misunderstood(function: &str, arguments: &str) -> String {
    let script = Script::new([Step::ok("[]")]);
    let error = invoked(&script, function, arguments).await.unwrap_err();
    assert!(script.sent().is_empty(), "{function} {arguments}");
    format!("{error:#}")
}

#[tokio::test(start_paused = true)]
async fn a_record_is_the_arguments_itself_and_free_form_json_needs_no_quotes() {
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{FREE_FORM}}},"external_id":"crm-7","priority":1.0}}"#
    );
    let quoted = serde_json::to_string(FREE_FORM).unwrap();
    let record = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","call_context":{FREE_FORM},"external_id":"crm-7","extra":{{"priority":1.0}}}}"#
    );
    for arguments in [
        format!(r#"{{"request":{record}}}"#),
        format!(r#"{{"options":{{"max_attempts":2}},"request":{record}}}"#),
        record,
        format!(
            r#"{{"extra":"{{\"priority\":1.0}}","call_context":{quoted},"external_id":"crm-7","to_phone_number":"{NUMBER}","agent_id":7}}"#
        ),
    ] {
        let (value, sent) = answered(CreateDocketV2, &arguments).await;
        assert_eq!(value["raw_json"], CreateDocketV2.satisfying());
        assert_eq!(sent, format!("POST /api/v2/dockets {body}"));
    }
}

#[tokio::test(start_paused = true)]
async fn options_may_be_left_out_or_null_and_pairs_are_an_object() {
    let agent = r#"POST /agents/ {"agent_name":"a","tools":null}"#;
    let details = "GET /call_details/t ";
    let call = format!(
        r#"POST /make_call {{"from_agent_name":"a","to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{"z":"1","name":"Asha"}}}}}}"#
    );
    let with_context = format!(
        r#"{{"from_agent_name":"a","to_phone_number":"{NUMBER}","call_context":{{"z":"1","name":"Asha"}}}}"#
    );
    for (operation, arguments, expected) in [
        (CreateAgent, r#"{"agent_name":"a"}"#, agent),
        (
            CreateAgent,
            r#"{"agent_name":"a","prompt":null,"tools":null,"extra":null}"#,
            agent,
        ),
        (
            CreateAgent,
            r#"{"config":{"agent_name":"a"},"options":null}"#,
            agent,
        ),
        (
            CreateAgent,
            r#"{"config":{"agent_name":"a"},"options":{"account":null}}"#,
            agent,
        ),
        (
            WaitForCallDetails,
            r#"{"task_id":"t","wait":{"timeout_ms":1,"not_found_is_pending":false}}"#,
            details,
        ),
        (
            WaitForCallDetails,
            r#"{"options":{"deadline_ms":1},"wait":{"timeout_ms":1},"task_id":"t"}"#,
            details,
        ),
        (MakeCall, &with_context, &call),
    ] {
        let (_, sent) = answered(operation, arguments).await;
        assert_eq!(sent, expected, "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_may_be_the_text_or_the_json_in_it() {
    let delivery = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","attempts":[0.10]}"#;
    for body in [delivery, &serde_json::to_string(delivery).unwrap()] {
        let arguments = format!(r#"{{"body":{body}}}"#);
        let script = Script::new([]);
        let value = invoked(&script, "webhooks.parse-docket-completed", &arguments).await;
        let value = value.unwrap().expect("no error");
        assert_eq!(
            (&value["raw_json"], &value["attempts"]),
            (&json!(delivery), &json!("[0.10]"))
        );
    }
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
