//! Scheduled faults.

use super::*;
use tokio::time::sleep;
use voice_calling_mock::{FaultOrder, REQUEST_FAULTS, TEST_NUMBERS, WEBHOOK_FAULTS};

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
        "webhook:late:delay-ms=1000",
    ];
    let faults = texts.map(|text| text.parse().unwrap()).to_vec();
    let (mock, client) = with(|options| options.faults = faults).await;
    assert_eq!(client.post(V2, &docket_body()).await.status, 503);
    let limited = client.post(V2, &docket_body()).await;
    assert_eq!(limited.status, 429);
    assert_eq!(limited.headers["retry-after"], "1");
    assert_eq!(client.post(V2, &docket_body()).await.status, 200);
    assert_eq!(mock.changes(0).orders, texts[2..]);
    assert_eq!(client.post(MAKE_CALL, &call_body()).await.status, 503);
    assert_eq!(mock.times_rung(NUMBER), 2);
    mock.clear_orders();
    client.call().await;
}

/// An order, and what is wrong with it.
const WRONG_ORDERS: &str = r#"
    | no fault after the endpoint
    make-call | no fault after the endpoint
    call:503 | "call" is not an endpoint; allowed: create-agent, make-call, get-call-details, create-docket, create-docket-v2, get-docket, list-agents, webhook
    make-call:teapot | "teapot" is not a fault
    webhook:early | "early" is not a fault; allowed: lost, twice, late
    make-call:100 | 100 is not a final HTTP status
    make-call:1000 | 1000 is not an HTTP status
    make-call:created-then- | "created-then-" is not a fault
    make-call:503:retry=1 | unknown option "retry=1"
    make-call:503:delay-ms=x | delay-ms=x is not a number
"#;

#[test]
fn a_fault_that_cannot_be_parsed_is_explained() {
    let no_header = [
        "make-call:429:retry-after=\n",
        "is not a valid header value",
    ];
    for [text, complaint] in rows(WRONG_ORDERS).chain([no_header]) {
        let error = text.parse::<FaultOrder>().expect_err(text).to_string();
        assert!(error.contains(complaint), "{text}: {error}");
    }
}

#[test]
fn every_listed_fault_can_be_ordered() {
    let requests = REQUEST_FAULTS.map(|(fault, _)| format!("make-call:{fault}"));
    let webhooks = WEBHOOK_FAULTS.map(|(fault, _)| format!("webhook:{fault}"));
    for text in requests.iter().chain(&webhooks) {
        let text = text.replace("STATUS", "503");
        assert!(text.parse::<FaultOrder>().is_ok(), "{text}");
    }
}

/// Returns the timeline of what a create for a number has created, after it was answered with this
/// status, or was not answered if that is 0.
async fn create_for(
    number: &str,
    expected: u16,
    mock: &MockService,
    client: &Client,
) -> Vec<String> {
    let body = body_for(number);
    let before = mock.requests().len();
    let is_received = async {
        until(async || mock.requests().len() > before).await;
        sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        reply = client.post(V2, &body) => assert_eq!(reply.status, expected, "{number}"),
        () = is_received, if expected == 0 => {}
    }
    let entries = mock.changes(0).entries;
    let Some(entry) = entries.iter().find(|entry| entry.number == number) else {
        return Vec::new();
    };
    let id = entry.id.to_string();
    // Those that ring on, or are over, have no further attempt.
    let _over = mock.complete_docket(&id);
    let moments = mock.entry(&id).expect("an entry").timeline;
    moments.into_iter().map(|moment| moment.text).collect()
}

/// The last three digits of a number, the status of a create, and a part of its timeline; the
/// deliveries that follow.
const OUTCOMES: &str = r"
    001 | 200 | Attempt 1 ended: ANSWERED. | 1
    002 | 200 | Attempt 2 ended: BUSY. | 1
    003 | 200 | Attempt 2 ended: NO_ANSWER. | 1
    004 | 200 | Attempt 1 rings. | 1
    422 | 422 | | 0
    429 | 429 | | 0
    503 | 503 | | 0
    504 | 503 | Attempt 1 rings. | 1
    505 | 0 | Attempt 1 rings. | 1
    506 | 200 | Completed: DISPOSITION. | 1
    701 | 200 | Completed: DISPOSITION. | 0
    702 | 200 | Completed: DISPOSITION. | 2
    703 | 200 | Completed: DISPOSITION. | 0
";

#[tokio::test]
async fn a_test_number_has_its_outcome_each_time() {
    let receiver = receiver().await;
    let outcomes: Vec<_> = rows(OUTCOMES).collect();
    assert_eq!(outcomes.len(), TEST_NUMBERS.len());
    for ([digits, expected, moment, count], (number, ..)) in outcomes.into_iter().zip(&TEST_NUMBERS)
    {
        assert!(number.ends_with(digits), "{digits}");
        let (mock, client) = started(notifying(&receiver)).await;
        let status = expected.parse().unwrap();
        let timeline = create_for(number, status, &mock, &client).await;
        let is_there = timeline.iter().any(|it| it == moment);
        assert_eq!(is_there, !moment.is_empty(), "{digits}: {timeline:?}");
        let count = count.parse().unwrap();
        assert_eq!(soon(mock.delivered(count)).await.len(), count, "{digits}");
        if digits == "703" {
            mock.advance(Duration::from_secs(5)).unwrap();
            assert_eq!(soon(mock.delivered(1)).await.len(), 1);
        }
        if status >= 400 {
            create_for(number, status, &mock, &client).await;
        }
    }
}
