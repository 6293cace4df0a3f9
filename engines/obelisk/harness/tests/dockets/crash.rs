//! The engine is killed (SIGKILL) at a chosen moment and started again. In every case the phone
//! rings at most once; where the engine cannot know whether it rang, the run does not try again.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use obelisk_harness::{Ending, Setup, Site, execution_id};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use voice_calling_mock::{Endpoint, Fault, Pace, WebhookOptions};

use crate::outcome::{
    LIMIT, NUMBER, assert_one_creation, begun, complete, completed, created_docket, creations,
    failure, for_polls, for_webhook, open_question, until, until_status,
};

fn creation_of(run: &str) -> String {
    format!("{run}.o:2-create-docket-v2_1")
}

fn completion_of(run: &str) -> String {
    format!("{run}.n:docket_1")
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_submission_is_acknowledged() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    let run = execution_id();
    {
        // Nobody waits for the answer.
        let submission = site.run_docket(&run, NUMBER, for_webhook());
        let _ = tokio::time::timeout(Duration::from_millis(3), submission).await;
    }
    site.kill()?;
    site.restart().await?;
    // Who got no answer submits again, with the same id.
    site.run_docket(&run, NUMBER, for_webhook()).await?;
    complete(&site, &run).await?;
    assert_one_creation(&site, &run).await
}

