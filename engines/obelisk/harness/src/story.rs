//! Dockets that survive the death of the engine, shown: each is created once, whatever is killed
//! meanwhile, and completed. On loopback, against the mock: no real phone can ring.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};
use voice_calling_mock as mock;
use voice_calling_mock::{Endpoint, Fault, Pace};

use crate::api::{Ending, execution_id};
use crate::site::{Setup, Site, listed};

/// How long a call of the mock takes.
const CALL: Duration = Duration::from_millis(700);

/// What takes longer has gone wrong.
const LIMIT: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(10);

const CAMPAIGN: usize = 10;
const MAX_OPEN: usize = 3;

/// Tells the whole story and prints its table.
pub async fn tell() -> Result<()> {
    println!("voice-calling on Obelisk, on loopback: no phone rings\n");
    let mut progress = Progress::default();
    progress.begin("the mock service and a node of the engine");
    let mock = mock::Options {
        pace: Pace::Every(CALL),
        ..mock::Options::default()
    };
    let setup = Setup {
        mock,
        ..Setup::hasty()
    };
    let site = Site::start(setup).await?;
    progress.done("ready");
    let mut story = Story {
        site,
        progress,
        rows: Vec::new(),
    };
    story.undisturbed().await?;
    story.killed_in_flight().await?;
    story.killed_while_waiting().await?;
    story.decided_by_a_person().await?;
    story.campaign().await?;
    story.check_phones()?;
    println!("\n{}", story.table());
    Ok(())
}

/// What is done step by step, as it is done.
#[derive(Default)]
struct Progress {
    step: &'static str,
}

impl Progress {
    fn begin(&mut self, step: &'static str) {
        println!("  …   {step}");
        self.step = step;
    }

    fn detail(&self, detail: &str) {
        println!("      {detail}");
    }

    fn done(&self, outcome: &str) {
        println!("  ok  {}: {outcome}", self.step);
    }
}

struct Story {
    site: Site,
    progress: Progress,
    rows: Vec<[String; 5]>,
}

impl Story {
    async fn undisturbed(&mut self) -> Result<()> {
        let number = "919876543201";
        self.progress.begin("a docket, undisturbed");
        let run = self.submit(number, 3_600_000).await?;
        let outcome = self.completed(&run).await?;
        self.note("nothing died", number, &outcome);
        Ok(())
    }

    async fn killed_in_flight(&mut self) -> Result<()> {
        let number = "919876543202";
        self.progress
            .begin("killed while the creation is in flight");
        let held = Fault::slow(LIMIT);
        self.site.mock.on_next(Endpoint::CreateDocketV2, held);
        let run = self.submit(number, 3_600_000).await?;
        self.until("the creation", |site| site.docket_of(&run))
            .await?;
        self.kill_and_restart("the docket exists, and the engine has no answer")
            .await?;
        let outcome = self.completed(&run).await?;
        let died = "engine, creation in flight";
        self.note(died, number, &outcome);
        Ok(())
    }

    async fn killed_while_waiting(&mut self) -> Result<()> {
        let number = "919876543203";
        self.progress.begin("killed while the webhook comes");
        let run = self.submit(number, 4_000).await?;
        let docket = self
            .until("the creation", |site| site.docket_of(&run))
            .await?;
        let creation = format!("{run}.o:2-create-docket-v2_1");
        let api = self.site.api().clone();
        api.wait_for_result(&creation, LIMIT).await?;
        let delivered = self.site.mock.deliveries().len();
        self.site.kill()?;
        self.progress.detail("the engine is killed");
        // Where it is completed already, its webhook came to a dead engine.
        let _ = self.site.mock.complete_docket(&docket);
        self.site.mock.delivered(delivered + 1).await;
        self.progress
            .detail("the service reports the completion, and no one receives it");
        self.restart().await?;
        let outcome = self.completed(&run).await?;
        self.note("engine, webhook lost", number, &outcome);
        Ok(())
    }

    async fn decided_by_a_person(&mut self) -> Result<()> {
        let number = "919876543204";
        self.progress.begin("killed before the request arrives");
        self.site.gate.shut();
        let swallowed = self.site.gate.swallowed_so_far();
        let run = self.submit(number, 3_600_000).await?;
        self.site.gate.swallowed(swallowed + 1).await;
        self.site.gate.open();
        self.kill_and_restart("the request is lost, and no one here can know")
            .await?;
        let question = self.question().await?;
        self.progress
            .detail("a person is asked, finds no docket, and says so");
        let answer = json!({ "err": "there is no docket" });
        self.site.api().stub(&question, &answer).await?;
        let ending = self.site.ending(&run, LIMIT).await?;
        let given_up =
            matches!(&ending, Ending::Err(error) if !error["permanent_given_up"].is_null());
        ensure!(given_up, "the run was not given up, but {ending:?}");
        self.progress.done("given up, never created");
        let row = ["engine, request lost", number, "0", "a person", "given up"];
        self.rows.push(row.map(str::to_owned));
        Ok(())
    }

