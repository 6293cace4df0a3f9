//! Many dockets in one execution.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use obelisk_harness::{Ending, Setup, Site, execution_id};
use serde_json::{Value, json};
use voice_calling_mock as mock;
use voice_calling_mock::{Endpoint, Fault};

use crate::outcome::{LIMIT, created_docket, creations, for_webhook, until};

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("9198765{n:05}")).collect()
}

fn options(max_open: usize, run: Value) -> Value {
    json!({ "max_open": max_open, "run": run })
}

async fn results(site: &Site, id: &str) -> Result<Vec<Value>> {
    let results = site.ending(id, LIMIT).await?.ok()?;
    Ok(results.as_array().context("no list")?.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_dockets_are_open_than_allowed() -> Result<()> {
    let site = Site::start(Setup::default()).await?;
    let id = execution_id();
    site.run_campaign(&id, &numbers(7), options(3, for_webhook()))
        .await?;
    // They end in another order than they began.
    for (ended, next) in [3, 4, 5, 6, 7, 1, 2].into_iter().enumerate() {
        let open = (ended + 3).min(7);
        creations(&site, open).await?;
        // One more would come within this time.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(site.creations().len(), open);
        let docket = created_docket(&site, &format!("{id}.n:open_{next}")).await?;
        site.mock.complete_docket(&docket)?;
    }
    let results = results(&site, &id).await?;
    let told: Vec<_> = results
        .iter()
        .map(|it| &it["ok"]["docket"]["to_phone_number"])
        .collect();
    assert_eq!(
        json!(told),
        json!(numbers(7)),
        "not in the order of the requests"
    );
    let mut rung = site.mock.phones_rung();
    rung.sort();
    assert_eq!(rung, numbers(7));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failure_hides_no_other_result() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    site.mock
        .on_nth(Endpoint::CreateDocketV2, 2, Fault::status(422));
    let mut numbers = numbers(3);
    numbers.insert(1, "1".to_owned());
    let id = execution_id();
    site.run_campaign(&id, &numbers, options(1, for_webhook()))
        .await?;
    let results = results(&site, &id).await?;
    assert_eq!(results.len(), 4);
    assert_eq!(results[0]["ok"]["completed"], true);
    let refused = &results[1]["err"]["permanent_not_created"];
    assert_eq!(
        refused["permanent_invalid_input"]["problem"]["subject"],
        "to-phone-number"
    );
    let rejected = &results[2]["err"]["permanent_not_created"]["permanent_rejected"];
    assert_eq!(rejected["response"]["status"], 422);
    assert_eq!(results[3]["ok"]["completed"], true);
    assert_eq!(
        site.mock.phones_rung(),
        [numbers[0].clone(), numbers[3].clone()]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_that_is_not_allowed_rings_nobody() -> Result<()> {
    let site = Site::start(Setup::default()).await?;
    let id = execution_id();
    site.run_campaign(&id, &numbers(2), options(0, for_webhook()))
        .await?;
    let Ending::Err(error) = site.ending(&id, LIMIT).await? else {
        panic!("accepted")
    };
    assert_eq!(
        error["permanent_invalid_input"]["subject"],
        "options.max-open"
    );
    assert!(site.mock.requests().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_goes_on_after_crashes_in_its_middle() -> Result<()> {
    let mock = mock::Options {
        pace: mock::Pace::Every(Duration::from_millis(300)),
        ..mock::Options::default()
    };
    let mut site = Site::start(Setup {
        mock,
        ..Setup::hasty()
    })
    .await?;
    let numbers = numbers(20);
    let run = json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 1_500,
        "longest_poll_ms": 1_500,
        "insights_within_ms": 0,
    });
    let id = execution_id();
    site.run_campaign(&id, &numbers, options(4, run)).await?;
    for killed_after in [3, 9, 15] {
        until("the creations of the campaign", async || {
            // A run that waits for an answer is open as well.
            site.answer_questions(site.api()).await?;
            let begun = site.creating_executions(&id).await?.len();
            Ok((begun >= killed_after).then_some(()))
        })
        .await?;
        site.kill()?;
        site.restart().await?;
    }
    let ending = until("the end of the campaign", async || {
        site.answer_questions(site.api()).await?;
        site.api().result(&id).await
    })
    .await?;
    let results = ending.ok()?;
    let results = results.as_array().context("no list")?;
    assert_eq!(results.len(), 20);
    let rung = site.mock.phones_rung();
    let distinct: BTreeSet<_> = rung.iter().collect();
    assert_eq!(distinct.len(), rung.len(), "a phone rang twice: {rung:?}");
    for (number, result) in numbers.iter().zip(results) {
        match rung.contains(number) {
            true => assert_eq!(result["ok"]["completed"], true, "{number}: {result}"),
            // A request that was on its way when the engine died: a person found no docket.
            false => assert!(!result["err"]["permanent_given_up"].is_null(), "{result}"),
        }
    }
    Ok(())
}