/// Kills the engine at the moment that `reached` waits for, starts it again, and has the docket
/// completed. Returns the outcome.
async fn killed_when(reached: impl AsyncFnOnce(&Site, &str) -> Result<()>) -> Result<Value> {
    let (mut site, run) = begun(Setup::hasty(), for_webhook()).await?;
    reached(&site, &run).await?;
    site.kill()?;
    site.restart().await?;
    let outcome = complete(&site, &run).await?;
    assert_one_creation(&site, &run).await?;
    Ok(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_submission_and_before_anything_is_done() -> Result<()> {
    killed_when(async |_, _| Ok(())).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_creation_is_submitted_and_not_begun() -> Result<()> {
    // One creation at a time: this one has to wait for another one.
    let unlimited = "exec.lock_expiry.seconds = 4\n";
    let one_at_a_time = "exec.lock_expiry.seconds = 4\nexec.instance_limiter = 1\n";
    let mut site = Site::start(Setup::hasty().with_change(unlimited, one_at_a_time)).await?;
    let held = Fault::slow(Duration::from_secs(60));
    site.mock.on_next(Endpoint::CreateDocketV2, held);
    let before = execution_id();
    site.run_docket(&before, "919876543211", for_webhook())
        .await?;
    creations(&site, 1).await?;
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_webhook()).await?;
    until_status(&site, &creation_of(&run), "pending_at").await?;
    site.kill()?;
    assert_eq!(site.mock.times_rung(NUMBER), 0);
    site.restart().await?;
    let outcome = complete(&site, &run).await?;
    assert_eq!(outcome["created"], true);
    assert_eq!(site.mock.times_rung(NUMBER), 1);
    assert_eq!(site.creating_executions(&run).await?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_the_request_never_arrives() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    site.gate.shut();
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_polls()).await?;
    site.gate.swallowed(1).await;
    site.kill()?;
    site.gate.open();
    site.restart().await?;
    // Nobody knows, so a person has to look; there is no docket, and the run is given up.
    let question = open_question(&site).await?;
    assert_eq!(site.docket_of(&run), None);
    let reason = json!({ "err": "there is no such docket" });
    site.api().stub(&question, &reason).await?;
    let (case, _) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_given_up");
    assert!(site.creations().is_empty());
    // Whoever still wants the docket submits a run of another id.
    let again = execution_id();
    site.run_docket(&again, NUMBER, for_polls()).await?;
    let docket = created_docket(&site, &again).await?;
    site.mock.complete_docket(&docket)?;
    completed(&site, &again).await?;
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    Ok(())
}

/// Has the creation arrive and its answer come late, kills the node in between, and starts it
/// again.
async fn killed_between_creation_and_answer(
    setup: Setup,
    options: Value,
) -> Result<(Site, String)> {
    let mut site = Site::start(setup).await?;
    let held = Fault::slow(Duration::from_secs(60));
    site.mock.on_next(Endpoint::CreateDocketV2, held);
    let run = execution_id();
    site.run_docket(&run, NUMBER, options).await?;
    creations(&site, 1).await?;
    site.kill()?;
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    site.restart().await?;
    Ok((site, run))
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_the_webhook_brings_the_docket() -> Result<()> {
    let setup = Setup::hasty();
    let (site, run) = killed_between_creation_and_answer(setup, for_webhook()).await?;
    let outcome = complete(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    assert_eq!(json!(site.docket_of(&run)), outcome["docket_id"]);
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_a_person_finds_the_docket() -> Result<()> {
    let setup = Setup::hasty().without_webhook();
    let (site, run) = killed_between_creation_and_answer(setup, for_polls()).await?;
    a_person_finds_the_docket(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_nobody_ever_knows() -> Result<()> {
    let setup = Setup::hasty().without_webhook();
    let options = json!({ "timeout_ms": 1_000 });
    let (site, run) = killed_between_creation_and_answer(setup, options).await?;
    let (case, cause) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_outcome_unknown");
    assert_eq!(cause, "execution_failed");
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_and_perhaps_not_yet_stored() -> Result<()> {
    killed_when(async |site, _| creations(site, 1).await).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn created_and_not_yet_waiting() -> Result<()> {
    let created =
        async |site: &Site, run: &str| until_status(site, &creation_of(run), "finished").await;
    assert_eq!(killed_when(created).await?["created"], true);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_run_waits() -> Result<()> {
    let waits = async |site: &Site, run: &str| {
        until_status(site, &creation_of(run), "finished").await?;
        until_status(site, run, "blocked_by_join_set").await
    };
    let outcome = killed_when(waits).await?;
    assert_eq!(
        (&outcome["known_by"], &outcome["created"]),
        (&json!("webhook"), &json!(true))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_webhook_comes_to_nobody() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    let run = execution_id();
    let options = json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 1_000,
        "insights_within_ms": 0,
    });
    site.run_docket(&run, NUMBER, options).await?;
    let docket = created_docket(&site, &run).await?;
    until_status(&site, &creation_of(&run), "finished").await?;
    site.kill()?;
    site.mock.complete_docket(&docket)?;
    let delivery = site.mock.delivered(1).await.remove(0);
    assert!(delivery.outcome.is_err(), "delivered to a dead engine");
    site.restart().await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_delivery_is_half_received() -> Result<()> {
    use tokio::io::AsyncWriteExt;
    let (mut site, run) = begun(Setup::hasty().without_webhook(), for_webhook()).await?;
    let docket = created_docket(&site, &run).await?;
    site.mock.complete_docket(&docket)?;
    let address = site.node()?.webhook_address();
    let mut half = tokio::net::TcpStream::connect(address).await?;
    let head = "POST /voice-calling/loopbacksecret0123456789 HTTP/1.1\r\n\
                host: localhost\r\ncontent-length: 100\r\n\r\n{\"docket_id\":";
    half.write_all(head.as_bytes()).await?;
    site.kill()?;
    site.restart().await?;
    assert!(site.deliveries().await?.is_empty());
    // A delivery without an answer is one to repeat.
    let told = json!({ "docket_id": docket, "attempts": [{ "call_status": "NO_ANSWER" }] });
    assert_eq!(site.deliver(told.to_string()).await?.status, 200);
    completed(&site, &run).await?;
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_delivery_is_checked_with_the_service() -> Result<()> {
    let (mut site, run) = begun(Setup::hasty(), for_webhook()).await?;
    let docket = created_docket(&site, &run).await?;
    until_status(&site, &creation_of(&run), "finished").await?;
    let held = Fault::slow(Duration::from_secs(60));
    site.mock.on_next(Endpoint::GetDocket, held);
    site.mock.complete_docket(&docket)?;
    until("the question to the service", async || {
        let asked = site.mock.requests_to(Endpoint::GetDocket).len();
        Ok((asked == 1).then_some(()))
    })
    .await?;
    site.kill()?;
    let delivery = site.mock.delivered(1).await.remove(0);
    assert!(delivery.outcome.is_err(), "answered by a dead engine");
    site.restart().await?;
    // The delivery was stored: nobody has to repeat it.
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    assert_eq!(site.mock.deliveries().len(), 1);
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_run_is_told_and_has_not_ended() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    // The moment is short, and is tried for until it was hit.
    for _ in 0..20 {
        let rung = site.mock.times_rung(NUMBER);
        let run = execution_id();
        site.run_docket(&run, NUMBER, for_webhook()).await?;
        until_status(&site, &creation_of(&run), "finished").await?;
        let docket = created_docket(&site, &run).await?;
        site.mock.complete_docket(&docket)?;
        until_status(&site, &completion_of(&run), "finished").await?;
        site.kill()?;
        let killed_at = OffsetDateTime::now_utc();
        site.restart().await?;
        let outcome = completed(&site, &run).await?;
        assert_eq!(outcome["known_by"], "webhook");
        assert_eq!(site.mock.times_rung(NUMBER), rung + 1);
        let status = site.api().status(&run).await?.context("no run")?;
        let finished_at = status.raw["pending_state"]["finished_at"].as_str();
        let finished_at = finished_at.context("no time")?;
        if OffsetDateTime::parse(finished_at, &Rfc3339)? > killed_at {
            return Ok(());
        }
    }
    bail!("the run had ended before each kill")
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_poll_is_in_flight() -> Result<()> {
    let mut site = Site::start(Setup::hasty().without_webhook()).await?;
    let held = Fault::slow(Duration::from_secs(60));
    site.mock.on_next(Endpoint::GetDocket, held);
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_polls()).await?;
    let docket = created_docket(&site, &run).await?;
    until("a poll", async || {
        let asked = site.mock.requests_to(Endpoint::GetDocket).len();
        Ok((asked == 1).then_some(()))
    })
    .await?;
    site.kill()?;
    site.mock.complete_docket(&docket)?;
    site.restart().await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    assert_one_creation(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_run_waits_to_create_again_after_a_rate_limit() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    // The pause does not fit into the component's deadline, so that the workflow makes it.
    let limited = Fault::rate_limited(Some("3"));
    site.mock.on_next(Endpoint::CreateDocketV2, limited);
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_webhook()).await?;
    until_status(&site, &creation_of(&run), "finished").await?;
    site.kill()?;
    site.restart().await?;
    complete(&site, &run).await?;
    assert_eq!(site.creations().len(), 2);
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn again_and_again() -> Result<()> {
    let mut setup = Setup::hasty();
    setup.mock.pace = Pace::Every(Duration::from_millis(100));
    setup.webhook = Some(WebhookOptions {
        copies: 2,
        ..WebhookOptions::to("")
    });
    let mut site = Site::start(setup).await?;
    let numbers: Vec<_> = (0..8).map(|n| format!("9198765432{n:02}")).collect();
    let runs: Vec<_> = numbers.iter().map(|_| execution_id()).collect();
    let options = json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 2_000,
        "longest_poll_ms": 2_000,
        "insights_within_ms": 100,
    });
    for (nth, (run, number)) in runs.iter().zip(&numbers).enumerate() {
        site.run_docket(run, number, options.clone()).await?;
        // At moments that nobody has chosen.
        tokio::time::sleep(Duration::from_millis(37 * nth as u64)).await;
        site.kill()?;
        site.restart().await?;
    }
    for (run, number) in runs.iter().zip(&numbers) {
        let ending = until("the end of the run", async || {
            // What was in flight at a kill is a question.
            site.answer_questions().await?;
            site.api().result(run).await
        })
        .await?;
        let rung = site.mock.times_rung(number);
        match ending {
            Ending::Ok(outcome) => {
                assert_eq!((&outcome["completed"], rung), (&json!(true), 1), "{number}");
            }
            Ending::Err(error) => {
                let given_up = !error["permanent_given_up"].is_null();
                assert!(given_up && rung == 0, "{number} rang {rung} times: {error}");
            }
            other => panic!("{number}: {other:?}"),
        }
    }
    Ok(())
}

/// Has a creation be under way at the service, whose answer takes seconds.
async fn in_flight(setup: Setup) -> Result<(Site, String)> {
    let site = Site::start(setup.without_webhook()).await?;
    let slow = Fault::slow(Duration::from_secs(4));
    site.mock.on_next(Endpoint::CreateDocketV2, slow);
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_polls()).await?;
    creations(&site, 1).await?;
    Ok((site, run))
}

/// That the engine ran the creation again, which asked a person instead of the service.
async fn a_person_finds_the_docket(site: &Site, run: &str) -> Result<()> {
    let question = until("a question to a person", async || {
        ensure!(site.creations().len() == 1, "the phone rings again");
        Ok(site.open_questions().await?.pop())
    })
    .await?;
    let docket = site.docket_of(run).context("no docket")?;
    site.api().stub(&question, &json!({ "ok": docket })).await?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(site, run).await?;
    assert_eq!(outcome["docket_id"], docket);
    assert_one_creation(site, run).await
}

/// Not killed but asked to end (SIGTERM), the engine puts the activity back, and runs it again when
/// it is started again. The claim is taken then.
#[tokio::test(flavor = "multi_thread")]
async fn asked_to_end_in_flight() -> Result<()> {
    let (mut site, run) = in_flight(Setup::default()).await?;
    site.node()?.terminate(LIMIT).await?;
    site.restart().await?;
    a_person_finds_the_docket(&site, &run).await
}

/// As when it is asked to end.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_applied_in_flight() -> Result<()> {
    let (site, run) = in_flight(Setup::default()).await?;
    let deployment = site.api().deployment_id().await?;
    site.apply_deployment("exec.batch_size = 20", "exec.batch_size = 21")
        .await?;
    assert_ne!(site.api().deployment_id().await?, deployment);
    a_person_finds_the_docket(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_in_flight() -> Result<()> {
    let (site, run) = in_flight(Setup::default()).await?;
    site.api().cancel_activity(&creation_of(&run)).await?;
    a_person_finds_the_docket(&site, &run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_in_flight_cannot_be_paused() -> Result<()> {
    let (site, run) = in_flight(Setup::default()).await?;
    let refused = site.api().pause(&creation_of(&run)).await.unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("answered with 422"), "{refused}");
    let docket = site.docket_of(&run).context("no docket")?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["created"], true);
    assert_one_creation(&site, &run).await
}

/// Nothing is sent that is not claimed, and the run knows it.
#[tokio::test(flavor = "multi_thread")]
async fn where_no_claim_can_be_written_nothing_is_created() -> Result<()> {
    let elsewhere = r#"{ key = "OBELISK_API_URL", value = "http://127.0.0.1:9" }"#;
    let shipped =
        r#"{ key = "OBELISK_API_URL", value = "${OBELISK_API_URL:-http://127.0.0.1:5005}" }"#;
    let site = Site::start(Setup::default().with_change(shipped, elsewhere)).await?;
    let run = execution_id();
    let options = json!({ "timeout_ms": 600_000, "create_within_ms": 1_500 });
    site.run_docket(&run, NUMBER, options).await?;
    let (case, error) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_not_created");
    let message = error["unreachable"]["message"].as_str();
    assert!(
        message.is_some_and(|message| message.contains("claim")),
        "{error}"
    );
    // It was tried again, under another claim.
    assert_eq!(site.creating_executions(&run).await?.len(), 2);
    assert!(site.creations().is_empty());
    Ok(())
}

/// The engine has begun the creation, which has no claim yet: the run closes the claim, and creates
/// under the next one. Nobody has to be asked.
#[tokio::test(flavor = "multi_thread")]
async fn begun_and_not_claimed() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    site.claims.shut();
    let run = execution_id();
    site.run_docket(&run, NUMBER, for_webhook()).await?;
    site.claims.swallowed(1).await;
    site.kill()?;
    site.claims.open();
    site.restart().await?;
    let outcome = complete(&site, &run).await?;
    assert_eq!(outcome["created"], true);
    assert_eq!(site.creating_executions(&run).await?.len(), 2);
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    Ok(())
}

/// On which all of this rests.
#[tokio::test(flavor = "multi_thread")]
async fn the_engine_takes_one_text_for_a_claim() -> Result<()> {
    let (site, run) = begun(Setup::hasty(), for_webhook()).await?;
    complete(&site, &run).await?;
    let claim = format!("{run}.n:claim_1");
    let taken = site.api().result(&claim).await?.context("no claim")?;
    let Ending::Ok(text) = taken else {
        panic!("{taken:?}")
    };
    // The same text is not a second one; any other is refused.
    site.api().stub(&claim, &json!({ "ok": text })).await?;
    let other = site.api().stub(&claim, &json!({ "ok": "other" })).await;
    let refused = other.unwrap_err().to_string();
    assert!(refused.contains("answered with 409"), "{refused}");
    Ok(())
}
