//! The environment variables, good and bad, and what they change.

use crate::failure::{configuration, failure, may_have_created, outcome};
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::Run;
use crate::operation::{DOCKET_ID, Operation, docket_v2, returned};
use crate::script::{Script, Step, TOKEN};
use crate::stage::{Stage, instance, plugin};
use http::StatusCode;
use voice_calling_host::types::*;
use voice_calling_host::{InMemoryNetwork, Outgoing, network};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// The problem that these settings have; nothing may be sent.
pub async fn problem(settings: &[(&str, &str)]) -> Problem {
    let script = Script::new([Step::ok("[]")]);
    let problem = configuration(script.run(ListAgents, settings).await);
    assert!(script.sent().is_empty(), "{settings:?}");
    problem
}

/// These settings have a problem with `name`, found and allowed so.
pub async fn assert_problem(settings: &[(&str, &str)], name: &str, found: &str, allowed: &str) {
    let problem = problem(settings).await;
    assert_eq!(problem.subject, format!("VOICE_CALLING_{name}"));
    assert_eq!(problem.found, found, "{settings:?}");
    assert_eq!(problem.allowed, allowed, "{settings:?}");
}

pub async fn assert_good(settings: &[(&str, &str)]) {
    let script = Script::new([Step::ok("[]")]);
    let result = script.run(ListAgents, settings).await;
    assert_eq!(outcome(&result), "ok", "{settings:?} {result:?}");
}

const DAY: (&str, &str) = ("DEADLINE_MS", "86400000");
const MILLISECONDS: &str = "a whole number from 1 to 86400000";
const BYTES: &str = "a whole number from 1 to 67108864";

