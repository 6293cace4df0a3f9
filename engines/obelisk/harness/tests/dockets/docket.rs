//! One docket: how its run handles each behaviour of the service.

use anyhow::{Context, Result};
use obelisk_harness::{Setup, Site, until};
use serde_json::{Value, json};
use voice_calling_mock::{Endpoint, Fault};

use crate::outcome::{
    NUMBER, assert_one_creation, begun, complete, completed, created_docket, delivered, failure,
    for_polls, for_webhook, held, open_question, until_status,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_docket_is_created_once_and_completed_by_its_webhook() -> Result<()> {
    let (mut site, run) = begun(Setup::lively(), for_webhook()).await?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "webhook");
    assert_eq!(
        (&outcome["created"], &outcome["polls"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(outcome["docket"]["status"], "completed");
    assert_eq!(outcome["docket"]["docket_id"], outcome["docket_id"]);
    let insights = &outcome["unverified"]["call_insights"];
    assert_eq!(insights["call_disposition"], "INTERESTED");
    // Numbers keep their digits all the way.
    let metadata = insights["call_metadata"].as_str().context("no metadata")?;
    assert!(
        metadata.contains(r#""policy_number":12345678901234567890"#),
        "{metadata}"
    );
    assert_one_creation(&site);

    let creation = &site.creations()[0];
    let body: Value = serde_json::from_slice(&creation.body)?;
    assert_eq!(body["to_phone_number"], NUMBER);
    let context = body["extra_config"]["call_context"].to_string();
    assert_eq!(
        context,
        format!(r#"{{"obelisk_execution_id":"{run}","name":"Asha","amount":0.1}}"#)
    );
    assert!(String::from_utf8_lossy(&creation.body).contains(r#""amount":0.10"#));
    // The engine has replaced the component's placeholder with the token.
    let token = site.mock.token();
    let header = format!("Bearer {token}").into_bytes();
    assert_eq!(creation.header_values("auth_token"), [header.as_slice()]);
    // The service was asked once before the webhook was trusted, and nothing was stored for that.
    assert_eq!(site.mock.requests_to(Endpoint::GetDocket).len(), 1);
    assert!(site.deliveries().await?.is_empty());
    let log = site.node()?.log();
    assert!(!log.contains(&token), "the token is in the log");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_webhook_polls_find_the_completion_and_survive_503s() -> Result<()> {
    let site = Site::start(Setup::default().silent()).await?;
    // The first poll fails in every attempt of the component, the second in only one.
    for _ in 0..5 {
        site.mock.on_next(Endpoint::GetDocket, Fault::status(503));
    }
    let run = site.run_docket(NUMBER, for_polls()).await?;
    let docket = created_docket(&site, &run).await?;
    site.until_polls(6).await?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(outcome["known_by"], "poll");
    assert_eq!(outcome["docket_id"], docket);
    assert_eq!(outcome["unverified"], Value::Null);
    assert_eq!(outcome["last_poll_failure"], Value::Null);
    let polls = outcome["polls"].as_u64().context("no polls")?;
    assert!(polls >= 3, "{polls}");
    assert_one_creation(&site);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_is_first_waits_for_the_insights_of_the_webhook() -> Result<()> {
    let site = Site::start(Setup::default().silent()).await?;
    let options = json!({
        "timeout_ms": 3_600_000,
        "first_poll_ms": 1_500,
        "insights_within_ms": 60_000,
    });
    let run = site.run_docket(NUMBER, options).await?;
    let docket = created_docket(&site, &run).await?;
    site.mock.complete_docket(&docket)?;
    site.until_polls(1).await?;
    let delivery = json!({ "docket_id": docket, "call_insights": { "call_disposition": "LATER" } });
    assert_eq!(delivered(&site, delivery.to_string()).await?.status, 200);
    let outcome = completed(&site, &run).await?;
    let insights = &outcome["unverified"]["call_insights"];
    assert_eq!(insights["call_disposition"], "LATER");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_ends_the_run_after_at_most_one_request_without_a_docket() -> Result<()> {
    let site = Site::start(Setup::default()).await?;
    let run = site.run_docket("12345", for_webhook()).await?;
    let (case, payload) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_not_created");
    assert_eq!(payload["problem"]["subject"], "to-phone-number");

    let run = site.run_docket(NUMBER, json!({ "timeout_ms": 0 })).await?;
    let (case, payload) = failure(&site, &run).await?;
    assert_eq!(case, "permanent_invalid_input");
    assert_eq!(payload["subject"], "options.timeout-ms");
    assert!(site.mock.requests().is_empty());
    for (fault, kind, next_step, status) in [
        (
            Fault::rate_limited(Some("3600")),
            "rate_limited",
            "retry_later",
            429,
        ),
        (Fault::status(401), "unauthorized", "fix_setting", 401),
    ] {
        let asked = site.creations().len();
        site.mock.on_next(Endpoint::CreateDocketV2, fault);
        let run = site.run_docket(NUMBER, for_webhook()).await?;
        let (case, payload) = failure(&site, &run).await?;
        assert_eq!(case, "permanent_not_created");
        assert_eq!(payload["kind"], kind, "{payload}");
        assert_eq!(payload["next_step"], next_step, "{payload}");
        assert_eq!(payload["response"]["status"], status, "{payload}");
        assert_eq!(site.creations().len(), asked + 1);
    }
    assert!(site.mock.phones_rung().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_behind_which_the_docket_may_exist_is_not_followed_by_another_creation()
-> Result<()> {
    let site = Site::start(Setup::default()).await?;
    for (nth, status) in [503, 303, 408, 409].into_iter().enumerate() {
        site.mock
            .on_next(Endpoint::CreateDocketV2, Fault::created_then(status));
        let run = site.run_docket(NUMBER, for_webhook()).await?;
        // The webhook provides the id that the answer would have contained.
        let outcome = complete(&site, &run).await?;
        assert_eq!(
            (&outcome["known_by"], &outcome["created"]),
            (&json!("webhook"), &Value::Null)
        );
        assert_eq!(site.creations().len(), nth + 1, "{status}");
        assert_eq!(site.mock.times_rung(NUMBER), nth + 1, "{status}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_is_a_question_to_a_person_who_finds_the_docket() -> Result<()> {
    let site = Site::start(Setup::hasty().silent()).await?;
    // The docket is created, and no answer comes before the component's deadline.
    site.mock.on_next(Endpoint::CreateDocketV2, held());
    let run = site.run_docket(NUMBER, for_polls()).await?;
    let mut asked = 1;
    let mut question = async || {
        asked += 1;
        let question = open_question(&site).await?;
        assert_eq!(
            question,
            format!("{run}.n:docket_{asked}"),
            "not asked again"
        );
        anyhow::Ok(question)
    };
    // A question that is cancelled decides nothing: it is asked again.
    let cancelled = question().await?;
    site.api().cancel_activity(&cancelled).await?;
    until_status(&site, &cancelled, "finished").await?;

    // A docket of another run is rejected.
    let other = site.run_docket("919876543211", for_webhook()).await?;
    let other = created_docket(&site, &other).await?;
    let other = json!({ "ok": other });
    site.api().stub(&question().await?, &other).await?;

    let docket = site.docket_of(&run).context("no docket")?;
    // So is one that has the run's id and another number, of a run before a restored database.
    let context = json!({ "obelisk_execution_id": run });
    let other = site.create_without_engine(&context, "919876543212").await?;
    let other = json!({ "ok": other });
    site.api().stub(&question().await?, &other).await?;

    let docket_id = json!({ "ok": docket });
    site.api().stub(&question().await?, &docket_id).await?;
    until("a poll", async || {
        let path = format!("/api/v1/dockets/{docket}");
        let polls = site.mock.requests_to(Endpoint::GetDocket);
        Ok(polls.iter().any(|it| it.path() == path).then_some(()))
    })
    .await?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(&site, &run).await?;
    assert_eq!(
        (&outcome["docket_id"], &outcome["known_by"]),
        (&json!(docket), &json!("poll"))
    );
    assert_eq!(site.mock.times_rung(NUMBER), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_activities_and_what_creates_without_a_claim_is_denied() -> Result<()> {
    let site = Site::start(Setup::default()).await?;
    let function = "voice-calling:client/agents@0.2.0.list-agents";
    let agents = site.submit(function, json!(["org-1", null])).await?;
    let agents = site.ending(&agents).await?.ok()?;
    assert_eq!(agents["agents"][0]["agent_name"], "renewals");
    let function = "voice-calling:client/calls@0.2.0.make-call";
    let request = json!([{
        "from_agent_name": "renewals", "to_phone_number": NUMBER, "call_context": [["name", "Asha"]],
    }, null]);
    let call = site.submit(function, request).await?;
    let (case, payload) = failure(&site, &call).await?;
    assert_eq!(case, "permanent");
    assert_eq!(payload["kind"], "configuration", "{payload}");
    assert!(site.mock.phones_rung().is_empty());
    Ok(())
}
