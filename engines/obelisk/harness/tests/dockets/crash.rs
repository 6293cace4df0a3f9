//! The engine is killed (SIGKILL) at a chosen moment and restarted. In every case the phone rings
//! at most once; if the engine cannot know whether it rang, the run does not retry.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use obelisk_harness::{API_URL, LIMIT, Setup, Site, execution_id, until};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use voice_calling_mock::{Endpoint, Fault};

use crate::outcome::{
    NUMBER, assert_nothing_was_cancelled, assert_one_creation, begun, complete, completed,
    created_docket, creation_in_flight, delivered, failure, for_polls, for_webhook, held,
    open_question, until_answered, until_status,
};
use crate::proxy::Proxy;

#[tokio::test(flavor = "multi_thread")]
async fn before_the_submission_is_acknowledged() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    let run = execution_id();
    {
        // The answer is not awaited.
        let submission = site.submit_docket(&run, NUMBER, for_webhook());
        let _ = tokio::time::timeout(Duration::from_millis(3), submission).await;
    }
    site.kill()?;
    site.restart().await?;
    // A caller without an answer submits again, with the same id: it is the same run.
    site.submit_docket(&run, NUMBER, for_webhook()).await?;
    let other = site.submit_docket(&run, NUMBER, for_polls()).await;
    let refused = other.unwrap_err().to_string();
    assert!(refused.contains("other parameters"), "{refused}");
    complete(&site, &run).await?;
    let is_new = site.submit_docket(&run, NUMBER, for_webhook()).await?;
    assert!(!is_new);
    assert_one_creation(&site);
    Ok(())
}

