//! Deliveries: duplicate, early, late, forged, broken, and of other events.

use std::time::Duration;

use anyhow::{Context, Result};
use obelisk_harness::{Answer, Setup, Site, until};
use serde_json::{Value, json};
use voice_calling_mock::{Endpoint, Fault};

use crate::outcome::{
    self, NUMBER, assert_one_creation, begun, completed, created_docket, creation_in_flight,
    for_webhook, held, outcome, until_status,
};

/// The tests deliver by themselves.
fn silent() -> Setup {
    Setup::default().silent()
}

fn delivery(docket: &str, disposition: &str) -> String {
    json!({
        "docket_id": docket,
        "call_insights": { "call_disposition": disposition },
        "attempts": [],
    })
    .to_string()
}

/// Returns the reason in the body.
fn reason(answer: &Answer) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    body["reason"].as_str().unwrap_or_default().to_owned()
}

async fn delivered(site: &Site, body: impl Into<Vec<u8>>) -> Result<(u16, String)> {
    let answer = outcome::delivered(site, body).await?;
    Ok((answer.status, reason(&answer)))
}

/// Posts what cannot be confirmed yet.
async fn accepted(site: &Site, body: String) -> Result<()> {
    let answer = site.deliver(body).await?;
    assert_eq!(answer.status, 202, "{answer:?}");
    Ok(())
}

/// Begins a run whose docket is completed at the service, but not reported to the run.
async fn completed_unheard(site: &Site) -> Result<(String, String)> {
    let run = site.run_docket(NUMBER, for_webhook()).await?;
    let docket = created_docket(site, &run).await?;
    site.mock.complete_docket(&docket)?;
    Ok((run, docket))
}

