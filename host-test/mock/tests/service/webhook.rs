//! Deliveries to the webhook, and their timing.

use super::*;
use voice_calling_mock::{CallStatus, NeverAnswered, closed_port};

#[tokio::test]
async fn an_answered_docket_is_reported_to_the_webhook_once() {
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let docket = client.fetch(&id).await;
    assert_eq!(docket["notification_status"], "SENT");

    let delivery = soon(mock.delivered(1)).await.remove(0);
    assert_eq!(delivery.outcome.unwrap(), 204);
    let mut delivered = parsed(&delivery.body);
    let attempts = delivered["attempts"].take();
    let metadata = delivered["call_insights"]["call_metadata"].take();
    assert_eq!(metadata["language"], "en");
    let call_id = docket["closed_call_id"].as_str().unwrap();
    let expected = json!({
        "docket_id": id, "call_context": {"name": "Asha"}, "attempts": null,
        "call_insights": {"call_disposition": "INTERESTED", "call_metadata": null},
        "dashboard_url": format!("https://dashboard.voice.example/{call_id}"),
    });
    assert_eq!(delivered, expected);
    assert_eq!(attempts.as_array().unwrap().len(), 2);
    assert_eq!(attempts[0]["call_status"], "NO_ANSWER");
    assert_eq!(attempts[1]["call_id"], docket["latest_call_id"]);

    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    let request = String::from_utf8_lossy(&requests[0]);
    assert!(request.starts_with("POST /hook?source=mock HTTP/1.1\r\n"));
    assert!(request.contains("content-type: application/json\r\n"));
    assert!(request.ends_with(&delivery.body));
}

#[tokio::test]
async fn a_docket_that_no_one_answered_is_reported_with_nulls_or_not_at_all() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.scripts.docket = vec![CallStatus::NoAnswer];
    let (mock, client) = started(options.clone()).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let delivered = parsed(&soon(mock.delivered(1)).await[0].body);
    assert_eq!(delivered["docket_id"], *id);
    assert_eq!(delivered.get("call_insights"), Some(&Value::Null));
    assert_eq!(delivered.get("dashboard_url"), Some(&Value::Null));
    assert_eq!(delivered["attempts"].as_array().unwrap().len(), 1);

    options.meanings.never_answered = NeverAnswered::Silent;
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    assert_eq!(client.fetch(&id).await["notification_status"], "SKIPPED");
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_notification_may_be_repeated_and_joined_by_call_events() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    let webhook = options.webhook.as_mut().unwrap();
    (webhook.copies, webhook.call_events) = (2, true);
    options.scripts.docket = vec![CallStatus::Answered];
    let (mock, client) = started(options).await;
    let task_id = client.call().await;
    mock.place_next_call(&task_id).unwrap();
    soon(mock.delivered(2)).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let deliveries = soon(mock.delivered(6)).await;
    let events = deliveries
        .iter()
        .map(|one| parsed(&one.body)["event"].take());
    let (call, docket) = (json!("call.completed"), Value::Null);
    let expected = [&call, &call, &call, &call, &docket, &docket];
    assert!(events.collect::<Vec<_>>().iter().eq(expected));
    assert_eq!(deliveries[4].body, deliveries[5].body);
    let of_task = parsed(&deliveries[0].body);
    assert_eq!(of_task["task_id"], *task_id);
    assert!(of_task["docket_id"].is_null());
    let of_docket = parsed(&deliveries[2].body);
    assert_eq!(of_docket["docket_id"], *id);
    assert_eq!(of_docket["call_status"], "ANSWERED");
    assert!(of_docket.get("attempts").is_none() && of_docket.get("dashboard_url").is_none());
}

#[tokio::test]
async fn a_late_notification_comes_after_the_completion() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.webhook.as_mut().unwrap().delay = Duration::from_secs(3600);
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    assert_eq!(client.fetch(&id).await["status"], "COMPLETED");
    assert!(mock.deliveries().is_empty());
}

#[tokio::test]
async fn what_a_receiver_answers_or_that_it_is_not_there_is_recorded() {
    let closed = closed_port().unwrap();
    let (refusing, _client) = with(|_| ()).await;
    for (url, expected) in [(closed.base_url(), "refused"), (refusing.base_url(), "404")] {
        let webhook = Some(WebhookOptions::to(url));
        let (mock, client) = with(|options| options.webhook = webhook).await;
        let id = client.docket(&docket_body()).await;
        mock.complete_docket(&id).unwrap();
        let outcome = format!("{:?}", soon(mock.delivered(1)).await[0].outcome);
        assert!(outcome.contains(expected), "{outcome}");
    }
}
