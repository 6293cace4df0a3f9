//! Several nodes on one PostgreSQL. This is a program of its own, since it needs the whole machine.
//! The variables are those of the tests of `dockets`.

use std::time::Duration;

use anyhow::Result;
use obelisk_harness::{CALL, LIMIT, Setup, Site, listed, on_postgres};
use serde_json::json;
use voice_calling_mock as mock;
use voice_calling_mock::{Endpoint, Fault};
use voice_calling_test_postgres::Postgres;

const DOCKETS: usize = 100;

/// The creations after which a node dies, and the one that is not answered. Between them there is no
/// time for the lost ones to be noticed, which may pause the campaign.
const DIES_AFTER: usize = 33;
const HELD: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_nodes_is_killed_the_other_one_stopped_and_no_docket_is_lost_or_doubled()
-> Result<()> {
    let postgres = Postgres::start()?;
    let mock = mock::Options {
        pace: mock::Pace::Every(Duration::from_secs(1)),
        ..mock::Options::default()
    };
    let mut site = Site::start(Setup {
        mock,
        postgres: Some(on_postgres(&postgres, "obelisk")),
        ..Setup::hasty()
    })
    .await?;
    let mut other = site.another_node().await?;
    let numbers: Vec<_> = (0..DOCKETS).map(|n| format!("9198765{n:05}")).collect();
    let options = json!({
        "max_open": 60,
        "run": {
            "timeout_ms": 600_000,
            "first_poll_ms": 20_000,
            "longest_poll_ms": 20_000,
            "insights_within_ms": 500,
        },
    });
    for _ in 1..HELD {
        site.mock
            .on_next(Endpoint::CreateDocketV2, Fault::slow(Duration::ZERO));
    }
    site.mock
        .on_next(Endpoint::CreateDocketV2, Fault::slow(CALL));
    let id = site.run_campaign(&listed(&numbers), &options).await?;
    // The node with the webhook dies, and is restarted some seconds later.
    site.until_creations(DIES_AFTER).await?;
    site.kill()?;
    // The other node is asked to end with a creation in flight, which the first one reruns.
    site.until_creations(HELD).await?;
    other.terminate(LIMIT).await?;
    site.restart().await?;

    let attend = async || site.attend(&id).await;
    let summary = site.summary_with(&id, attend).await?;
    let rung = site.check_each_once(&id, &numbers).await?;
    assert_eq!(summary["completed"], rung.len(), "{summary}");
    // The node that receives the webhooks was away only for a while.
    let results = site.results(&id).await?;
    let by_webhook = results.iter().filter(|it| it["known_by"] == "webhook");
    let by_webhook = by_webhook.count();
    assert!(
        by_webhook >= DOCKETS / 4,
        "only {by_webhook} were completed by the webhook"
    );
    Ok(())
}