/// Creates a docket without a run, and completes it.
async fn completed_of_others(site: &Site, context: Value) -> Result<String> {
    let docket = site.create_without_engine(&context, NUMBER).await?;
    site.mock.complete_docket(&docket)?;
    Ok(docket)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_delivery_changes_nothing() -> Result<()> {
    let mut site = Site::start(silent()).await?;
    let (run, docket) = completed_unheard(&site).await?;
    let first = delivered(&site, delivery(&docket, "INTERESTED")).await?;
    assert_eq!(first, (200, "the run has this completion".to_owned()));
    let before = completed(&site, &run).await?;
    for (disposition, says) in [
        ("INTERESTED", "the run has this completion"),
        ("DECLINED", "the run already has a completion"),
    ] {
        let again = delivered(&site, delivery(&docket, disposition)).await?;
        assert_eq!(again, (200, says.to_owned()));
    }
    assert_eq!(outcome(&site, &run).await?, before);
    let insights = &before["unverified"]["call_insights"];
    assert_eq!(insights["call_disposition"], "INTERESTED");
    // The engine would log the conflict with the whole deliveries.
    let log = until("the warning in the log", async || {
        let log = site.node()?.log();
        let warned = log.contains("another delivery came for");
        Ok(warned.then_some(log))
    })
    .await?;
    let secret = "loopbacksecret0123456789";
    for personal in [NUMBER, "Asha", "INTERESTED", "DECLINED", secret] {
        assert!(!log.contains(personal), "{personal} is in the log");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_stub_was_used_up_is_not_said_to_be_over() -> Result<()> {
    let (site, run) = begun(silent(), for_polls_and_stubs()).await?;
    let docket = created_docket(&site, &run).await?;
    // By mistake: the answer was meant for the question.
    let stub = format!("{run}.n:docket_1");
    site.api().stub(&stub, &json!({ "ok": docket })).await?;
    site.mock.complete_docket(&docket)?;
    let (status, reason) = delivered(&site, delivery(&docket, "INTERESTED")).await?;
    assert_eq!(
        (status, &*reason),
        (503, "the run cannot be reached: send it again")
    );
    // The polls continue.
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    Ok(())
}

/// Returns options with which a test has time for a stub before the first poll.
fn for_polls_and_stubs() -> Value {
    json!({ "timeout_ms": 600_000, "first_poll_ms": 20_000, "insights_within_ms": 0 })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_completion_of_another_docket_does_not_end_a_run() -> Result<()> {
    let (site, run) = begun(silent(), for_polls_and_stubs()).await?;
    let docket = created_docket(&site, &run).await?;
    // As after a creation that the engine has repeated.
    let twin = completed_of_others(&site, json!({ "obelisk_execution_id": run })).await?;
    let answered = delivered(&site, delivery(&twin, "INTERESTED")).await?;
    assert_eq!(answered.0, 200, "{}", answered.1);
    site.mock.complete_docket(&docket)?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(
        (&outcome["docket_id"], &outcome["known_by"]),
        (&json!(docket), &json!("poll"))
    );
    let logs = site.api().logs(&run).await?.to_string();
    assert!(
        logs.contains(&twin) && logs.contains(&docket),
        "nothing is logged: {logs}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_deliveries_at_once_are_all_taken() -> Result<()> {
    let site = Site::start(silent()).await?;
    let (run, docket) = completed_unheard(&site).await?;
    let body = delivery(&docket, "INTERESTED");
    let deliveries = (0..40).map(|_| site.deliver(body.clone()));
    for answer in futures_util::future::try_join_all(deliveries).await? {
        assert!(matches!(answer.status, 200 | 202), "{answer:?}");
    }
    completed(&site, &run).await?;
    Ok(())
}

/// The answer also exceeds the engine's connection timeout (5 s), which does not apply to answers: the
/// deployment relies on that (`TRUST_CONNECTION_TIMEOUT`).
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_quicker_than_the_answer_to_the_creation_is_not_lost() -> Result<()> {
    let site = Site::start(Setup::patient()).await?;
    site.mock.on_next(Endpoint::CreateDocketV2, held());
    let run = site.run_docket(NUMBER, for_webhook()).await?;
    let docket = created_docket(&site, &run).await?;
    site.mock.complete_docket(&docket)?;
    until_status(&site, &format!("{run}.n:docket_1"), "finished").await?;
    assert!(creation_in_flight(&site, &run).await?.is_some());
    tokio::time::sleep(Duration::from_secs(6)).await;
    site.end_calls()?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    assert_eq!(outcome["created"], true);
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_after_the_end_of_the_run_is_answered_200_and_warned_of() -> Result<()> {
    let (mut site, run) = begun(silent(), json!({ "timeout_ms": 500 })).await?;
    let before = outcome(&site, &run).await?;
    assert_eq!(before["completed"], false);
    assert_eq!(before["known_by"], Value::Null);
    assert_eq!(before["docket"]["status"], "open");
    let docket = before["docket_id"].as_str().context("no docket")?;
    site.mock.complete_docket(docket)?;
    let late = delivered(&site, delivery(docket, "INTERESTED")).await?;
    assert_eq!(late, (200, "the run had already ended".to_owned()));
    assert_eq!(outcome(&site, &run).await?, before);
    let warning = format!("a completion came for {run}, which had already ended");
    until("the warning in the log", async || {
        Ok(site.node()?.log().contains(&warning).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_completion_is_not_believed_of_an_open_docket_or_with_another_context()
-> Result<()> {
    let (site, run) = begun(silent(), for_webhook()).await?;
    let docket = created_docket(&site, &run).await?;
    accepted(&site, delivery(&docket, "FORGED")).await?;
    let result = site.api().result(&run).await?;
    assert_eq!(result, None, "the run has this completion");
    // It does not block the genuine delivery, though it is still being checked.
    site.mock.complete_docket(&docket)?;
    let forged = json!({
        "docket_id": docket,
        "call_insights": { "call_disposition": "FORGED" },
        "call_context": { "name": "Asha" },
    });
    let forged = delivered(&site, forged.to_string()).await?;
    let answered = "the service contradicts it: call_context".to_owned();
    assert_eq!(forged, (409, answered));
    let answered = delivered(&site, delivery(&docket, "FORGED")).await?;
    assert_eq!(answered.0, 200, "{}", answered.1);
    completed(&site, &run).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_the_completion_of_a_run_is_answered_at_once_and_nothing_is_stored()
-> Result<()> {
    let site = Site::start(silent()).await?;
    let (run, docket) = completed_unheard(&site).await?;
    let known = delivery(&docket, "INTERESTED");
    let requests = site.mock.requests().len();
    // A sender without the secret learns nothing.
    let guessed = site.post("loopbacksecret0123456780", known).await?;
    let not_found = (404, "not found".to_owned());
    assert_eq!((guessed.status, reason(&guessed)), not_found);
    let call = r#"{"event":"call.completed","task_id":"t","docket_id":"d","call_status":"BUSY"}"#;
    for (body, status, says) in [
        (&b"\xff\xfe"[..], 400, "body"),
        (b"{\"docket_id\":7,\"attempts\":[1]}", 400, "body.docket_id"),
        (
            call.as_bytes(),
            200,
            "ignored: not the completion of a docket",
        ),
        (&[b' '; 122_881], 413, "the body is larger"),
    ] {
        let answered = delivered(&site, body).await?;
        assert_eq!(answered.0, status, "{answered:?}");
        assert!(answered.1.starts_with(says), "{answered:?}");
    }
    // The service was not asked for any of these.
    assert_eq!(site.mock.requests().len(), requests);
    let ignored = (200, "ignored: no run here created the docket");
    let unknown = (404, "the run that created the docket is unknown here");
    for (context, answer) in [
        (json!({}), ignored),
        (
            json!({ "obelisk_execution_id": "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA" }),
            unknown,
        ),
        // With this id the engine would fail the workflow that passes it.
        (json!({ "obelisk_execution_id": "E_1.n:docket_1" }), ignored),
    ] {
        let docket = completed_of_others(&site, context).await?;
        let answered = delivered(&site, delivery(&docket, "INTERESTED")).await?;
        assert_eq!(answered, (answer.0, answer.1.to_owned()));
    }
    assert!(site.deliveries().await?.is_empty());
    assert_eq!(
        site.api().result(&run).await?,
        None,
        "the run has a completion"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_tell_yet_is_asked_again() -> Result<()> {
    let site = Site::start(silent()).await?;
    let (run, docket) = completed_unheard(&site).await?;
    // A replica that does not know the docket yet, for the webhook and for the workflow; then
    // failures for all attempts of the workflow's next call.
    for status in [404, 404, 503, 503, 503, 503] {
        site.mock
            .on_next(Endpoint::GetDocket, Fault::status(status));
    }
    accepted(&site, delivery(&docket, "INTERESTED")).await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    let insights = &outcome["unverified"]["call_insights"];
    assert_eq!(insights["call_disposition"], "INTERESTED");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_notified_at_once_is_notified_later() -> Result<()> {
    // The webhook asks for the engine's API where it is not.
    let api = |url: &str| {
        format!(
            r#""VOICE_CALLING_MAX_RESPONSE_BYTES", value = "122880" }},
  {{ key = "OBELISK_API_URL", value = "{url}" }},"#
        )
    };
    let shipped = api("${OBELISK_API_URL:-http://127.0.0.1:5005}");
    let setup = silent().with_change(&shipped, &api("http://127.0.0.1:9"));
    let site = Site::start(setup).await?;
    let (run, docket) = completed_unheard(&site).await?;
    accepted(&site, delivery(&docket, "INTERESTED")).await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    Ok(())
}
