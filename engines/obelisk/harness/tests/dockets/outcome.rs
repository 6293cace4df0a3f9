//! What tests ask of endings.

use anyhow::{Context, Result, bail, ensure};
use obelisk_harness::{Ending, Setup, Site, execution_id, until};
use serde_json::{Value, json};

pub const NUMBER: &str = "910000000000";

/// Options with which a test waits for the webhook: no poll comes before it.
pub fn for_webhook() -> Value {
    json!({ "timeout_ms": 3_600_000, "first_poll_ms": 3_600_000 })
}

/// Options with which a test finds a completion by polls, and does not wait for insights.
pub fn for_polls() -> Value {
    json!({
        "timeout_ms": 200_000,
        "first_poll_ms": 300,
        "longest_poll_ms": 500,
        "insights_within_ms": 0,
    })
}

/// A site on which a run for a docket was begun; and the run.
pub async fn begun(setup: Setup, options: Value) -> Result<(Site, String)> {
    let site = Site::start(setup).await?;
    let run = execution_id();
    site.run_docket(&run, NUMBER, options).await?;
    Ok((site, run))
}

/// Waits until an execution is there and has the status.
pub async fn until_status(site: &Site, id: &str, wanted: &str) -> Result<()> {
    until(&format!("{id} is {wanted}"), async || {
        let status = site.api().status(id).await?;
        Ok(status.filter(|it| it == wanted).map(drop))
    })
    .await
}

/// The one question that is open.
pub async fn open_question(site: &Site) -> Result<String> {
    until("a question to a person", async || {
        let mut open = site.open_questions().await?;
        ensure!(open.len() <= 1, "{open:?}");
        Ok(open.pop())
    })
    .await
}

/// The docket that a run has created.
pub async fn created_docket(site: &Site, run: &str) -> Result<String> {
    until("the docket of the run", async || Ok(site.docket_of(run))).await
}

/// Has the service complete the docket of a run, and the outcome.
pub async fn complete(site: &Site, run: &str) -> Result<Value> {
    let docket = created_docket(site, run).await?;
    site.mock.complete_docket(&docket)?;
    let outcome = completed(site, run).await?;
    ensure!(outcome["docket_id"] == docket, "another docket: {outcome}");
    Ok(outcome)
}

/// The outcome of a run whose docket was completed.
pub async fn completed(site: &Site, run: &str) -> Result<Value> {
    let outcome = outcome(site, run).await?;
    ensure!(outcome["completed"] == true, "not completed: {outcome}");
    Ok(outcome)
}

/// The outcome of a run.
pub async fn outcome(site: &Site, run: &str) -> Result<Value> {
    site.ending(run).await?.ok()
}

/// The error of a run, by its case and its payload.
pub async fn failure(site: &Site, run: &str) -> Result<(String, Value)> {
    let Ending::Err(error) = site.ending(run).await? else {
        bail!("the run has not failed");
    };
    let case = error.as_object().and_then(|error| error.iter().next());
    let (case, payload) = case.with_context(|| format!("no case with a payload: {error}"))?;
    Ok((case.clone(), payload.clone()))
}

/// That a run or a campaign answered its own stubs at its end. The engine would cancel them in the
/// background, perhaps by another node, and the run may never hear of that.
pub async fn assert_nothing_was_cancelled(site: &Site, id: &str) -> Result<()> {
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

/// That the run's phone rang once, by one request and one execution: nobody has repeated it.
pub async fn assert_one_creation(site: &Site, run: &str) -> Result<()> {
    let executions = site.creating_executions(run).await?;
    ensure!(executions.len() == 1, "{} executions", executions.len());
    let (requests, rung) = (site.creations().len(), site.mock.phones_rung());
    ensure!(
        requests == 1 && rung.len() == 1,
        "{requests} requests, rung: {rung:?}"
    );
    Ok(())
}
