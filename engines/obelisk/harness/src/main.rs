//! Measures a large campaign: how long it takes, what it stores, how much CPU time the engine needs,
//! and whether the campaign becomes slower as it grows. A node is killed after a fifth of the calls.
//! `cargo xtask obelisk measure` sets the variables that locate the engine and the deployed folder.
//! The last line contains the figures as JSON.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use obelisk_harness::{Node, Operator, Setup, Site, on_postgres};
use serde_json::json;
use tokio::time::sleep;
use voice_calling_mock as mock;
use voice_calling_test_postgres::Postgres;

/// The duration of a call of the mock.
const CALL: Duration = Duration::from_secs(1);

const MAX_OPEN: usize = 200;

/// The time for which the killed node is away.
const AWAY: Duration = Duration::from_secs(5);

const LOOK: Duration = Duration::from_millis(500);

const MIB: u64 = 1_048_576;

#[tokio::main]
async fn main() -> Result<()> {
    const USAGE: &str = "usage: obelisk-harness CONTACTS sqlite|postgres";
    let arguments: Vec<_> = env::args().skip(1).collect();
    // SQLite has one node, PostgreSQL two.
    let (contacts, postgres) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [contacts, "sqlite"] => (contacts.parse().context(USAGE)?, None),
        [contacts, "postgres"] => (contacts.parse().context(USAGE)?, Some(Postgres::start()?)),
        _ => bail!(USAGE),
    };
    let numbers: Vec<_> = (0..contacts).map(|n| format!("9198{n:08}")).collect();
    let operator = Operator::start(&numbers).await;
    let mock = mock::Options {
        pace: mock::Pace::Every(CALL),
        ..mock::Options::default()
    };
    let setup = Setup {
        mock,
        postgres: postgres.as_ref().map(|it| on_postgres(it, "obelisk")),
        is_synchronous: true,
        ..Setup::default()
    };
    let mut site = Site::start(operator.known_to(setup)).await?;
    let other = match postgres {
        None => None,
        Some(_) => Some(site.another_node().await?),
    };
    let options = json!({
        "max_open": MAX_OPEN,
        "run": { "timeout_ms": 3_600_000, "first_poll_ms": 60_000, "insights_within_ms": 0 },
    });
    let source = json!({ "source": operator.source() });
    let begun = Instant::now();
    let id = site.run_campaign(&source, &options).await?;
    let mut cpu = Duration::ZERO;
    let mut is_killed = false;
    let mut tenths = 1;
    let mut answers = Vec::new();
    let summary = loop {
        sleep(LOOK).await;
        let created = site.creations().len();
        if created * 10 >= contacts * tenths {
            let seconds = begun.elapsed().as_secs_f64();
            println!("{created:>7} created after {seconds:>5.0} s");
            tenths += 1;
        }
        if !is_killed && created >= contacts / 5 {
            is_killed = true;
            println!("a node is killed for {AWAY:?}");
            cpu += cpu_time(site.node()?)?;
            site.kill()?;
            sleep(AWAY).await;
            site.restart().await?;
        }
        site.answer_questions().await?;
        let asked = Instant::now();
        let progress = site.progress(&id).await?;
        answers.push((asked.elapsed(), progress["counts"].to_string()));
        if let Some(ending) = site.api().result(&id).await? {
            break ending.ok()?;
        }
    };
    let took = begun.elapsed();
    let asked = Instant::now();
    site.results(&id).await?;
    let results_took = asked.elapsed();
    cpu += cpu_time(site.node()?)?;
    if let Some(other) = &other {
        cpu += cpu_time(other)?;
    }

    let stored = size(&match &postgres {
        Some(postgres) => postgres.folder().to_owned(),
        None => site.folder().join("data"),
    })?;
    let rung = site.check_each_once(&id, &numbers).await?;
    let each = |total: f64| total / contacts as f64;
    println!("{contacts} contacts, at most {MAX_OPEN} open: {summary}");
    println!("{} phones rang, each once", rung.len());
    let seconds = took.as_secs_f64();
    println!("time: {seconds:.0} s, {:.1} dockets/s", 1.0 / each(seconds));
    let cpu = cpu.as_secs_f64();
    println!(
        "CPU of the engine: {cpu:.0} s, {:.0} ms/docket",
        each(cpu) * 1e3
    );
    let kib = each(stored as f64) / 1_024.0;
    println!("database: {} MiB, {kib:.0} KiB/docket", stored / MIB);
    answers.sort();
    if let Some((slowest, counts)) = answers.last() {
        let median = answers[answers.len() / 2].0;
        println!("progress: {median:.1?}, at most {slowest:.1?} ({counts})");
    }
    println!("results: {results_took:.1?}");
    // The last line feeds the table of all engines.
    let figures = json!({
        "engine": "obelisk",
        "dockets": contacts,
        "open": MAX_OPEN,
        "dockets_per_s": 1.0 / each(seconds),
        "server_cpu_ms": each(cpu) * 1e3,
        "worker_cpu_ms": 0,
        "bytes": each(stored as f64),
        "rang_twice": 0,
        "lost": 0,
    });
    println!("{figures}");
    Ok(())
}

/// Returns the CPU time that a node has taken since it was started.
fn cpu_time(node: &Node) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", node.process_id()))?;
    // After the name, which may contain spaces: fields 14 and 15 are clock ticks.
    let (_, rest) = stat.rsplit_once(") ").context("a process without a name")?;
    let ticks = rest.split(' ').skip(11).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<Result<_, _>>()?;
    let hertz = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks * 1_000 / hertz))
}

/// Returns the size of all files below a folder, in bytes.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => size(&entry.path())?,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}
