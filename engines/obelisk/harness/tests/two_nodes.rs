//! Several nodes on one PostgreSQL. A program of its own, since it needs the whole machine. The
//! variables are those of the tests of `dockets`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use obelisk_harness::{Ending, Postgres, Setup, Site, execution_id, submit_docket};
use serde_json::json;
use voice_calling_mock as mock;
use voice_calling_mock::{Endpoint, Fault};

const DOCKETS: usize = 200;

/// For all of them, on two busy cores.
const ALL_LIMIT: Duration = Duration::from_secs(300);

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
        postgres: Some(postgres.variables("obelisk")),
        ..Setup::hasty()
    })
    .await?;
    let mut other = site.another_node().await?;
    let options = json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 5_000,
        "longest_poll_ms": 10_000,
        "insights_within_ms": 500,
    });
    let mut runs: BTreeMap<String, String> = BTreeMap::new();
    for n in 0..DOCKETS {
        let (number, run) = (format!("9198765{n:05}"), execution_id());
        let node = [site.api(), other.api()][n % 2];
        submit_docket(node, &run, &number, options.clone()).await?;
        runs.insert(number, run);
    }
    // The node that has the webhook dies, and comes back some seconds later.
    creations(&site, DOCKETS / 3).await;
    site.kill()?;
    creations(&site, DOCKETS / 2).await;
    // Then the other one is asked to end, with a creation in flight, which the first runs again.
    let slow = Fault::slow(Duration::from_secs(60));
    site.mock.on_next(Endpoint::CreateDocketV2, slow);
    creations(&site, site.creations().len() + 1).await;
    other.terminate(ALL_LIMIT).await?;
    site.restart().await?;

    let begun = Instant::now();
    let mut completed = 0;
    let mut told = 0;
    while let Some((number, run)) = runs.pop_first() {
        assert!(
            begun.elapsed() < ALL_LIMIT,
            "{completed} of {DOCKETS} are completed"
        );
        match ending(&site, &run).await? {
            None => {
                runs.insert(number, run);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Some(Ending::Ok(outcome)) => {
                assert_eq!(outcome["completed"], true, "{number}: {outcome}");
                assert_eq!(outcome["docket"]["to_phone_number"], json!(number));
                completed += 1;
                told += usize::from(outcome["known_by"] == "webhook");
            }
            // Its request had not left when the node died: somebody looked, and starts it again.
            Some(Ending::Err(error)) if !error["permanent_given_up"].is_null() => {
                assert_eq!(site.mock.times_rung(&number), 0, "{number}");
                let again = execution_id();
                submit_docket(site.api(), &again, &number, options.clone()).await?;
                runs.insert(number, again);
            }
            Some(other) => panic!("{number}: {other:?}"),
        }
    }
    assert_eq!(completed, DOCKETS);
    // The node that is told was away for a while only.
    assert!(told >= DOCKETS / 4, "only {told} were told by the webhook");
    let mut rung = site.mock.phones_rung();
    rung.sort();
    rung.dedup();
    assert_eq!(rung.len(), DOCKETS, "a phone did not ring");
    assert_eq!(site.mock.phones_rung().len(), DOCKETS, "a phone rang twice");
    Ok(())
}

async fn ending(site: &Site, run: &str) -> Result<Option<Ending>> {
    site.answer_questions(site.api()).await?;
    site.api().result(run).await
}

/// Waits until the service has received so many creations.
async fn creations(site: &Site, count: usize) {
    let begun = Instant::now();
    while site.creations().len() < count {
        assert!(
            begun.elapsed() < ALL_LIMIT,
            "{count} creations did not come"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
