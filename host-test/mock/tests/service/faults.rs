//! Scheduled faults.

use super::*;
use voice_calling_mock::FaultOrder;

#[tokio::test]
async fn faults_are_read_from_text_and_listed_until_they_are_executed() {
    let texts = [
        "create-docket-v2:503",
        "create-docket-v2:429:retry-after=1",
        "make-call:created-then-503:delay-ms=1",
        "make-call:hang",
        "create-docket:created-then-unanswered",
        "create-docket:completed-first",
        "webhook:lost",
        "webhook:twice",
    ];
    let faults = texts.map(|text| text.parse().unwrap()).to_vec();
    let (mock, client) = with(|options| options.faults = faults).await;
    assert_eq!(client.post(V2, &docket_body()).await.status, 503);
    let limited = client.post(V2, &docket_body()).await;
    assert_eq!(limited.status, 429);
    assert_eq!(limited.headers["retry-after"], "1");
    assert_eq!(client.post(V2, &docket_body()).await.status, 200);
    let left = [
        "make-call: created-then-503 after 1 ms",
        "make-call: hang",
        "create-docket: created-then-unanswered",
        "create-docket: completed-first",
        "webhook: lost",
        "webhook: twice",
    ];
    assert_eq!(mock.changes(0).orders, left);
    assert_eq!(client.post(MAKE_CALL, &call_body()).await.status, 503);
    assert_eq!(mock.times_rung(NUMBER), 2);
    mock.clear_orders();
    client.call().await;
}

#[test]
fn a_fault_that_cannot_be_parsed_is_explained() {
    let endpoints = "\"call\" is not an endpoint; allowed: create-agent, make-call, \
        get-call-details, create-docket, create-docket-v2, get-docket, list-agents, webhook";
    for (text, complaint) in [
        ("", "no fault after the endpoint"),
        ("make-call", "no fault after the endpoint"),
        ("call:503", endpoints),
        ("make-call:teapot", "\"teapot\" is not a fault"),
        (
            "webhook:late",
            "\"late\" is not a fault; allowed: lost, twice",
        ),
        ("make-call:100", "100 is not a final HTTP status"),
        ("make-call:1000", "1000 is not an HTTP status"),
        (
            "make-call:created-then-",
            "\"created-then-\" is not a fault",
        ),
        ("make-call:503:retry=1", "unknown option \"retry=1\""),
        ("make-call:503:delay-ms=x", "delay-ms=x is not a number"),
        (
            "make-call:429:retry-after=\n",
            "is not a valid header value",
        ),
    ] {
        let error = text.parse::<FaultOrder>().expect_err(text);
        let error = format!("{error:#}");
        assert!(error.contains(complaint), "{text}: {error}");
    }
}