/// Kills the engine at the moment that `reached` waits for, restarts it, and completes the docket.
/// Returns the outcome.
async fn killed_when(reached: impl AsyncFnOnce(&Site, &str) -> Result<()>) -> Result<Value> {
    let (mut site, run) = begun(Setup::hasty(), for_webhook()).await?;
    reached(&site, &run).await?;
    site.kill()?;
    site.restart().await?;
    let outcome = complete(&site, &run).await?;
    assert_one_creation(&site);
    Ok(outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn submitted_or_answered_or_created_or_waiting() -> Result<()> {
    killed_when(async |_, _| Ok(())).await?;
    killed_when(async |site, _| site.until_creations(1).await).await?;
    assert_eq!(killed_when(until_answered).await?["created"], true);
    let outcome = killed_when(async |site, run| {
        until_answered(site, run).await?;
        until_status(site, run, "blocked_by_join_set").await
    });
    let outcome = outcome.await?;
    assert_eq!(
        (&outcome["known_by"], &outcome["created"]),
        (&json!("webhook"), &json!(true))
    );
    Ok(())
}

/// The engine has begun the creation, which has no claim yet: the run closes the claim, and creates
/// under the next one. No person has to be asked.
#[tokio::test(flavor = "multi_thread")]
async fn begun_and_not_claimed() -> Result<()> {
    // The request for the claim comes to a listener that answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await?;
    let nowhere = format!("http://{}", silent.local_addr()?);
    let mut site = Site::start(Setup::hasty().with_variable(API_URL, &nowhere)).await?;
    let run = site.run_docket(NUMBER, for_webhook()).await?;
    let (mut request, _) = silent.accept().await?;
    request.read_u8().await?;
    site.kill()?;
    let api = format!("http://{}", site.api().address());
    site.set_variable(API_URL, &api);
    site.restart().await?;
    let outcome = complete(&site, &run).await?;
    assert_eq!(outcome["created"], true);
    assert!(site.creating_executions(&run).await?.len() >= 2);
    assert_one_creation(&site);
    Ok(())
}

/// The engine takes the claim, and its answers are lost: nothing is sent, and the run knows that.
#[tokio::test(flavor = "multi_thread")]
async fn claimed_without_an_answer() -> Result<()> {
    let mut site = Site::prepare(Setup::default()).await?;
    let (_, api) = site.environment();
    // All tries of the first run.
    let proxy = Proxy::start(api.address(), "/stub", 3).await?;
    site.set_variable(API_URL, &proxy.url);
    site.restart().await?;
    let run = site.run_docket(NUMBER, for_webhook()).await?;
    until("the creation", async || {
        ensure!(site.open_questions().await?.is_empty(), "a person is asked");
        Ok((site.creations().len() == 1).then_some(()))
    })
    .await?;
    let claim = site.ending(&format!("{run}.n:claim_1")).await?.ok()?;
    assert!(claim.is_string(), "nothing was claimed");
    complete(&site, &run).await?;
    assert!(site.creating_executions(&run).await?.len() >= 2);
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_the_service_never_carries_it_out() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    site.mock.on_next(Endpoint::CreateDocketV2, Fault::hang());
    let run = site.run_docket(NUMBER, for_polls()).await?;
    site.until_creations(1).await?;
    site.kill()?;
    site.restart().await?;
    // The outcome is unknown, so a person has to look; no docket exists, and the run is given up.
    let question = open_question(&site).await?;
    assert_eq!(site.docket_of(&run), None);
    let reason = json!({ "err": "there is no such docket" });
    site.api().stub(&question, &reason).await?;
    let (case, _) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_given_up");
    assert_eq!(site.creations().len(), 1);
    // To create the docket after all, a caller submits a run with another id.
    let again = site.run_docket(NUMBER, for_polls()).await?;
    complete(&site, &again).await?;
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_flight_and_the_webhook_brings_the_docket_or_it_stays_unknown() -> Result<()> {
    for is_silent in [false, true] {
        let mut setup = Setup::hasty();
        setup.is_silent = is_silent;
        let mut site = Site::start(setup).await?;
        site.mock.on_next(Endpoint::CreateDocketV2, held());
        let options = match is_silent {
            false => for_webhook(),
            true => json!({ "timeout_ms": 1_000 }),
        };
        let run = site.run_docket(NUMBER, options).await?;
        site.until_creations(1).await?;
        site.kill()?;
        assert_eq!(site.mock.phones_rung(), [NUMBER]);
        site.restart().await?;
        if is_silent {
            let (case, cause) = failure(&site, &run).await?;
            assert_eq!(case, "permanent_outcome_unknown");
            assert_eq!(cause["message"], "the engine lost the creation");
            // The question is withdrawn with the run.
            assert!(site.open_questions().await?.is_empty());
            assert_nothing_was_cancelled(&site, &run).await?;
        } else {
            assert_eq!(complete(&site, &run).await?["known_by"], "webhook");
        }
        assert_one_creation(&site);
    }
    Ok(())
}

/// If the engine is asked to end (SIGTERM), or applies a deployment, it returns the activity to the
/// queue and reruns it. The claim is taken by then: a person is asked instead of the service. The
/// same holds if the activity is cancelled; pausing it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn asked_to_end_or_to_apply_a_deployment_or_cancelled_in_flight() -> Result<()> {
    for interruption in ["terminate", "apply", "cancel"] {
        let mut site = Site::start(Setup::patient().silent()).await?;
        site.mock.on_next(Endpoint::CreateDocketV2, held());
        let run = site.run_docket(NUMBER, for_polls()).await?;
        site.until_creations(1).await?;
        let creation = creation_in_flight(&site, &run).await?;
        let creation = creation.context("nothing is in flight")?;
        match interruption {
            "terminate" => {
                site.node()?.terminate(LIMIT).await?;
                site.restart().await?;
            }
            "apply" => {
                let deployment = site.api().deployment_id().await?;
                site.apply_deployment("exec.batch_size = 20", "exec.batch_size = 21")
                    .await?;
                assert_ne!(site.api().deployment_id().await?, deployment);
            }
            _ => {
                let refused = site.api().pause(&creation).await.unwrap_err();
                let refused = refused.to_string();
                assert!(refused.contains("answered with 422"), "{refused}");
                site.api().cancel_activity(&creation).await?;
            }
        }
        // The answer is thrown away.
        site.end_calls()?;
        let question = until("a question to a person", async || {
            ensure!(site.creations().len() == 1, "the phone rings again");
            Ok(site.open_questions().await?.pop())
        });
        let question = question.await?;
        let docket = site.docket_of(&run).context("no docket")?;
        site.api().stub(&question, &json!({ "ok": docket })).await?;
        complete(&site, &run).await?;
        assert_one_creation(&site);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_webhook_reaches_no_one() -> Result<()> {
    let options = json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 1_000,
        "insights_within_ms": 0,
    });
    let (mut site, run) = begun(Setup::hasty(), options).await?;
    let docket = created_docket(&site, &run).await?;
    until_answered(&site, &run).await?;
    site.kill()?;
    site.mock.complete_docket(&docket)?;
    let delivery = site.mock.delivered(1).await.remove(0);
    assert!(delivery.outcome.is_err(), "delivered to a dead engine");
    site.restart().await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_poll_is_in_flight() -> Result<()> {
    let mut site = Site::start(Setup::hasty().silent()).await?;
    site.mock.on_next(Endpoint::GetDocket, held());
    let run = site.run_docket(NUMBER, for_polls()).await?;
    let docket = created_docket(&site, &run).await?;
    site.until_polls(1).await?;
    site.kill()?;
    site.mock.complete_docket(&docket)?;
    site.restart().await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_delivery_is_checked_by_the_webhook() -> Result<()> {
    let (mut site, run, docket) = delivery_checked().await?;
    site.until_polls(1).await?;
    kill_and_recover(&mut site)?;
    let delivery = site.mock.delivered(1).await.remove(0);
    assert!(delivery.outcome.is_err());
    site.restart().await?;
    assert!(site.deliveries().await?.is_empty());
    let repeated = json!({ "docket_id": docket, "attempts": [{ "call_status": "NO_ANSWER" }] });
    assert_eq!(delivered(&site, repeated.to_string()).await?.status, 200);
    completed(&site, &run).await?;
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_delivery_is_checked_by_the_workflow() -> Result<()> {
    let (mut site, run, _) = delivery_checked().await?;
    // The webhook gives up after some seconds, and the workflow asks.
    let delivery = site.mock.delivered(1).await.remove(0);
    site.until_polls(2).await?;
    kill_and_recover(&mut site)?;
    assert_eq!(delivery.outcome.map_err(anyhow::Error::msg)?, 202);
    site.restart().await?;
    // The delivery was stored, so the sender need not retry it.
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    assert_eq!(site.mock.deliveries().len(), 1);
    assert_one_creation(&site);
    Ok(())
}

/// Begins a run whose docket is completed at a service that does not answer questions about it.
/// Returns the run and its docket too.
async fn delivery_checked() -> Result<(Site, String, String)> {
    let (site, run) = begun(Setup::hasty(), for_webhook()).await?;
    let docket = created_docket(&site, &run).await?;
    until_answered(&site, &run).await?;
    for _ in 0..99 {
        site.mock.on_next(Endpoint::GetDocket, held());
    }
    site.mock.complete_docket(&docket)?;
    Ok((site, run, docket))
}

/// Kills the engine; then the service answers again.
fn kill_and_recover(site: &mut Site) -> Result<()> {
    site.kill()?;
    site.mock.clear_orders();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_run_waits_to_create_again_after_a_rate_limit() -> Result<()> {
    let mut site = Site::start(Setup::hasty()).await?;
    // The pause does not fit into the component's deadline, so the workflow makes it.
    let limited = Fault::rate_limited(Some("9"));
    site.mock.on_next(Endpoint::CreateDocketV2, limited);
    let run = site.run_docket(NUMBER, for_webhook()).await?;
    until_answered(&site, &run).await?;
    site.kill()?;
    site.restart().await?;
    complete(&site, &run).await?;
    let creations = site.creations();
    assert_eq!(creations.len(), 2);
    assert!(creations[1].at - creations[0].at >= Duration::from_millis(8_990));
    assert!(site.creating_executions(&run).await?.len() >= 2);
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
    Ok(())
}

/// Nothing is sent without a claim, and the run knows that.
#[tokio::test(flavor = "multi_thread")]
async fn where_no_claim_can_be_written_nothing_is_created() -> Result<()> {
    // Of creations, whose variables follow it.
    let next = "\n  { key = \"VOICE_CALLING_BASE_URL\"";
    let elsewhere =
        format!(r#"{{ key = "OBELISK_API_URL", value = "http://127.0.0.1:9" }},{next}"#);
    let url = "${OBELISK_API_URL:-http://127.0.0.1:5005}";
    let shipped = format!(r#"{{ key = "OBELISK_API_URL", value = "{url}" }},{next}"#);
    let options = json!({ "timeout_ms": 600_000, "create_within_ms": 1_500 });
    let setup = Setup::default().with_change(&shipped, &elsewhere);
    let (site, run) = begun(setup, options).await?;
    let (case, error) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_not_created");
    assert_eq!(error["kind"], "unreachable", "{error}");
    let message = error["message"].as_str();
    assert!(message.is_some_and(|it| it.contains("claim")), "{error}");
    // It was retried under another claim.
    assert!(site.creating_executions(&run).await?.len() >= 2);
    assert!(site.creations().is_empty());
    Ok(())
}

/// All of these tests rely on this.
#[tokio::test(flavor = "multi_thread")]
async fn the_engine_takes_one_text_for_a_claim() -> Result<()> {
    let (site, run) = begun(Setup::hasty(), for_webhook()).await?;
    complete(&site, &run).await?;
    let claim = format!("{run}.n:claim_1");
    let text = site.ending(&claim).await?.ok()?;
    // The same text is accepted again; any other is refused.
    site.api().stub(&claim, &json!({ "ok": text })).await?;
    let other = site.api().stub(&claim, &json!({ "ok": "other" })).await;
    let refused = other.unwrap_err().to_string();
    assert!(refused.contains("answered with 409"), "{refused}");
    Ok(())
}
