//! The request of an exchange.

use super::stage::*;

const URL: &str = "https://api.example/voice";

#[test]
fn a_request_is_complete_but_for_the_headers_that_the_host_adds() {
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
