//! Arguments that are refused before anything is sent, each with the field, what was
//! found and what is allowed.

use crate::failure::invalid_input;
use crate::operation::{DOCKET_ID, NO_OPTIONS, agent, call, docket, docket_v2, returned, wait};
use crate::script::{Script, Step};
use voice_calling_host::types::*;

/// A call of a function.
#[derive(Clone, Debug)]
enum Input {
    CreateAgent(Box<AgentConfig>),
    ListAgents(String),
    MakeCall(CallRequest),
    GetCallDetails(String),
    WaitForCallDetails(String, WaitOptions),
    CreateDocket(DocketRequest),
    CreateDocketV2(DocketRequestV2),
    CreateDocketsV2(DocketRequestV2, u32),
    GetDocket(String),
    WaitForDocket(String, WaitOptions),
    VerifyDocketCompleted(String),
}

use Input::*;

/// Calls the function, which must refuse its input and send nothing.
async fn refused(input: &Input, settings: &[(&str, &str)]) -> Problem {
    refused_with(input, None, settings).await
}

/// The same with options.
async fn refused_with(
    input: &Input,
    options: Option<CallOptions>,
    settings: &[(&str, &str)],
) -> Problem {
    let script = Script::new([Step::status(500)]);
    let mut instance = script.instance(settings).await;
    let result = match input {
        CreateAgent(config) => returned(instance.create_agent(config, options))
            .await
            .map(drop),
        ListAgents(id) => returned(instance.list_agents(id, options)).await.map(drop),
        MakeCall(request) => returned(instance.make_call(request, options))
            .await
            .map(drop),
        GetCallDetails(id) => returned(instance.get_call_details(id, options))
            .await
            .map(drop),
        WaitForCallDetails(id, wait) => {
            let wait = instance.wait_for_call_details(id, *wait, options);
            returned(wait).await.map(drop)
        }
        CreateDocket(request) => returned(instance.create_docket(request, options))
            .await
            .map(drop),
        CreateDocketV2(request) => {
            let created = instance.create_docket_v2(request, options);
            returned(created).await.map(drop)
        }
        CreateDocketsV2(request, timeout_ms) => {
            let batch = [request.clone()];
            let results = returned(instance.create_dockets_v2(&batch, *timeout_ms, options)).await;
            results.and_then(|mut results| results.remove(0)).map(drop)
        }
        GetDocket(id) => returned(instance.get_docket(id, options)).await.map(drop),
        WaitForDocket(id, wait) => {
            let wait = instance.wait_for_docket(id, *wait, options);
            returned(wait).await.map(drop)
        }
        VerifyDocketCompleted(body) => {
            let verified = instance.verify_docket_completed(body, options);
            returned(verified).await.map(drop)
        }
    };
    let problem = invalid_input(result);
    assert!(script.sent().is_empty(), "{input:?}");
    problem
}

/// Each input is refused in this field; `found` is how the finding begins.
async fn all_are_refused(inputs: &[Input], field: &str, found: &str, allowed: &str) {
    for input in inputs {
        let problem = refused(input, &[]).await;
        assert_eq!(problem.subject, field, "{input:?}");
        assert!(problem.found.starts_with(found), "{problem:?}");
        assert_eq!(problem.allowed, allowed, "{input:?}");
    }
}

/// A docket in either version and in a batch, changed alike.
fn dockets(number: &str, context: &str, extra: Option<&str>) -> [Input; 3] {
    let version_1 = DocketRequest {
        to_phone_number: number.into(),
        call_context: context.into(),
        extra: extra.map(Into::into),
        ..docket()
    };
    let version_2 = DocketRequestV2 {
        to_phone_number: number.into(),
        call_context: context.into(),
        extra: extra.map(Into::into),
        ..docket_v2()
    };
    [
        CreateDocket(version_1),
        CreateDocketV2(version_2.clone()),
        CreateDocketsV2(version_2, 1_000),
    ]
}

fn call_with(change: impl FnOnce(&mut CallRequest)) -> Input {
    let mut request = call();
    change(&mut request);
    MakeCall(request)
}

fn call_context(variables: &[(&str, &str)]) -> Input {
    let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    call_with(|request| request.call_context = variables.iter().map(variable).collect())
}

fn agent_with(change: impl FnOnce(&mut AgentConfig)) -> Input {
    let mut config = agent("renewals");
    change(&mut config);
    CreateAgent(Box::new(config))
}

fn tasks(id: &str) -> [Input; 2] {
    [
        GetCallDetails(id.into()),
        WaitForCallDetails(id.into(), wait(1_000)),
    ]
}

