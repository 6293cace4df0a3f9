//! Outcomes of runs, and assertions on them.

use anyhow::{Context, Result, bail, ensure};
use obelisk_harness::{Answer, CALL, Ending, Setup, Site, until};
use serde_json::{Value, json};
use voice_calling_mock::Fault;

pub(crate) const NUMBER: &str = "910000000000";

/// Returns options with which a test waits for the webhook: no poll comes before it.
pub(crate) fn for_webhook() -> Value {
    json!({ "timeout_ms": 3_600_000, "first_poll_ms": 3_600_000 })
}

/// Returns options with which polls find a completion, and insights are not awaited.
pub(crate) fn for_polls() -> Value {
    json!({
        "timeout_ms": 200_000,
        "first_poll_ms": 300,
        "longest_poll_ms": 500,
        "insights_within_ms": 0,
    })
}

/// Returns a fault that delays an answer until [`Site::end_calls`].
pub(crate) fn held() -> Fault {
    Fault::slow(CALL)
}

/// Posts to the webhook, and again while the answer is 202: the engine was too busy to check the
/// delivery within seconds. Returns the first other answer.
pub(crate) async fn delivered(site: &Site, body: impl Into<Vec<u8>>) -> Result<Answer> {
    let body = body.into();
    until("an answer of the webhook", async || {
        let answer = site.deliver(body.clone()).await?;
        Ok((answer.status != 202).then_some(answer))
    })
    .await
}

/// Starts a site and a run for a docket. Returns both.
pub(crate) async fn begun(setup: Setup, options: Value) -> Result<(Site, String)> {
    let site = Site::start(setup).await?;
    let run = site.run_docket(NUMBER, options).await?;
    Ok((site, run))
}

/// Waits until an execution exists and has the status.
pub(crate) async fn until_status(site: &Site, id: &str, wanted: &str) -> Result<()> {
    until(&format!("{id} is {wanted}"), async || {
        let status = site.api().status(id).await?;
        Ok(status.filter(|it| it == wanted).map(drop))
    })
    .await
}

/// Waits for the only open question, and returns it.
pub(crate) async fn open_question(site: &Site) -> Result<String> {
    until("a question to a person", async || {
        let mut open = site.open_questions().await?;
        ensure!(open.len() <= 1, "{open:?}");
        Ok(open.pop())
    })
    .await
}

/// Waits for the docket that a run creates, and returns its id.
pub(crate) async fn created_docket(site: &Site, run: &str) -> Result<String> {
    until("the docket of the run", async || Ok(site.docket_of(run))).await
}

/// Waits until the engine has sent the creation of a run and stored the answer.
pub(crate) async fn until_answered(site: &Site, run: &str) -> Result<()> {
    site.until_creations(1).await?;
    until("the end of the creation", async || {
        Ok(creation_in_flight(site, run).await?.is_none().then_some(()))
    })
    .await
}

/// Returns the execution that is creating the docket of a run, if one is.
pub(crate) async fn creation_in_flight(site: &Site, run: &str) -> Result<Option<String>> {
    let mut executions = site.creating_executions(run).await?;
    executions.retain(|it| it["pending_state"]["status"] != "finished");
    let id = executions.pop();
    Ok(id.and_then(|it| it["execution_id"].as_str().map(str::to_owned)))
}

/// Completes the docket of a run, and returns the outcome.
pub(crate) async fn complete(site: &Site, run: &str) -> Result<Value> {
    let docket = created_docket(site, run).await?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(site, run).await?;
    ensure!(outcome["docket_id"] == docket, "another docket: {outcome}");
    Ok(outcome)
}

/// Returns the outcome of a run, whose docket must be completed.
pub(crate) async fn completed(site: &Site, run: &str) -> Result<Value> {
    let outcome = outcome(site, run).await?;
    ensure!(outcome["completed"] == true, "not completed: {outcome}");
    Ok(outcome)
}

/// Returns the outcome of a run.
pub(crate) async fn outcome(site: &Site, run: &str) -> Result<Value> {
    site.ending(run).await?.ok()
}

/// Returns the error of a run, as its case and its payload.
pub(crate) async fn failure(site: &Site, run: &str) -> Result<(String, Value)> {
    let Ending::Err(error) = site.ending(run).await? else {
        bail!("the run has not failed");
    };
    let case = error.as_object().and_then(|error| error.iter().next());
    let (case, payload) = case.with_context(|| format!("no case with a payload: {error}"))?;
    Ok((case.clone(), payload.clone()))
}

/// Asserts that a summary, or a progress, has these counts.
pub(crate) fn assert_counts(summary: &Value, expected: &[(&str, u64)]) {
    for (name, count) in expected {
        assert_eq!(summary[*name], *count, "{name}: {summary}");
    }
}

/// Asserts that the endpoint refused a request with this status.
pub(crate) fn assert_refused(answer: Result<Value>, status: u16) {
    let refused = answer.unwrap_err().to_string();
    assert!(refused.contains(&format!("status: {status}")), "{refused}");
}

/// Asserts that a run or a campaign answered its own stubs at its end. The engine would cancel them
/// in the background, perhaps on another node, and the run might never learn of that.
pub(crate) async fn assert_nothing_was_cancelled(site: &Site, id: &str) -> Result<()> {
    let executions = site
        .api()
        .list(&format!("execution_id_prefix={id}"))
        .await?;
    ensure!(executions.len() > 1, "{id} has no children");
    for execution in executions {
        let child = execution["execution_id"].as_str().context("no id")?;
        let events = json!(site.api().events(child).await?).to_string();
        ensure!(
            !events.contains("cancellation_requested"),
            "{child}: {events}"
        );
    }
    Ok(())
}

/// Asserts that one phone rang, once, by one request. (There are several executions if the engine was
/// too slow, or was killed, before the first took its claim.)
pub(crate) fn assert_one_creation(site: &Site) {
    assert_eq!(site.creations().len(), 1);
    assert_eq!(site.mock.phones_rung(), [NUMBER]);
}
