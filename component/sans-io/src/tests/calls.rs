//! Each kind of call, once.

use super::stage::*;

const URL: &str = "https://api.example/voice";

/// The request that a call sends, and what comes of it when that is answered so.
fn run(call: Call, body: &str) -> (Request, Answer) {
    let mut stage = Stage::with(&[]);
    let sent = stage.step([begin(7, call)]).only_send();
    assert_eq!((sent.operation, sent.item), (7, None));
    assert_eq!(sent.creates, sent.request.method == "POST");
    let led = stage.step([answered(sent.exchange, 200, body)]);
    assert_eq!(led.wake_at_ms, None, "nothing is left");
    assert_eq!(led.done()[0].operation, 7);
    (sent.request, led.only_done().expect("a success"))
}

fn agent() -> AgentConfig {
    AgentConfig::new("a")
}

#[test]
fn each_call_sends_its_request_and_returns_what_comes_of_it() {
    let call = CallRequest {
        from_agent_name: Some("a".to_owned()),
        to_phone_number: "911234567890".to_owned(),
        call_context: Vec::new(),
        extra: None,
    };
    let docket = DocketRequest {
        agent_id: 7,
        to_phone_number: "911234567890".to_owned(),
        call_context: "{}".to_owned(),
        extra: None,
    };
    let wait_options = WaitOptions {
        timeout_ms: 60_000,
        not_found_is_pending: None,
    };
    let of_docket = format!("GET /api/v1/dockets/{DOCKET_ID}");
    let delivery = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let verify = Call::VerifyDocketCompleted(delivery.clone());
    let busy = r#"[{"call_status":"BUSY"}]"#;
    let details = Call::WaitForCallDetails(("t-1".to_owned(), wait_options));
    for (call, request, body, is) in [
        (
            Call::CreateAgent(agent()),
            "POST /agents/",
            r#"{"agent_id":7}"#,
            (|it| matches!(it, Answer::CreateAgent(created) if created.agent_id == Some(7)))
                as fn(&Answer) -> bool,
        ),
        (
            Call::MakeCall(call),
            "POST /make_call",
            r#"{"task_id":"t-1"}"#,
            |it| matches!(it, Answer::MakeCall(started) if started.task_id == "t-1"),
        ),
        (
            Call::CreateDocket(docket),
            "POST /api/v1/dockets",
            CREATED,
            |it| matches!(it, Answer::CreateDocket(created) if created.docket_id == DOCKET_ID),
        ),
        (
            create(),
            "POST /api/v2/dockets",
            CREATED,
            |it| matches!(it, Answer::CreateDocketV2(created) if created.docket_id == DOCKET_ID),
        ),
        (
            Call::ListAgents("org 1".to_owned()),
            "GET /api/v1/agents?organizationId=org%201",
            "[]",
            |it| matches!(it, Answer::ListAgents(list) if list.agents.is_empty()),
        ),
        (
            Call::GetCallDetails("t-1".to_owned()),
            "GET /call_details/t-1",
            "[]",
            |it| matches!(it, Answer::GetCallDetails(list) if list.calls.is_empty()),
        ),
        (
            read(),
            &of_docket,
            "{}",
            |it| matches!(it, Answer::GetDocket(docket) if docket.docket_id == DOCKET_ID),
        ),
        (
            wait(60_000),
            &of_docket,
            &delivery,
            |it| matches!(it, Answer::WaitForDocket(waited) if matches!(waited.outcome, DocketOutcome::Completed(_))),
        ),
        (
            details,
            "GET /call_details/t-1",
            busy,
            |it| matches!(it, Answer::WaitForCallDetails(waited) if matches!(waited.outcome, CallDetailsOutcome::Completed(_))),
        ),
        (verify, &of_docket, &delivery, |it| {
            matches!(
                it,
                Answer::VerifyDocketCompleted(Verification::Confirmed(_))
            )
        }),
    ] {
        let (sent, answer) = run(call, body);
        let (method, path) = request.split_once(' ').unwrap();
        assert_eq!((&*sent.method, sent.url), (method, format!("{URL}{path}")));
        assert!(is(&answer), "{answer:?}");
    }
}

#[test]
fn a_request_has_all_that_the_host_needs_and_leaves_the_rest_to_it() {
    let mut stage = Stage::with(&[
        ("CONNECT_TIMEOUT_MS", "700"),
        ("ATTEMPT_TIMEOUT_MS", "8000"),
        ("MAX_RESPONSE_BYTES", "123456"),
    ]);
    let created = stage.step([begin(1, create())]).only_send();
    assert!(created.creates);
    let body =
        r#"{"agent_id":7,"to_phone_number":"910000000001","extra_config":{"call_context":{}}}"#;
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let token = header("auth_token", "Bearer staged-token");
    let expected = Request {
        method: "POST".to_owned(),
        url: format!("{URL}/api/v2/dockets"),
        headers: vec![token.clone(), header("content-type", "application/json")],
        body: body.to_owned(),
        connect_ms: 700,
        attempt_ms: 8_000,
        max_response_bytes: 16_384 + 6 * body.len() as u32,
    };
    assert_eq!(created.request, expected);

    let read = stage.step([begin(2, read())]).only_send();
    assert!(!read.creates);
    assert_eq!((&*read.request.method, &*read.request.body), ("GET", ""));
    assert_eq!(
        read.request.headers,
        [token, header("accept", "application/json")]
    );
    assert_eq!(read.request.max_response_bytes, 123_456);
    assert_ne!(read.exchange, created.exchange);
}

#[test]
fn what_is_wrong_with_arguments_or_options_is_said_at_once() {
    let mut stage = Stage::with(&[]);
    let led = stage.step([
        begin(1, Call::ListAgents(String::new())),
        begin_with(
            2,
            read(),
            Some(CallOptions {
                account: Some("nobody".to_owned()),
                deadline_ms: None,
                max_attempts: None,
            }),
        ),
        begin(3, batch(1, 0)),
    ]);
    assert_eq!((led.effects.len(), led.wake_at_ms), (3, None));
    let cases: Vec<_> = led.done().iter().map(|done| &done.outcome).collect();
    assert!(matches!(
        cases[..],
        [
            Err(RequestError::PermanentInvalidInput(_)),
            Err(RequestError::PermanentConfiguration(_)),
            Err(RequestError::PermanentInvalidInput(_)),
        ]
    ));
}