const OBJECT: &str = "a JSON object";
const NOT_EMPTY: &str = "a non-empty string";
const NO_CONTROL: &str = "a string without control characters";
const IDENTIFIER: &str = "a non-empty string other than `.` and `..`";
const OTHER_MEMBERS: &str = "other members";
const A_FIELD: &str = "a member that is a field of the request";

#[tokio::test(start_paused = true)]
async fn a_dockets_number_must_be_twelve_ascii_digits() {
    let allowed = "exactly 12 ASCII digits with the country code, without `+`";
    for (number, found) in [
        ("", "0 digits"),
        ("91987654321", "11 digits"),
        ("9198765432101", "13 digits"),
        ("+919876543210", "'+' at position 1"),
        ("+91987654321", "'+' at position 1"),
        ("91 987654321", "' ' at position 3"),
        ("9198765432lO", "'l' at position 11"),
        ("919876543210\n", "'\\n' at position 13"),
        ("\u{669}19876543210", "'\u{669}' at position 1"),
        ("91987654321\u{ff10}", "'\u{ff10}' at position 12"),
    ] {
        let inputs = dockets(number, "{}", None);
        all_are_refused(&inputs, "to-phone-number", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_calls_number_must_say_something_and_hold_no_control_character() {
    for (number, found, allowed) in [
        ("", "an empty string", NOT_EMPTY),
        ("91\r\n1", "'\\r' at position 3", NO_CONTROL),
        ("1\u{0}", "'\\0' at position 2", NO_CONTROL),
    ] {
        let input = call_with(|request| request.to_phone_number = number.into());
        all_are_refused(&[input], "to-phone-number", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_agents_name_must_not_be_empty() {
    let empty = "an empty string";
    let nameless = agent_with(|config| config.agent_name = String::new());
    all_are_refused(&[nameless], "agent-name", empty, NOT_EMPTY).await;
    let nameless = call_with(|request| request.from_agent_name = Some(String::new()));
    all_are_refused(&[nameless], "from-agent-name", empty, NOT_EMPTY).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_agents_name_needs_an_extra_that_selects_the_agent() {
    for extra in [None, Some("{}")] {
        let input = call_with(|request| {
            request.from_agent_name = None;
            request.extra = extra.map(Into::into);
        });
        let found = "none, and nothing in `extra`";
        let allowed = "an agent's name, or an `extra` that selects the agent";
        all_are_refused(&[input], "from-agent-name", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn identifiers_must_be_what_a_path_can_carry() {
    for (id, found, allowed) in [
        ("", "an empty string", IDENTIFIER),
        (".", "\".\", which cannot be part of a path", IDENTIFIER),
        ("..", "\"..\", which cannot be part of a path", IDENTIFIER),
        ("a\nb", "'\\n' at position 2", NO_CONTROL),
        ("\r\nx: y", "'\\r' at position 1", NO_CONTROL),
        ("\u{0}", "'\\0' at position 1", NO_CONTROL),
        ("a\u{7f}", "'\\u{7f}' at position 2", NO_CONTROL),
        ("\u{85}", "'\\u{85}' at position 1", NO_CONTROL),
    ] {
        all_are_refused(&tasks(id), "task-id", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_organization_id_must_say_something_in_one_line() {
    for (id, found, allowed) in [
        ("", "an empty string", NOT_EMPTY),
        ("a\nb", "'\\n' at position 2", NO_CONTROL),
        ("\u{0}", "'\\0' at position 1", NO_CONTROL),
    ] {
        let agents = ListAgents(id.into());
        all_are_refused(&[agents], "organization-id", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn identifiers_must_not_be_longer_than_a_server_takes() {
    let allowed = "at most 4096 bytes, percent-encoded";
    // Percent-encoded, `ü` has six bytes.
    for (id, found) in [
        ("t".repeat(4_097), "4097 bytes"),
        ("\u{fc}".repeat(683), "4098 bytes"),
    ] {
        all_are_refused(&tasks(&id), "task-id", found, allowed).await;
        let agents = [ListAgents(id)];
        all_are_refused(&agents, "organization-id", found, allowed).await;
    }
    let longest = "t".repeat(4_096);
    let script = Script::new([Step::ok("[]")]);
    let mut instance = script.instance(&[]).await;
    returned(instance.get_call_details(&longest, None))
        .await
        .unwrap();
    let path = format!("/call_details/{longest}");
    assert_eq!(script.sent()[0].path_and_query(), path);
}

#[tokio::test(start_paused = true)]
async fn a_docket_id_must_be_a_uuid_with_hyphens() {
    for id in [
        "",
        ".",
        "..",
        "42",
        "7f8d3b0e0d514f0c9a632f1a5c0d9e11",
        "{7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11}",
        "urn:uuid:7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
        "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e1g",
        "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11\n",
        "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e1/",
        "../../../make_call/7f8d3b0e-0d51-4f0",
    ] {
        let inputs = [GetDocket(id.into()), WaitForDocket(id.into(), wait(1_000))];
        let shown: String = id.chars().take(40).collect();
        let allowed = "a UUID in its hyphenated form, 36 characters";
        all_are_refused(&inputs, "docket-id", &format!("{shown:?}"), allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_context_must_be_a_json_object() {
    for (context, found) in [
        ("", "not JSON: "),
        ("[]", "an array"),
        ("null", "null"),
        ("7", "a number"),
        ("\"{}\"", "a string"),
        ("true", "a boolean"),
        ("{", "not JSON: "),
        ("{\"a\":1,}", "not JSON: "),
        ("{'a':1}", "not JSON: "),
        ("{a:1}", "not JSON: "),
        ("{} {}", "not JSON: "),
        ("{\"a\":NaN}", "not JSON: "),
        ("{\"a\":-Infinity}", "not JSON: "),
        ("{\"a\":01}", "not JSON: "),
        ("{\"a\":\"\n\"}", "not JSON: "),
        ("{\"a\":\"\\x\"}", "not JSON: "),
    ] {
        let number = docket().to_phone_number;
        let inputs = dockets(&number, context, None);
        all_are_refused(&inputs, "call-context", found, OBJECT).await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_name_of_a_calls_context_may_occur_twice() {
    let inputs = [
        call_context(&[("name", "Asha"), ("name", "Ravi")]),
        call_context(&[("name", "Asha"), ("due", "today"), ("name", "Asha")]),
    ];
    let (found, allowed) = ("a duplicate name", "each name once");
    all_are_refused(&inputs, "call-context.name", found, allowed).await;
}

#[tokio::test(start_paused = true)]
async fn extra_members_must_not_collide_with_fields() {
    let number = docket().to_phone_number;
    for name in ["agent_id", "to_phone_number"] {
        let extra = format!(r#"{{"new":1,"{name}":null}}"#);
        let inputs = dockets(&number, "{}", Some(&extra));
        let field = format!("extra.{name}");
        all_are_refused(&inputs, &field, A_FIELD, OTHER_MEMBERS).await;
    }
    let inputs = dockets(&number, "{}", Some(r#"{"external_id":"x"}"#));
    all_are_refused(&inputs[1..], "extra.external_id", A_FIELD, OTHER_MEMBERS).await;
    // The same name, spelt otherwise.
    let inputs = dockets(&number, "{}", Some(r#"{"\u0061gent_id":8}"#));
    all_are_refused(&inputs, "extra.agent_id", A_FIELD, OTHER_MEMBERS).await;

    for name in ["from_agent_name", "to_phone_number"] {
        let input = call_with(|request| request.extra = Some(format!(r#"{{"{name}":"x"}}"#)));
        let field = format!("extra.{name}");
        all_are_refused(&[input], &field, A_FIELD, OTHER_MEMBERS).await;
    }
    // The context has a field of its own.
    let extra = r#"{"extra_config":{"language":"hi","call_context":{}}}"#;
    let mut inputs = dockets(&number, "{}", Some(extra)).to_vec();
    inputs.push(call_with(|request| request.extra = Some(extra.into())));
    let field = "extra.extra_config.call_context";
    all_are_refused(&inputs, field, A_FIELD, OTHER_MEMBERS).await;
    let mut inputs = dockets(&number, "{}", Some(r#"{"extra_config":7}"#)).to_vec();
    inputs.push(call_with(|request| {
        request.extra = Some(r#"{"extra_config":7}"#.into())
    }));
    all_are_refused(&inputs, "extra.extra_config", "a number", "a JSON object").await;

    for name in [
        "prompt",
        "agent_name",
        "agent_phone_number",
        "voice_id",
        "version",
        "welcome_text",
        "tools",
        "enabled",
        "save_stats",
        "server_type",
        "call_type",
        "created_at",
        "updated_at",
    ] {
        let input = agent_with(|config| config.extra = Some(format!(r#"{{"{name}":1}}"#)));
        let field = format!("extra.{name}");
        all_are_refused(&[input], &field, A_FIELD, OTHER_MEMBERS).await;
    }
}

fn text_with(extra: &str) -> Option<AgentText> {
    Some(AgentText {
        default_text: "Hello".into(),
        extra: Some(extra.into()),
    })
}

#[tokio::test(start_paused = true)]
async fn the_texts_of_an_agent_take_no_other_default() {
    let extra = r#"{"default":"x"}"#;
    let prompt = agent_with(|config| config.prompt = text_with(extra));
    all_are_refused(&[prompt], "prompt.extra.default", A_FIELD, OTHER_MEMBERS).await;
    let welcome = agent_with(|config| config.welcome_text = text_with(extra));
    let field = "welcome-text.extra.default";
    all_are_refused(&[welcome], field, A_FIELD, OTHER_MEMBERS).await;
}

#[tokio::test(start_paused = true)]
async fn extra_members_must_be_a_json_object_with_keys_that_are_text() {
    let number = docket().to_phone_number;
    for (extra, found, allowed) in [
        ("[]", "an array", OBJECT),
        ("null", "null", OBJECT),
        ("{", "not JSON: ", OBJECT),
        (
            r#"{"\ud800":1}"#,
            "a key with a lone surrogate",
            "keys that are valid Unicode",
        ),
    ] {
        let mut inputs = dockets(&number, "{}", Some(extra)).to_vec();
        inputs.push(call_with(|request| request.extra = Some(extra.into())));
        inputs.push(agent_with(|config| config.extra = Some(extra.into())));
        all_are_refused(&inputs, "extra", found, allowed).await;
        let prompt = agent_with(|config| config.prompt = text_with(extra));
        all_are_refused(&[prompt], "prompt.extra", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_agents_tools_must_be_json() {
    for tools in ["", "lookup", "[NaN]", "{} {}"] {
        let input = agent_with(|config| config.tools = Some(tools.into()));
        all_are_refused(&[input], "tools", "not JSON: ", "JSON").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_must_not_be_larger_than_is_allowed() {
    let context = format!(r#"{{"note":"{}"}}"#, "x".repeat(1_000));
    let number = docket().to_phone_number;
    let mut inputs = dockets(&number, &context, None).to_vec();
    inputs.push(call_context(&[("note", &context)]));
    inputs.push(agent_with(|config| config.prompt = text_with(&context)));
    for input in inputs {
        let problem = refused(&input, &[("MAX_REQUEST_BYTES", "1000")]).await;
        assert_eq!(problem.subject, "request", "{input:?}");
        assert!(problem.found.ends_with(" bytes of text"), "{problem:?}");
        assert_eq!(
            problem.allowed,
            "at most VOICE_CALLING_MAX_REQUEST_BYTES, which is 1000"
        );
    }
    // The default is a mebibyte.
    let context = format!(r#"{{"note":"{}"}}"#, "x".repeat(1 << 20));
    all_are_refused(
        &dockets(&number, &context, None),
        "request",
        "10485",
        "at most VOICE_CALLING_MAX_REQUEST_BYTES, which is 1048576",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_time_of_nothing_is_refused() {
    let allowed = "1 to 4294967295 milliseconds";
    let waits = [
        WaitForCallDetails("task-1".into(), wait(0)),
        WaitForDocket(DOCKET_ID.into(), wait(0)),
    ];
    all_are_refused(&waits, "wait.timeout-ms", "0", allowed).await;
    let batch = CreateDocketsV2(docket_v2(), 0);
    all_are_refused(&[batch], "timeout-ms", "0", allowed).await;
}

/// An input of each function that nothing but its options is wrong with.
fn good() -> [Input; 11] {
    let number = docket().to_phone_number;
    let [version_1, version_2, batch] = dockets(&number, "{}", None);
    let delivery = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    [
        agent_with(|_| ()),
        ListAgents("org-1".into()),
        call_with(|_| ()),
        GetCallDetails("task-1".into()),
        WaitForCallDetails("task-1".into(), wait(1_000)),
        version_1,
        version_2,
        batch,
        GetDocket(DOCKET_ID.into()),
        WaitForDocket(DOCKET_ID.into(), wait(1_000)),
        VerifyDocketCompleted(delivery),
    ]
}

#[tokio::test(start_paused = true)]
async fn options_must_be_in_their_ranges_for_every_function() {
    for (options, subject, found, allowed) in [
        (
            CallOptions {
                deadline_ms: Some(0),
                ..NO_OPTIONS
            },
            "options.deadline-ms",
            "0",
            "1 to 86400000 milliseconds",
        ),
        (
            CallOptions {
                deadline_ms: Some(86_400_001),
                ..NO_OPTIONS
            },
            "options.deadline-ms",
            "86400001",
            "1 to 86400000 milliseconds",
        ),
        (
            CallOptions {
                max_attempts: Some(0),
                ..NO_OPTIONS
            },
            "options.max-attempts",
            "0",
            "1 to 100",
        ),
        (
            CallOptions {
                max_attempts: Some(101),
                ..NO_OPTIONS
            },
            "options.max-attempts",
            "101",
            "1 to 100",
        ),
    ] {
        for input in good() {
            let problem = refused_with(&input, Some(options.clone()), &[]).await;
            let told = [&problem.subject, &problem.found, &problem.allowed];
            assert_eq!(told, [subject, found, allowed], "{input:?}");
        }
    }
}
