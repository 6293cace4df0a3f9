//! The data for the mock's page, and the faults that are ordered there.

use super::*;
use voice_calling_mock::{Changes, DeliveryFault, Endpoint, Fault, Moment, MomentKind};

fn timeline(mock: &MockService, id: &str) -> Vec<Moment> {
    mock.entry(id).expect("an entry").timeline
}

fn kinds(mock: &MockService, id: &str) -> Vec<MomentKind> {
    let moments = timeline(mock, id).into_iter();
    moments.map(|moment| moment.kind).collect()
}

fn everything(mock: &MockService) -> Changes {
    mock.changes(0)
}

/// Returns a creation for another number.
fn body_for(number: &str) -> String {
    docket_body().replace(NUMBER, number)
}

#[tokio::test]
async fn a_notification_is_lost_or_sent_twice_by_order() {
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    mock.on_next_delivery(DeliveryFault::Lost);
    mock.on_next_delivery(DeliveryFault::Twice);
    let pending = [DeliveryFault::Lost, DeliveryFault::Twice];
    assert_eq!(everything(&mock).delivery_orders, pending);
    let lost = client.docket(&docket_body()).await;
    mock.complete_docket(&lost).unwrap();
    until(async || kinds(&mock, &lost).contains(&MomentKind::Webhook)).await;
    assert!(mock.deliveries().is_empty());
    let moment = timeline(&mock, &lost).pop().unwrap();
    assert_eq!(
        (&*moment.text, moment.status),
        ("The notification was lost, as requested.", None)
    );

    let twice = client.docket(&body_for("919876543211")).await;
    mock.complete_docket(&twice).unwrap();
    let deliveries = soon(mock.delivered(2)).await;
    assert_eq!(deliveries[0].body, deliveries[1].body);
    assert!(everything(&mock).delivery_orders.is_empty());
    let once = client.docket(&body_for("919876543212")).await;
    mock.complete_docket(&once).unwrap();
    assert_eq!(soon(mock.delivered(3)).await.len(), 3);
    assert_eq!(receiver.requests().len(), 3);
}

#[tokio::test]
async fn a_fault_of_creations_that_is_ordered_anywhere_waits_for_one() {
    let (mock, client) = with(|_| ()).await;
    mock.on_next_anywhere(Fault::created_then(503));
    mock.on_next_anywhere(Fault::status(500));
    let agents = "/api/v1/agents?organizationId=org-1";
    assert_eq!(client.get(agents).await.status, 500);
    assert_eq!(client.get(agents).await.status, 200);
    assert_eq!(client.post(V2, &docket_body()).await.status, 503);
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
    let all = everything(&mock);
    let marked: Vec<_> = all.requests.iter().map(|line| line.repeats).collect();
    assert_eq!(marked, [false, false, false, true, true]);
    let [second, first] = &all.entries[..] else {
        panic!("{:?}", all.entries);
    };
    assert_eq!((second.repeats, first.repeats), (Some(first.id), None));
    let moments = timeline(&mock, &first.id.to_string());
    let reported: Vec<_> = moments
        .iter()
        .map(|one| (one.kind, one.status, one.request))
        .collect();
    use MomentKind::{Created, Request, Rings};
    let expected = [
        (Created, None, Some(3)),
        (Rings, None, None),
        (Request, Some(503), Some(3)),
        (Request, Some(502), Some(4)),
        (Request, None, Some(5)),
    ];
    assert_eq!(reported, expected);
    assert_eq!(moments[2].text, "Request 3 met the fault created-then-503.");
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
