//! Deliveries to the webhook.

use super::*;
use http::StatusCode;
use voice_calling_peer::ClosedPort;

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
    let request = &requests[0];
    let json = Some("application/json".to_owned());
    assert_eq!(
        (&*request.method, &*request.path),
        ("POST", "/hook?source=mock")
    );
    assert_eq!(
        (request.header("content-type"), &*request.body),
        (json, delivery.body.as_bytes())
    );
}

#[tokio::test]
async fn what_a_receiver_answers_or_that_it_is_not_there_is_recorded() {
    let closed = ClosedPort::bind().unwrap();
    let (refusing, _client) = with(|_| ()).await;
    for (url, expected) in [(closed.base_url(), "refused"), (refusing.base_url(), "404")] {
        let (mock, client) = with(|options| options.webhook = Some(url)).await;
        let id = client.docket(&docket_body()).await;
        mock.complete_docket(&id).unwrap();
        let outcome = format!("{:?}", soon(mock.delivered(1)).await[0].outcome);
        assert!(outcome.contains(expected), "{outcome}");
    }
}

#[tokio::test]
async fn what_is_not_accepted_is_sent_again_after_growing_pauses() {
    const PAUSES_MS: [u64; 7] = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000];
    let refusals = ["500 Oops", "404 Not Found"].into_iter().cycle();
    let answers = refusals.take(PAUSES_MS.len()).chain(["204 No Content"]);
    let answers = answers.map(|it| Behaviour::Send(format!("HTTP/1.1 {it}\r\n\r\n").into()));
    let receiver = Peer::start(answers.collect::<Vec<_>>()).await.unwrap();
    let mut options = notifying(&receiver);
    options.webhook_retries = 9;
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    for (count, pause_ms) in (1..).zip(PAUSES_MS) {
        soon(mock.delivered(count)).await;
        mock.advance(Duration::from_millis(pause_ms)).unwrap();
    }
    let deliveries = soon(mock.delivered(8)).await;
    assert_eq!(deliveries[7].outcome.as_ref().unwrap(), &204);
    assert_eq!(deliveries[0].body, deliveries[7].body);
    let timeline = mock.entry(&id).unwrap().timeline.into_iter();
    let answered = timeline.filter(|it| it.text.starts_with("The webhook answered"));
    let answered_ms: Vec<_> = answered.map(|it| it.at_ms).collect();
    for (answers, pause_ms) in answered_ms.windows(2).zip(PAUSES_MS) {
        let found_ms = answers[1] - answers[0];
        let allowed_ms = pause_ms..pause_ms + 16_000;
        assert!(allowed_ms.contains(&found_ms), "{pause_ms}: {found_ms}");
    }
    mock.advance(Duration::from_secs(3600)).unwrap();
    assert_eq!(receiver.requests().len(), 8);
}

#[tokio::test]
async fn a_late_notification_is_overtaken_by_the_next() {
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    mock.order("webhook:late:delay-ms=60000".parse().unwrap());
    let late = client.docket(&docket_body()).await;
    mock.complete_docket(&late).unwrap();
    until(async || mock.changes(0).orders.is_empty()).await;
    let next = client.docket(&docket_body()).await;
    mock.complete_docket(&next).unwrap();
    assert_eq!(soon(mock.delivered(1)).await[0].docket_id.to_string(), next);
    mock.advance(Duration::from_secs(60)).unwrap();
    assert_eq!(soon(mock.delivered(2)).await[1].docket_id.to_string(), late);
}

#[tokio::test]
async fn a_create_that_waits_for_its_webhook_is_answered_before_that_is_sent_again() {
    let answers = ["503 Later", "204 No Content"];
    let answers = answers.map(|it| Behaviour::Send(format!("HTTP/1.1 {it}\r\n\r\n").into()));
    let receiver = Peer::start(answers).await.unwrap();
    let mut options = notifying(&receiver);
    options.webhook_retries = 1;
    let (mock, client) = started(options).await;
    client.docket(&body_for("447700900506")).await;
    assert_eq!(mock.deliveries().len(), 1);
    mock.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(
        soon(mock.delivered(2)).await[1].outcome,
        Ok(StatusCode::NO_CONTENT)
    );
}

#[tokio::test]
async fn after_a_reset_nothing_is_sent_about_what_was() {
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    let late = client.docket(&body_for("447700900703")).await;
    mock.complete_docket(&late).unwrap();
    mock.reset();
    mock.advance(Duration::from_secs(60)).unwrap();
    let next = client.docket(&docket_body()).await;
    mock.complete_docket(&next).unwrap();
    assert_eq!(soon(mock.delivered(1)).await[0].docket_id.to_string(), next);
    assert_eq!(receiver.requests().len(), 1);
}
