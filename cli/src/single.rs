//! One thing at a time: a call, a docket, a question of the ledger.

use crate::call::ms_of;
use crate::do_not_call::DoNotCallFiles;
use crate::outcome::Verdict;
use crate::results::{self, DISPOSITION, METADATA, NUMBER};
use crate::table::Table;
use crate::{LedgerFile, Output, open_existing_ledger, say};
use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;
use voice_calling::ledger::Entry;
use voice_calling::{DocketOutcome, DocketRequestV2, Ledger, NextStep, Verification, Wait};
use voice_calling_rules::number;

#[derive(Subcommand)]
pub(crate) enum Single {
    /// List the agents of an organization
    Agents {
        /// The organization's id, which the service's operator gives
        #[arg(long)]
        organization_id: String,
    },
    /// Call one number once, however often it is run: a phone rings
    Call {
        /// The phone number
        number: String,
        /// The agent that calls
        #[arg(long)]
        agent_id: i64,
        /// What identifies the call: with the same key, no second one begins
        #[arg(long)]
        key: String,
        #[command(flatten)]
        ledger: LedgerFile,
        /// What the agent learns
        #[arg(long, value_name = "NAME=VALUE", value_parser = read_pair)]
        context: Vec<(String, String)>,
        /// The country code that a number without one gets, such as 91
        #[arg(long, value_name = "CODE")]
        country: Option<String>,
    },
    /// Fetch a docket
    Docket {
        /// The id of the docket
        docket_id: String,
    },
    /// Wait until a docket is completed
    Wait {
        /// The id of the docket
        docket_id: String,
        /// The longest time to wait, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
        timeout: u32,
    },
    /// Ask the service whether a delivery to the webhook is true
    Verify {
        /// The file with the delivery's body, or - for stdin
        delivery: PathBuf,
    },
    /// List the calls whose outcome is unknown
    Unknown {
        #[command(flatten)]
        ledger: LedgerFile,
    },
    /// Record the id of what a call with an unknown outcome has created
    Resolve {
        /// The key of the call
        key: String,
        /// The id of the docket
        id: String,
        #[command(flatten)]
        settle: Settle,
    },
    /// Record that a call with an unknown outcome has created nothing: it can be called again
    Release {
        /// The key of the call
        key: String,
        #[command(flatten)]
        settle: Settle,
    },
}

#[derive(clap::Args)]
pub(crate) struct Settle {
    #[command(flatten)]
    ledger: LedgerFile,
    /// Who has made sure of it
    #[arg(long, env = if cfg!(windows) { "USERNAME" } else { "USER" })]
    by: String,
}

#[derive(clap::Args)]
pub(crate) struct OptOuts {
    /// The results of `call-list`
    #[arg(long, value_name = "FILE", default_value = "results.csv")]
    results: PathBuf,
    /// A disposition that says so
    #[arg(long, value_name = "TEXT")]
    disposition: Vec<String>,
    /// A value of the metadata that says so
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_pair)]
    metadata: Vec<(String, String)>,
    /// The file to which the numbers are added
    #[arg(long, value_name = "FILE")]
    do_not_call: PathBuf,
    /// The country code of numbers in it that have none, such as 91
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
}

