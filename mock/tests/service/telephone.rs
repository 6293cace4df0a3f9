//! The data for the mock's page, and the faults that are ordered there.

use super::*;
use voice_calling_mock::{Endpoint, Fault};

/// Returns what happened to a docket.
fn timeline(mock: &MockService, id: &str) -> Vec<String> {
    let moments = mock.entry(id).expect("an entry").timeline.into_iter();
    moments.map(|moment| moment.text).collect()
}

#[tokio::test]
async fn a_retry_is_a_repeat_only_if_the_first_request_started_something() {
    let (mock, client) = with(|_| ()).await;
    let v2 = Endpoint::CreateDocketV2;
    mock.on_next(v2, Fault::status(503));
    mock.on_next(v2, Fault::rate_limited(Some("1")));
    mock.on_next(v2, Fault::created_then(503));
    mock.on_next(v2, Fault::status(502));
    for _ in 0..5 {
        client.post(V2, &docket_body()).await;
    }
    let all = mock.changes(0);
    let marked: Vec<_> = all.requests.iter().map(|line| line.repeats).collect();
    assert_eq!(marked, [false, false, false, true, true]);
    let [first, second] = &all.entries[..] else {
        panic!("{:?}", all.entries);
    };
    assert_eq!((second.repeats, first.repeats), (Some(first.id), None));
    let expected = [
        "Created by request 3.",
        "Attempt 1 rings.",
        "Request 3 met the fault created-then-503.",
        "Request 4 met the fault 502.",
        &format!(
            "Request 5 asked for the same again, and started {}.",
            second.id
        ),
    ];
    assert_eq!(timeline(&mock, &first.id.to_string()), expected);
    // Another number or another context is not a repeat.
    for body in [
        body_for("919876543211"),
        docket_body().replace("Asha", "Ravi"),
    ] {
        let id = client.docket(&body).await;
        assert_eq!(mock.entry(&id).unwrap().entry.repeats, None);
    }
}

#[tokio::test]
async fn a_docket_may_be_completed_and_notified_before_its_creation_is_answered() {
    let receiver = peer(Behaviour::Silence).await;
    let mut options = notifying(&receiver);
    options.pace = voice_calling_mock::Pace::Manual;
    let (mock, client) = started(options).await;
    mock.on_next(Endpoint::CreateDocketV2, "completed-first".parse().unwrap());
    let body = docket_body();
    let mut created = std::pin::pin!(client.docket(&body));
    tokio::select! {
        () = until_received(&receiver) => {}
        id = &mut created => panic!("the answer came first: {id}"),
    }
    let request = mock.request(1).unwrap();
    assert_eq!(request.line.status, None);
    // The receiver may fetch the docket at once.
    let id = request.line.entry.unwrap().to_string();
    assert_eq!(client.fetch(&id).await["status"], "COMPLETED");
    drop(receiver);
    assert_eq!(created.await, id);
    let request = mock.request(1).unwrap();
    assert_eq!(request.line.status, Some(200));
    assert_eq!(
        serde_json::from_slice::<Value>(&request.answer.body).unwrap()["docket_id"],
        id
    );
}
