//! How many dockets a node carries, and what a second node adds. The engine, the service and the
//! database share one machine, so that the figures are for comparison, not for planning.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::json;
use voice_calling_mock as mock;
use voice_calling_mock::Pace;

use crate::api::Api;
use crate::execution_id::execution_id;
use crate::postgres::Postgres;
use crate::site::{Setup, Site, submit_docket};

const DOCKETS: usize = 200;
const ROUNDS: usize = 3;

/// For all dockets of a round.
const LIMIT: Duration = Duration::from_secs(300);

/// The subjects, measured in turn so that each meets the same machine.
const SUBJECTS: [(&str, Database, usize); 3] = [
    ("one node, SQLite", Database::Sqlite, 1),
    ("one node, PostgreSQL", Database::Postgres, 1),
    ("two nodes, PostgreSQL", Database::Postgres, 2),
];

#[derive(Clone, Copy)]
enum Database {
    Sqlite,
    Postgres,
}

/// Measures and prints a table of medians.
///
/// # Errors
/// Where the engine or PostgreSQL does not start, or a docket is not completed.
pub async fn measure() -> Result<()> {
    let mut seconds = SUBJECTS.map(|_| Vec::new());
    for round in 1..=ROUNDS {
        for ((name, database, nodes), seconds) in SUBJECTS.iter().zip(&mut seconds) {
            let took = round_of(*database, *nodes).await?;
            println!("round {round}: {name}: {:.1} s", took.as_secs_f64());
            seconds.push(took.as_secs_f64());
        }
    }
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header([
        "",
        "dockets/s, median",
        "spread",
        "÷ one node, SQLite",
    ]);
    let medians = seconds.map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        let rate = |seconds: f64| DOCKETS as f64 / seconds;
        (
            rate(rounds[ROUNDS / 2]),
            rate(rounds[ROUNDS - 1]),
            rate(rounds[0]),
        )
    });
    for ((name, ..), (median, least, most)) in SUBJECTS.iter().zip(medians) {
        table.add_row([
            (*name).to_owned(),
            format!("{median:.1}"),
            format!("{least:.1} … {most:.1}"),
            format!("{:.2}", median / medians[0].0),
        ]);
    }
    println!("\n{DOCKETS} dockets, {ROUNDS} rounds, from submission to outcome\n{table}");
    Ok(())
}

/// How long all dockets take, from the first submission to the last outcome.
async fn round_of(database: Database, nodes: usize) -> Result<Duration> {
    let postgres = match database {
        Database::Sqlite => None,
        Database::Postgres => Some(Postgres::start()?),
    };
    let mock = mock::Options {
        pace: Pace::Every(Duration::from_millis(50)),
        ..mock::Options::default()
    };
    let site = Site::start(Setup {
        mock,
        postgres: postgres.as_ref().map(|it| it.variables("obelisk")),
        ..Setup::default()
    })
    .await?;
    let other = match nodes {
        2 => Some(site.another_node().await?),
        _ => None,
    };
    let apis: Vec<&Api> = std::iter::once(site.api())
        .chain(other.as_ref().map(|node| node.api()))
        .collect();
    let options = json!({ "timeout_ms": 3_600_000, "first_poll_ms": 60_000 });
    let begun = Instant::now();
    let mut runs = Vec::new();
    for n in 0..DOCKETS {
        let run = execution_id();
        let api = apis[n % apis.len()];
        submit_docket(api, &run, &format!("9198765{n:05}"), options.clone()).await?;
        runs.push(run);
    }
    for run in runs {
        let outcome = apis[0].wait_for_result(&run, LIMIT).await?.ok()?;
        let known_by = outcome["known_by"].as_str().context("not completed")?;
        ensure!(known_by == "webhook", "a docket was found by a poll");
    }
    let took = begun.elapsed();
    let rung = site.mock.phones_rung().len();
    ensure!(rung == DOCKETS, "{rung} phones rang");
    Ok(took)
}
