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
    AgentConfig {
        prompt: None,
        agent_name: "a".to_owned(),
        agent_phone_number: None,
        voice_id: None,
        version: None,
        welcome_text: None,
        tools: None,
        enabled: None,
        save_stats: None,
        server_type: None,
        call_type: None,
        created_at: None,
        updated_at: None,
        extra: None,
    }
}

#[test]
fn creates() {
    let (sent, answer) = run(Call::CreateAgent(agent()), r#"{"agent_id":7}"#);
    assert_eq!(sent.method, "POST");
    assert!(matches!(answer, Answer::CreateAgent(created) if created.agent_id == Some(7)));

    let request = CallRequest {
        from_agent_name: Some("a".to_owned()),
        to_phone_number: "911234567890".to_owned(),
        call_context: Vec::new(),
        extra: None,
    };
    let (sent, answer) = run(Call::MakeCall(request), r#"{"task_id":"t-1"}"#);
    assert_eq!(sent.url, format!("{URL}/make_call"));
    assert!(matches!(answer, Answer::MakeCall(started) if started.task_id == "t-1"));

    let request = DocketRequest {
        agent_id: 7,
        to_phone_number: "911234567890".to_owned(),
        call_context: "{}".to_owned(),
        extra: None,
    };
    let (sent, answer) = run(Call::CreateDocket(request), CREATED);
    assert_eq!(sent.url, format!("{URL}/api/v1/dockets"));
    assert!(matches!(answer, Answer::CreateDocket(created) if created.docket_id == DOCKET_ID));

    let (sent, answer) = run(create(), CREATED);
    assert_eq!(sent.url, format!("{URL}/api/v2/dockets"));
    assert!(matches!(answer, Answer::CreateDocketV2(created) if created.docket_id == DOCKET_ID));
}

#[test]
fn reads() {
    let (sent, answer) = run(Call::ListAgents("org 1".to_owned()), "[]");
    assert_eq!(
        (&*sent.method, &*sent.url),
        (
            "GET",
            "https://api.example/voice/api/v1/agents?organizationId=org%201"
        )
    );
    assert!(matches!(answer, Answer::ListAgents(list) if list.agents.is_empty()));

    let (sent, answer) = run(Call::GetCallDetails("t-1".to_owned()), "[]");
    assert_eq!(sent.url, format!("{URL}/call_details/t-1"));
    assert!(matches!(answer, Answer::GetCallDetails(list) if list.calls.is_empty()));

    let (sent, answer) = run(read(), "{}");
    assert_eq!(sent.url, format!("{URL}/api/v1/dockets/{DOCKET_ID}"));
    assert!(matches!(answer, Answer::GetDocket(docket) if docket.docket_id == DOCKET_ID));
}

#[test]
fn waits() {
    let completed = r#"{"status":"COMPLETED","docket_insights":{"x":1}}"#;
    let (_, answer) = run(wait(60_000), completed);
    let Answer::WaitForDocket(waited) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        matches!(waited.outcome, DocketOutcome::Completed(_)),
        "{waited:?}"
    );

    let wait = WaitOptions {
        timeout_ms: 60_000,
        not_found_is_pending: None,
    };
    let call = Call::WaitForCallDetails(("t-1".to_owned(), wait));
    let (_, answer) = run(call, r#"[{"call_status":"BUSY"}]"#);
    let Answer::WaitForCallDetails(waited) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        matches!(waited.outcome, CallDetailsOutcome::Completed(_)),
        "{waited:?}"
    );
}

#[test]
fn webhooks() {
    let delivery = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let parsed = voice_calling_core::webhooks::parse_docket_completed(
        &delivery,
        voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES,
    );
    assert_eq!(parsed.unwrap().unwrap().docket_id, DOCKET_ID);
    let (sent, answer) = run(Call::VerifyDocketCompleted(delivery.clone()), &delivery);
    assert_eq!(sent.url, format!("{URL}/api/v1/dockets/{DOCKET_ID}"));
    assert!(
        matches!(
            answer,
            Answer::VerifyDocketCompleted(Verification::Confirmed(_))
        ),
        "{answer:?}"
    );
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
