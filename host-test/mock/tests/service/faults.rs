//! Scheduled faults.

use super::*;
use voice_calling_mock::FaultOrder;

#[tokio::test]
async fn faults_are_read_from_text() {
    let texts = [
        "create-docket-v2:503",
        "create-docket-v2:429:retry-after=1",
        "make-call@2:created-then-503:delay-ms=1",
        "make-call:hang",
        "create-docket:created-then-unanswered",
        "create-docket:completed-first",
    ];
    let faults = texts.map(|text| text.parse().unwrap()).to_vec();
    let (mock, client) = with(|options| options.faults = faults).await;
    let listed = mock.changes(0).orders.into_iter();
    let listed: Vec<_> = listed.map(|order| order.fault).collect();
    let as_listed = [
        "503",
        "429 with Retry-After 1",
        "created-then-503 after 1 ms",
        "hang",
        "created-then-unanswered",
        "completed-first",
    ];
    assert_eq!(listed, as_listed);
    mock.clear_orders();
    for text in &texts[..3] {
        mock.order(text.parse().unwrap()).unwrap();
    }
    assert_eq!(client.post(V2, &docket_body()).await.status, 503);
    let limited = client.post(V2, &docket_body()).await;
    assert_eq!(limited.status, 429);
    assert_eq!(limited.headers["retry-after"], "1");
    client.call().await;
    assert_eq!(client.post(MAKE_CALL, &call_body()).await.status, 503);
    assert_eq!(mock.times_rung(NUMBER), 2);
}

#[tokio::test]
async fn two_faults_for_one_request_are_an_error_that_names_both() {
    for (texts, number) in [
        (["make-call@2:503", "make-call@2:429"], 2),
        (["make-call@2:429", "make-call@2:429"], 2),
        (["make-call:503", "make-call@1:hang"], 1),
    ] {
        let faults = texts
            .map(|text| text.parse::<FaultOrder>().unwrap())
            .to_vec();
        let [first, second] = [&faults[0], &faults[1]].map(|order| order.fault.to_string());
        let mut options = Options::default();
        options.faults.clone_from(&faults);
        let error = MockService::start(options).await.err().expect("an error");
        let expected =
            format!("request {number} to make-call can have one fault: found {first} and {second}");
        assert_eq!(error.to_string(), expected);
    }
    let (mock, _) = with(|_| ()).await;
    for text in [
        "make-call@2:503",
        "make-call:429",
        "make-call:hang",
        "create-docket@2:503",
    ] {
        mock.order(text.parse().unwrap()).unwrap();
    }
    let pending = mock.changes(0).orders.into_iter();
    let pending: Vec<_> = pending.map(|order| order.fault).collect();
    assert_eq!(pending, ["503", "429", "hang", "503"]);
    let second = mock.order("make-call@2:429".parse().unwrap()).unwrap_err();
    assert!(second.to_string().contains("found 503 and 429"), "{second}");
}

#[test]
fn a_fault_that_cannot_be_parsed_is_explained() {
    let endpoints = "\"call\" is not an endpoint; allowed: create-agent, make-call, \
        get-call-details, create-docket, create-docket-v2, get-docket, list-agents";
    for (text, complaint) in [
        ("", "no fault after the endpoint"),
        ("make-call", "no fault after the endpoint"),
        ("call:503", endpoints),
        ("make-call@0:503", "\"0\" after the @"),
        ("make-call:teapot", "\"teapot\" is not a fault"),
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
