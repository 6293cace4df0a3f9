//! Functions called by name, JSON in and out.

use crate::operation::{DOCKET_ID, Operation, SATISFYING};
use crate::script::{Script, Step};
use crate::stage::{FREE_FORM, NUMBER, plugin};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use voice_calling_host::invoke::{Answer, invoke};

/// Calls a function of an instance that talks to this service.
async fn invoked(script: &Script, function: &str, arguments: &str) -> anyhow::Result<Answer> {
    let arguments = RawValue::from_string(arguments.to_owned())?;
    invoke(plugin(), script.settings(&[]), function, &arguments).await
}

/// What a function answers, and what it has sent.
async fn answered(step: Step, function: &str, arguments: &str) -> (Value, Vec<String>) {
    let script = Script::new([step]);
    let answer = invoked(&script, function, arguments).await.unwrap();
    let sent = script.sent().into_iter().map(|sent| {
        let body = String::from_utf8(sent.body.clone()).unwrap();
        format!("{} {} {body}", sent.method, sent.path_and_query())
    });
    (answer.expect("no error"), sent.collect())
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
    let answer =
        r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN","created":true}"#;
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
        format!(
            r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","call_context":{FREE_FORM},"external_id":"crm-7","extra":{{"priority":1.0}}}}"#
        ),
        format!(
            r#"{{"extra":"{{\"priority\":1.0}}","call_context":{quoted},"external_id":"crm-7","to_phone_number":"{NUMBER}","agent_id":7}}"#
        ),
    ] {
        let (value, sent) =
            answered(Step::ok(answer), "dockets.create-docket-v2", &arguments).await;
        for (member, expected) in [
            ("docket_id", json!("7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11")),
            ("status", json!("open")),
            ("created", json!(true)),
            ("raw_json", json!(answer)),
            ("request_id", Value::Null),
            ("may_be_duplicate", json!(false)),
        ] {
            assert_eq!(value[member], expected, "{member}");
        }
        assert_eq!(value["attempts"][0]["status"], json!(200));
        assert_eq!(sent, [format!("POST /api/v2/dockets {body}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn options_may_be_left_out_or_null() {
    let body = r#"POST /agents/ {"agent_name":"a","tools":null}"#;
    for arguments in [
        r#"{"agent_name":"a"}"#,
        r#"{"agent_name":"a","prompt":null,"tools":null,"extra":null}"#,
        r#"{"config":{"agent_name":"a"},"options":null}"#,
        r#"{"config":{"agent_name":"a"},"options":{"account":null}}"#,
    ] {
        let step = Step::ok(r#"{"agent_id":7}"#);
        let (value, sent) = answered(step, "agents.create-agent", arguments).await;
        assert_eq!(value["agent_id"], json!(7));
        assert_eq!(value["raw_json"], json!("{\"agent_id\":7}"));
        assert_eq!(value["raw_text"], Value::Null);
        assert_eq!(sent, [body]);
    }
}

#[tokio::test(start_paused = true)]
async fn parameters_that_are_no_lone_record_are_members_by_their_names() {
    let step = || Step::ok(r#"{"call_status":"RINGING","call_duration":1.5}"#);
    let (value, sent) = answered(step(), "calls.get-call-details", r#"{"task_id":"a/b"}"#).await;
    assert_eq!(sent, ["GET /call_details/a%2Fb "]);
    let call = &value["calls"][0];
    assert_eq!(call["call_status"], json!({"other": "RINGING"}));
    assert_eq!(call["call_duration_s"], json!(1.5));
    assert_eq!(call["call_insights"], Value::Null);

    for arguments in [
        r#"{"task_id":"t","wait":{"timeout_ms":1,"not_found_is_pending":false}}"#,
        r#"{"options":{"deadline_ms":1},"wait":{"timeout_ms":1},"task_id":"t"}"#,
    ] {
        let (value, sent) = answered(step(), "calls.wait-for-call-details", arguments).await;
        assert_eq!(sent, ["GET /call_details/t "]);
        let seen = &value["outcome"]["pending"]["calls"][0];
        assert_eq!(seen["call_duration_s"], json!(1.5));
        assert_eq!(value["polls"], json!(1));
    }
}

#[tokio::test(start_paused = true)]
async fn pairs_are_an_object() {
    let body = format!(
        r#"POST /make_call {{"from_agent_name":"a","to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{"z":"1","name":"Asha"}}}}}}"#
    );
    let arguments = format!(
        r#"{{"from_agent_name":"a","to_phone_number":"{NUMBER}","call_context":{{"z":"1","name":"Asha"}}}}"#
    );
    let (value, sent) = answered(Step::ok(SATISFYING), "calls.make-call", &arguments).await;
    assert_eq!(value["task_id"], json!("task-1"));
    assert_eq!(sent, [body]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_a_list_of_results() {
    let arguments = format!(
        r#"{{"requests":[{{"agent_id":7,"to_phone_number":"{NUMBER}","call_context":{{}}}},{{"agent_id":7,"to_phone_number":"1","call_context":{{}}}}],"timeout_ms":1000}}"#
    );
    let step = Step::ok(SATISFYING);
    let (value, sent) = answered(step, "bulk.create-dockets-v2", &arguments).await;
    assert_eq!(sent.len(), 1);
    assert_eq!(value[0]["ok"]["docket_id"], json!(DOCKET_ID));
    let problem = &value[1]["error"]["permanent_invalid_input"]["problem"];
    assert_eq!(problem["subject"], json!("to-phone-number"));
    assert_eq!(problem["found"], json!("1 digits"));
}

#[tokio::test(start_paused = true)]
async fn a_body_may_be_the_text_or_the_json_in_it() {
    let delivery = format!(r#"{{"docket_id":"{DOCKET_ID}","attempts":[0.10]}}"#);
    let quoted = serde_json::to_string(&delivery).unwrap();
    let function = "webhooks.parse-docket-completed";
    for body in [&delivery, &quoted] {
        let arguments = format!(r#"{{"body":{body}}}"#);
        let (value, sent) = answered(Step::ok(""), function, &arguments).await;
        assert!(sent.is_empty());
        assert_eq!(value["docket_id"], json!(DOCKET_ID));
        assert_eq!(value["attempts"], json!("[0.10]"));
    }
    let (value, _) = answered(Step::ok(""), function, r#"{"body":"{}"}"#).await;
    assert_eq!(value, Value::Null, "no completion");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_component_is_json() {
    let step = Step::status(422).body("no").header("x-request-id", "req-7");
    let script = Script::new([step]);
    let answer = invoked(&script, "agents.list-agents", r#"{"organization_id":"o"}"#).await;
    let error = answer.unwrap().unwrap_err();
    let response = json!({
        "status": 422, "body": "no", "body_cut": false,
        "request_id": "req-7", "retry_after_ms": null,
    });
    assert_eq!(error["permanent_rejected"]["response"], response);
    assert_eq!(error["permanent_rejected"]["problem"], Value::Null);
    assert_eq!(
        error["permanent_rejected"]["may_have_created"],
        json!(false)
    );
    let attempts = &error["permanent_rejected"]["attempts"];
    assert_eq!(attempts[0]["status"], json!(422));
    assert_eq!(attempts.as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_function_that_sends_requests_can_be_invoked() {
    let docket = format!(r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","call_context":{{}}}}"#);
    let id = crate::operation::DOCKET_ID;
    let wait = r#""wait":{"timeout_ms":1000,"not_found_is_pending":true}"#;
    for operation in Operation::ALL {
        let (function, arguments) = match operation {
            Operation::CreateAgent => ("agents.create-agent", r#"{"agent_name":"a"}"#.into()),
            Operation::ListAgents => ("agents.list-agents", r#"{"organization_id":"o"}"#.into()),
            Operation::MakeCall => (
                "calls.make-call",
                format!(r#"{{"from_agent_name":"a","to_phone_number":"{NUMBER}"}}"#),
            ),
            Operation::GetCallDetails => ("calls.get-call-details", r#"{"task_id":"t"}"#.into()),
            Operation::WaitForCallDetails => (
                "calls.wait-for-call-details",
                format!(r#"{{"task_id":"t",{wait}}}"#),
            ),
            Operation::CreateDocket => ("dockets.create-docket", docket.clone()),
            Operation::CreateDocketV2 => ("dockets.create-docket-v2", docket.clone()),
            Operation::GetDocket => ("dockets.get-docket", format!(r#"{{"docket_id":"{id}"}}"#)),
            Operation::WaitForDocket => (
                "dockets.wait-for-docket",
                format!(r#"{{"docket_id":"{id}",{wait}}}"#),
            ),
            Operation::CreateDocketsV2 => (
                "bulk.create-dockets-v2",
                format!(r#"{{"requests":[{docket}],"timeout_ms":1000}}"#),
            ),
            Operation::VerifyDocketCompleted => (
                "webhooks.verify-docket-completed",
                format!(r#"{{"body":{{"docket_id":"{id}","status":"COMPLETED"}}}}"#),
            ),
        };
        let (_, sent) = answered(Step::ok(operation.satisfying()), function, &arguments).await;
        assert_eq!(sent.len(), 1, "{function}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_function_is_told_with_those_that_there_are() {
    for function in ["calls.make_call", "make-call", "", "calls.", "types.docket"] {
        let error = misunderstood(function, "{}").await;
        assert!(error.contains(&format!("{function:?}")), "{error}");
        assert!(error.contains("calls.make-call"), "{error}");
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
            r#"{"organization_id":7}"#,
            "organization_id: found 7; expected a string",
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
            "dockets.create-docket",
            r#"{"agent_id":"7","to_phone_number":"1","call_context":{}}"#,
            "agent_id: found \"7\"; expected an integer of 64 bits",
        ),
        (
            "agents.create-agent",
            r#"{"agent_name":"a","prompt":{"default":"x"}}"#,
            "prompt.default_text: missing",
        ),
        (
            "agents.create-agent",
            r#"{"agent_name":"a","enabled":1}"#,
            "enabled: found 1; expected true or false",
        ),
        (
            "dockets.wait-for-docket",
            r#"{"docket_id":"d","wait":{"timeout_ms":-1,"not_found_is_pending":true}}"#,
            "wait.timeout_ms: found -1; expected a number from 0 to 4294967295",
        ),
        (
            "bulk.create-dockets-v2",
            r#"{"requests":[{"agent_id":7}],"timeout_ms":1}"#,
            "requests[0].to_phone_number: missing",
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
            "agents.list-agents",
            r#"{"organization_id":"o","options":{"deadline":1}}"#,
            "options: unknown member \"deadline\"; allowed: account, deadline_ms, max_attempts",
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
            "bulk.create-dockets-v2",
            r#"{"requests":{},"timeout_ms":1}"#,
            "requests: found {}; expected a JSON array",
        ),
    ] {
        let error = misunderstood(function, arguments).await;
        assert!(error.starts_with(expected), "{error}");
    }
}