    async fn campaign(&mut self) -> Result<()> {
        let numbers: Vec<_> = (0..CAMPAIGN).map(|n| format!("9198765433{n:02}")).collect();
        self.progress.begin("a campaign");
        let options = json!({ "max_open": MAX_OPEN, "run": options(2_000) });
        let id = execution_id();
        self.site
            .run_campaign(&id, &listed(&numbers), &options)
            .await?;
        let begun = Instant::now();
        while self.site.creating_executions(&id).await?.len() <= CAMPAIGN / 2 {
            self.site.answer_questions().await?;
            ensure!(
                begun.elapsed() < LIMIT,
                "half of the campaign: not within {LIMIT:?}"
            );
            tokio::time::sleep(LOOK).await;
        }
        self.kill_and_restart("half of its creations are begun")
            .await?;
        let begun = Instant::now();
        let ending = loop {
            self.site.answer_questions().await?;
            if let Some(ending) = self.site.api().result(&id).await? {
                break ending;
            }
            ensure!(
                begun.elapsed() < LIMIT,
                "the campaign has not ended within {LIMIT:?}"
            );
            tokio::time::sleep(LOOK).await;
        };
        let summary = ending.ok()?;
        let results = self.site.results(&id).await?;
        for (number, result) in numbers.iter().zip(&results) {
            self.note_in_campaign(number, result)?;
        }
        self.progress
            .done(&format!("{} results: {summary}", results.len()));
        Ok(())
    }

    /// Everything that was created was created once.
    fn check_phones(&mut self) -> Result<()> {
        self.progress.begin("every phone");
        let rung = self.site.mock.phones_rung();
        for number in &rung {
            let times = self.site.mock.times_rung(number);
            ensure!(times == 1, "{number} rang {times} times");
        }
        self.progress
            .done(&format!("{} dockets, none created twice", rung.len()));
        Ok(())
    }

    async fn submit(&self, number: &str, first_poll_ms: u64) -> Result<String> {
        let run = execution_id();
        self.site
            .run_docket(&run, number, options(first_poll_ms))
            .await?;
        Ok(run)
    }

    async fn kill_and_restart(&mut self, situation: &str) -> Result<()> {
        self.progress.detail(situation);
        self.site.kill()?;
        self.progress.detail("the engine is killed");
        self.restart().await
    }

    async fn restart(&mut self) -> Result<()> {
        self.site.restart().await?;
        self.progress.detail("the engine is started again");
        Ok(())
    }

    async fn completed(&mut self, run: &str) -> Result<Value> {
        let outcome = self.site.ending(run, LIMIT).await?.ok()?;
        ensure!(outcome["completed"] == true, "not completed: {outcome}");
        let known_by = text(&outcome["known_by"]);
        self.progress
            .done(&format!("completed, known by {known_by}"));
        Ok(outcome)
    }

    async fn question(&self) -> Result<String> {
        let begun = Instant::now();
        loop {
            if let Some(question) = self.site.open_questions().await?.pop() {
                return Ok(question);
            }
            ensure!(begun.elapsed() < LIMIT, "no question within {LIMIT:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn until<T>(&self, what: &str, look: impl Fn(&Site) -> Option<T>) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(found) = look(&self.site) {
                return Ok(found);
            }
            ensure!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    fn note(&mut self, died: &str, number: &str, outcome: &Value) {
        let insights = &outcome["unverified"]["call_insights"];
        self.rows.push([
            died.to_owned(),
            number.to_owned(),
            self.site.mock.times_rung(number).to_string(),
            text(&outcome["known_by"]),
            text(&insights["call_disposition"]),
        ]);
    }

    fn note_in_campaign(&mut self, number: &str, result: &Value) -> Result<()> {
        let state = text(&result["state"]);
        ensure!(
            matches!(&*state, "completed" | "unknown"),
            "{number}: {result}"
        );
        self.rows.push([
            "engine, in the campaign".to_owned(),
            number.to_owned(),
            self.site.mock.times_rung(number).to_string(),
            text(&result["known_by"]),
            text(&result["insights"]["call_disposition"]),
        ]);
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_preset(UTF8_FULL_CONDENSED)
            .set_header(["killed", "number", "created", "known by", "disposition"])
            .add_rows(&self.rows);
        table
    }
}

/// Options of a run that is in a hurry.
fn options(first_poll_ms: u64) -> Value {
    json!({
        "timeout_ms": 600_000,
        "first_poll_ms": first_poll_ms,
        "longest_poll_ms": first_poll_ms,
        "insights_within_ms": 500,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("none").to_owned()
}