#[tokio::test(start_paused = true)]
async fn a_number_must_be_whole_and_in_its_range() {
    for (name, allowed) in [
        ("MAX_ATTEMPTS", "a whole number from 1 to 100"),
        ("BACKOFF_MS", MILLISECONDS),
        ("MAX_BACKOFF_MS", MILLISECONDS),
        ("CONNECT_TIMEOUT_MS", MILLISECONDS),
        ("ATTEMPT_TIMEOUT_MS", MILLISECONDS),
        ("DEADLINE_MS", MILLISECONDS),
        ("MAX_IN_FLIGHT", "a whole number from 1 to 100000"),
        ("MAX_REQUEST_BYTES", BYTES),
        ("MAX_RESPONSE_BYTES", BYTES),
        ("MAX_DELIVERY_BYTES", BYTES),
    ] {
        for bad in [
            "",
            "0",
            "-1",
            "+5",
            " 5",
            "5 ",
            "5.0",
            "1e3",
            "0x10",
            "many",
            "\u{665}",
            "\u{ff15}",
            "86400001",
            "99999999999999999999999",
        ] {
            assert_problem(&[(name, bad)], name, &format!("{bad:?}"), allowed).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_ends_of_every_range_are_allowed() {
    for settings in [
        &[("MAX_ATTEMPTS", "1")][..],
        &[("MAX_ATTEMPTS", "100")],
        &[("MAX_ATTEMPTS", "007")],
        &[("BACKOFF_MS", "1"), ("MAX_BACKOFF_MS", "1")],
        &[("BACKOFF_MS", "86400000"), ("MAX_BACKOFF_MS", "86400000")],
        &[("DEADLINE_MS", "1")],
        &[("ATTEMPT_TIMEOUT_MS", "1")],
        &[("CONNECT_TIMEOUT_MS", "1")],
        &[DAY, ("ATTEMPT_TIMEOUT_MS", "86400000")],
        &[
            DAY,
            ("ATTEMPT_TIMEOUT_MS", "86400000"),
            ("CONNECT_TIMEOUT_MS", "86400000"),
        ],
        &[("MAX_IN_FLIGHT", "1")],
        &[("MAX_IN_FLIGHT", "100000")],
        &[("MAX_REQUEST_BYTES", "1")],
        &[("MAX_REQUEST_BYTES", "67108864")],
        &[("MAX_RESPONSE_BYTES", "2")],
        &[("MAX_RESPONSE_BYTES", "67108864")],
        &[("CREATE_RETRY", "server-errors")],
        &[("CREATE_RETRY", "not-sent")],
        &[("CREATE_RETRY", "never")],
        &[("TRUST_CONNECTION_TIMEOUT", "false")],
        &[("TRUST_CONNECTION_TIMEOUT", "true")],
        &[("ALLOW_INSECURE_HTTP", "false")],
        &[("ALLOW_INSECURE_HTTP", "true")],
        &[("LOG", "off")],
        &[("LOG", "attempts")],
    ] {
        assert_good(settings).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_word_must_be_one_of_a_few() {
    for (name, allowed) in [
        ("CREATE_RETRY", "server-errors or not-sent or never"),
        ("TRUST_CONNECTION_TIMEOUT", "false or true"),
        ("ALLOW_INSECURE_HTTP", "false or true"),
        ("LOG", "off or attempts"),
    ] {
        for bad in ["", "1", "TRUE", "Off", "not_sent", " true"] {
            assert_problem(&[(name, bad)], name, &format!("{bad:?}"), allowed).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_must_not_be_above_what_bounds_it() {
    for (settings, name, found, allowed) in [
        (
            &[("ATTEMPT_TIMEOUT_MS", "30001")][..],
            "ATTEMPT_TIMEOUT_MS",
            "\"30001\"",
            "at most VOICE_CALLING_DEADLINE_MS, which is 30000",
        ),
        (
            &[("DEADLINE_MS", "500"), ("ATTEMPT_TIMEOUT_MS", "501")],
            "ATTEMPT_TIMEOUT_MS",
            "\"501\"",
            "at most VOICE_CALLING_DEADLINE_MS, which is 500",
        ),
        (
            &[("CONNECT_TIMEOUT_MS", "10001")],
            "CONNECT_TIMEOUT_MS",
            "\"10001\"",
            "at most VOICE_CALLING_ATTEMPT_TIMEOUT_MS, which is 10000",
        ),
        (
            &[("BACKOFF_MS", "8001")],
            "BACKOFF_MS",
            "\"8001\"",
            "at most VOICE_CALLING_MAX_BACKOFF_MS, which is 8000",
        ),
    ] {
        assert_problem(settings, name, found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_base_url_and_the_token_must_be_set() {
    for (present, missing) in [
        (("BASE_URL", "http://127.0.0.1"), "API_TOKEN"),
        (("API_TOKEN", TOKEN), "BASE_URL"),
    ] {
        let unused = InMemoryNetwork(|_, _| async { Ok(network::answer(StatusCode::OK, "[]")) });
        let mut instance = instance(&[present], Outgoing::loopback(unused)).await;
        let problem = configuration(ListAgents.run(&mut instance).await);
        assert_eq!(problem.subject, format!("VOICE_CALLING_{missing}"));
        assert_eq!(problem.found, "no value");
    }
}

#[tokio::test(start_paused = true)]
async fn a_misspelt_variable_is_a_problem_and_anybody_elses_is_not() {
    for (misspelt, meant) in [
        ("CREATE_RETRYS", "CREATE_RETRY"),
        ("create_retry", "CREATE_RETRY"),
        ("CREATERETRY", "CREATE_RETRY"),
        ("MAX_RESPONSE_BYTE", "MAX_RESPONSE_BYTES"),
        ("DEADLINE", "DEADLINE_MS"),
        ("ACCOUNT", "ACCOUNTS"),
    ] {
        let problem = problem(&[(misspelt, "not-sent")]).await;
        assert_eq!(problem.subject, format!("VOICE_CALLING_{misspelt}"));
        assert_eq!(problem.found, "an unknown setting");
        assert_eq!(problem.allowed, format!("VOICE_CALLING_{meant}"));
    }
    // What others put beside the settings: Kubernetes, a web application, a receiver.
    assert_good(&[
        ("SERVICE_HOST", "10.0.0.1"),
        ("PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("ORIGIN", "https://app.example"),
        ("WEBHOOK_SECRET", "s"),
    ])
    .await;

    let script = Script::new([Step::ok("[]")]);
    let mut settings = script.settings(&[]);
    let foreign = ("VOICE_CALL_MAX_ATTEMPTS".into(), "many".into());
    settings.environment.push(foreign);
    let mut instance = plugin().instantiate(settings).await.unwrap();
    ListAgents.run(&mut instance).await.unwrap();
}

/// As where a host adds its own to the environment that it has inherited.
#[tokio::test(start_paused = true)]
async fn of_a_variable_that_is_set_twice_the_last_value_counts() {
    let script = Script::new([Step::status(503), Step::ok("[]")]);
    let mut settings = script.settings(&[("MAX_ATTEMPTS", "none")]);
    for (name, value) in [
        ("VOICE_CALLING_API_TOKEN", "last"),
        ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
        ("VOICE_CALLING_MAX_ATTEMPTS", "2"),
    ] {
        settings.environment.push((name.into(), value.into()));
    }
    let mut instance = plugin().instantiate(settings).await.unwrap();
    ListAgents.run(&mut instance).await.unwrap();
    let sent = script.sent();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].header("auth_token"), "Bearer last");
}

#[tokio::test(start_paused = true)]
async fn a_setting_of_an_account_that_has_no_name_is_a_problem() {
    for variable in ["ALPHA_API_TOKEN", "ALPHA_CREATE_RETRY", "alpha_BASE_URL"] {
        let problem = problem(&[(variable, "never")]).await;
        assert_eq!(problem.subject, format!("VOICE_CALLING_{variable}"));
        assert!(
            problem.found.contains("VOICE_CALLING_ACCOUNTS"),
            "{problem:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_base_url_and_the_token_must_not_be_longer_than_a_server_takes() {
    let base_url = |bytes: usize| format!("http://127.0.0.1/{}", "a".repeat(bytes - 17));
    assert_good(&[
        ("BASE_URL", &base_url(2_048)),
        ("API_TOKEN", &"t".repeat(8_192)),
    ])
    .await;
    let (base_url, token) = (base_url(2_049), "t".repeat(8_193));
    for (name, value, found) in [
        ("BASE_URL", &base_url, "2049 bytes"),
        ("API_TOKEN", &token, "more than 8192 bytes"),
    ] {
        let problem = problem(&[(name, value)]).await;
        assert_eq!(problem.subject, format!("VOICE_CALLING_{name}"));
        assert!(problem.found.starts_with(found), "{problem:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_token_is_told_without_the_token() {
    let allowed = "the token alone, in printable ASCII";
    let control = "a control character, such as a line break";
    let spaces = "a space at its beginning or end";
    for (token, found) in [
        ("", "an empty value"),
        (
            "Bearer secret-token",
            "a value that starts with `Bearer `, which the component adds itself",
        ),
        (
            "bEARER secret-token",
            "a value that starts with `Bearer `, which the component adds itself",
        ),
        ("secret\ntoken", control),
        ("secret-token\r\nx-evil: 1", control),
        ("secret\u{0}token", control),
        ("secret\u{7f}token", control),
        (
            "s\u{e9}cret-token",
            "a non-ASCII character, which a header cannot contain",
        ),
        (" secret-token", spaces),
        ("secret-token ", spaces),
    ] {
        assert_problem(&[("API_TOKEN", token)], "API_TOKEN", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_sent_as_it_is() {
    for token in ["t", "a b", "Bearer", "{{secret:42}}", "~!@#$%^&*()=;,\"\\"] {
        let script = Script::new([Step::ok("[]")]);
        script
            .run(ListAgents, &[("API_TOKEN", token)])
            .await
            .unwrap();
        let header = script.sent()[0].header("auth_token");
        assert_eq!(header, format!("Bearer {token}"));
    }
}

#[tokio::test(start_paused = true)]
async fn every_function_but_the_pure_one_needs_good_settings() {
    let script = Script::new([Step::ok("[]")]);
    let mut instance = script.instance(&[("MAX_ATTEMPTS", "none")]).await;
    for operation in Operation::ALL {
        let problem = configuration(operation.run(&mut instance).await);
        assert_eq!(problem.subject, "VOICE_CALLING_MAX_ATTEMPTS");
    }
    assert!(script.sent().is_empty());
    let body = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let completed = returned(instance.parse_docket_completed(&body))
        .await
        .unwrap();
    assert_eq!(completed.unwrap().docket_id, DOCKET_ID);
}

#[tokio::test(start_paused = true)]
async fn max_attempts_of_one_repeats_nothing() {
    for operation in Operation::READ_AND_CREATE {
        let server_error = match operation.is_create() {
            true => "permanent-outcome-unknown",
            false => "unavailable",
        };
        for (step, expected) in [
            (Step::status(503), server_error),
            (Step::status(429), "rate-limited"),
            (Step::fail(ErrorCode::ConnectionRefused), "unreachable"),
        ] {
            let script = Script::new([step]);
            let error = script.run(operation, &[("MAX_ATTEMPTS", "1")]).await;
            assert_eq!(outcome(&error), expected, "{operation:?}");
            assert_eq!(script.sent().len(), 1, "{operation:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn max_request_bytes_counts_the_bytes_of_the_body() {
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    script.run(CreateDocketV2, &[]).await.unwrap();
    let length = script.sent()[0].body.len();
    let (fits, does_not) = (length.to_string(), (length - 1).to_string());
    let result = script
        .run(CreateDocketV2, &[("MAX_REQUEST_BYTES", &fits)])
        .await;
    assert_eq!(outcome(&result), "ok");
    let result = script
        .run(CreateDocketV2, &[("MAX_REQUEST_BYTES", &does_not)])
        .await;
    assert_eq!(outcome(&result), "permanent-invalid-input");
}

#[tokio::test(start_paused = true)]
async fn max_response_bytes_counts_the_bytes_of_the_body() {
    let body = CreateDocketV2.satisfying();
    let (fits, does_not) = (body.len().to_string(), (body.len() - 1).to_string());
    for operation in [Operation::GetDocket, CreateDocketV2] {
        let script = Script::new([Step::ok(body)]);
        let result = script
            .run(operation, &[("MAX_RESPONSE_BYTES", &fits)])
            .await;
        assert_eq!(outcome(&result), "ok");
        let result = script
            .run(operation, &[("MAX_RESPONSE_BYTES", &does_not)])
            .await;
        let error = result.unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response");
        let kept = error.response().unwrap();
        assert_eq!(kept.body, body[..body.len() - 1]);
        assert!(kept.body_cut);
        assert_eq!(script.sent().len(), 2, "neither is repeated");
    }
}

#[tokio::test]
async fn bodies_of_megabytes_go_and_come_unharmed() {
    let stage = Stage::start().await;
    let request = DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "\u{e4}\\n".repeat(240_000)),
        ..docket_v2()
    };
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&request, None))
        .await
        .unwrap();
    let docket = returned(instance.get_docket(&created.docket_id, None))
        .await
        .unwrap();
    assert!(docket.call_context.as_ref() == Some(&request.call_context));

    let agent = format!(r#"{{"agent_name":"{}"}}"#, "a".repeat(800));
    let agents = format!("[{}{agent}]", format!("{agent},").repeat(9_999));
    let script = Script::new([Step::ok(agents.clone())]);
    let mut instance = script.instance(&[]).await;
    let listed = returned(instance.list_agents("org-1", None)).await.unwrap();
    assert_eq!(listed.agents.len(), 10_000);
    assert!(listed.raw_json == agents);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_more_than_ten_thousand_records_is_not_understood() {
    let records = format!("[{}7]", "7,".repeat(10_000));
    for operation in [ListAgents, Operation::GetCallDetails] {
        let script = Script::new([Step::ok(records.clone())]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response");
        let message = &failure(&error).message;
        assert!(message.contains("10000"), "{message}");
    }
}

/// Each byte that is not UTF-8 becomes three.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_utf_8_must_not_be_too_large_when_it_is_replaced() {
    let answer = |bytes: usize| [&b"[\""[..], &vec![0xff; bytes], b"\"]"].concat();
    for (bytes, expected) in [(300_000, "ok"), (400_000, "permanent-unexpected-response")] {
        let script = Script::new([Step::ok(answer(bytes))]);
        let settings = [("MAX_RESPONSE_BYTES", "1100000")];
        let result = script.run(ListAgents, &settings).await;
        assert_eq!(outcome(&result), expected, "{bytes}");
        assert_eq!(script.sent().len(), 1);
    }
}

/// What a service answers to a create grows with the request, if it echoes that, perhaps escaped.
#[tokio::test(start_paused = true)]
async fn an_answer_to_a_create_may_have_16384_bytes_more_than_six_times_the_request() {
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    script.run(CreateDocketV2, &[]).await.unwrap();
    let most = 6 * script.sent()[0].body.len() + 16_384;
    let answer = |bytes: usize| {
        let satisfying = CreateDocketV2.satisfying();
        format!("{satisfying}{}", " ".repeat(bytes - satisfying.len()))
    };
    let script = Script::new([Step::ok(answer(most)), Step::ok(answer(most + 1))]);
    script.run(CreateDocketV2, &[]).await.unwrap();
    let error = script.run(CreateDocketV2, &[]).await.unwrap_err();
    assert_eq!(error.case(), "permanent-unexpected-response");
    assert!(may_have_created(&error));
    let kept = error.response().unwrap();
    assert!(kept.body.starts_with(CreateDocketV2.satisfying()));
    assert!(kept.body_cut);
    assert_eq!(script.sent().len(), 2, "neither is repeated");
}