impl Single {
    pub(crate) async fn run(self, output: &Output) -> Result<Verdict> {
        match self {
            Self::Agents { organization_id } => {
                let list = output.client()?.list_agents(&organization_id).await?;
                let shown = list.agents.iter().map(|agent| {
                    let id = agent.agent_id.map_or("?".to_owned(), |id| id.to_string());
                    format!("{id}\t{}", agent.agent_name.as_deref().unwrap_or_default())
                });
                let shown = shown.collect::<Vec<_>>().join("\n");
                output.print(&list.raw_json, &shown)?;
            }
            Self::Call {
                number,
                agent_id,
                key,
                ledger,
                context,
                country,
            } => {
                let number = number::normalize("the number", &number, country.as_deref())?;
                let context = context
                    .into_iter()
                    .map(|(name, value)| (name, value.into()));
                let request = DocketRequestV2 {
                    agent_id,
                    to_phone_number: number,
                    call_context: Value::Object(context.collect::<Map<_, _>>()).to_string(),
                    external_id: Some(key.clone()),
                    extra: None,
                };
                let client = output.builder()?.ledger(Ledger::open(&ledger.ledger)?);
                let client = client.build()?;
                let docket = match client.with_key(key).create_docket_v2(&request).await {
                    Ok(docket) => docket,
                    Err(error) if error.next_step() == NextStep::FixSetting => {
                        return Err(error.into());
                    }
                    Err(error) => {
                        say(format_args!("error: {error}"));
                        return Ok(match error.next_step() {
                            NextStep::RetryLater => Verdict::Left,
                            _ => Verdict::Wrong,
                        });
                    }
                };
                let (id, before) = (&docket.docket_id, docket.from_ledger);
                let shown = format!("{id}{}", if before { " (called before)" } else { "" });
                output.print(json!({"docket_id": id, "called_before": before}), &shown)?;
            }
            Self::Docket { docket_id } => {
                let docket = output.client()?.get_docket(&docket_id).await?;
                output.print(&docket.raw_json, &docket.raw_json)?;
            }
            Self::Wait { docket_id, timeout } => {
                let wait = Wait::within(Duration::from_secs(timeout.into()));
                let waited = output.client()?.wait_for_docket(&docket_id, wait).await?;
                let (docket, verdict) = match waited.outcome {
                    DocketOutcome::Completed(docket) => (Some(docket), Verdict::Done),
                    DocketOutcome::Pending(docket) => (docket, Verdict::Left),
                };
                let docket = docket.context("the docket could not be fetched in time")?;
                output.print(&docket.raw_json, &docket.raw_json)?;
                return Ok(verdict);
            }
            Self::Verify { delivery } => {
                let body = match delivery.as_os_str() == "-" {
                    true => io::read_to_string(io::stdin().take(MAX_DELIVERY_BYTES)),
                    false => fs::read_to_string(&delivery),
                };
                let body = body.with_context(|| delivery.display().to_string())?;
                let verified = output.client()?.verify_docket_completed(&body).await?;
                let (word, verdict) = match verified {
                    Verification::Confirmed(_) => ("confirmed", Verdict::Done),
                    Verification::Contradicted(_) => ("contradicted", Verdict::Wrong),
                    Verification::NotACompletion => ("not a completion", Verdict::Wrong),
                };
                output.print(json!({"verification": word}), word)?;
                return Ok(verdict);
            }
            Self::Unknown { ledger } => {
                let entries = open_existing_ledger(&ledger.ledger)?.unknown().await?;
                let json: Value = entries.iter().map(entry_json).collect();
                let shown: Vec<_> = entries.iter().map(show_entry).collect();
                output.print(json, &shown.join("\n"))?;
                return Ok(match entries.is_empty() {
                    true => Verdict::Done,
                    false => Verdict::Wrong,
                });
            }
            Self::Resolve { key, id, settle } => {
                let ledger = open_existing_ledger(&settle.ledger.ledger)?;
                let entry = ledger.resolve(&key, id, &settle.by).await?;
                output.print(entry_json(&entry), &show_entry(&entry))?;
            }
            Self::Release { key, settle } => {
                let ledger = open_existing_ledger(&settle.ledger.ledger)?;
                let entry = ledger.release(&key, &settle.by).await?;
                output.print(entry_json(&entry), &show_entry(&entry))?;
            }
        }
        Ok(Verdict::Done)
    }
}

/// The longest delivery that is read.
const MAX_DELIVERY_BYTES: u64 = 1_048_576;

/// Adds the numbers of those who said so to a do-not-call file.
pub(crate) fn opt_outs(args: &OptOuts, output: &Output) -> Result<Verdict> {
    let table = Table::read(&args.results)?;
    let column = |name| table.column(&format!("--results {}", args.results.display()), name);
    let (number, disposition, metadata) =
        (column(NUMBER)?, column(DISPOSITION)?, column(METADATA)?);
    let file = &args.do_not_call;
    let is_new = fs::metadata(file).map_or(true, |it| it.len() == 0);
    let known = Vec::from_iter((!is_new).then(|| file.clone()));
    let mut known = DoNotCallFiles::new(known, NUMBER.to_owned(), args.country.clone());
    known.refresh()?;
    let mut added = String::new();
    for row in table.rows() {
        let (place, record) = row?;
        let value = |index: usize| record.get(index).unwrap_or_default();
        let facts = read_json(value(metadata));
        let has_fact = |(name, expected): &(String, String)| {
            let shown = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            facts
                .get(name)
                .is_some_and(|value| shown(value) == *expected)
        };
        let is_said = args.disposition.iter().any(|it| it == value(disposition));
        if !is_said && !args.metadata.iter().any(has_fact) {
            continue;
        }
        // A spreadsheet may have changed it.
        let number = number::normalize(NUMBER, value(number), None).with_context(|| {
            let (results, line) = (args.results.display(), place.line);
            format!("{results}, line {line}: run `call-list` again, which writes it anew")
        })?;
        if known.numbers.insert(&number) {
            added += &number;
            added.push('\n');
        }
    }
    let count = added.split_whitespace().count();
    let has_open_line =
        fs::read(file).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'));
    if is_new {
        // Without numbers it is a table nevertheless, and not one that is being replaced.
        added.insert_str(0, &format!("{NUMBER}\n"));
    } else if has_open_line && count > 0 {
        added.insert(0, '\n');
    }
    let opened = OpenOptions::new().append(true).create(true).open(file);
    let written = opened.and_then(|mut file| {
        file.write_all(added.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| file.display().to_string())?;
    output.print(json!({"added": count}), &format!("{count} numbers added"))?;
    Ok(Verdict::Done)
}

fn read_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (name, value) = pair.ok_or_else(|| format!("found {text:?}; allowed: NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Reads what the service has delivered; what is not JSON stays text.
fn read_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn entry_json(entry: &Entry) -> Value {
    json!({
        "key": entry.key,
        "state": entry.state.name(),
        "begun_at": begun(entry),
        "docket_id": entry.created_id,
        "message": entry.message,
        "resolved_by": entry.resolved_by,
    })
}

fn show_entry(entry: &Entry) -> String {
    let message = entry.message.as_deref().unwrap_or_default();
    let id = entry.created_id.as_deref().unwrap_or_default();
    format!(
        "{}\t{}\t{}\t{id}{message}",
        entry.key,
        entry.state.name(),
        begun(entry)
    )
}

fn begun(entry: &Entry) -> String {
    results::time(ms_of(entry.begun_at))
}
