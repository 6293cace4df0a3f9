//! The command `voice-calling`, which calls the people of a list once each, from a shell. It is a
//! program of its own, and a part of the packages for Python and JavaScript.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod call;
mod completion;
mod do_not_call;
mod list;
mod outcome;
mod progress;
mod results;
mod single;
mod stop;
mod table;
mod webhook;

use anyhow::{Context, Result, anyhow, ensure};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use list::{List, ListArgs};
use outcome::{Kind, Verdict};
use results::Results;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::iter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use stop::Stop;
use voice_calling::{Builder, Client, Ledger};

/// The name of the command, whatever program runs it.
const NAME: &str = "voice-calling";

/// Calls the people of a list once each, through an AI voice-calling service
///
/// VOICE_CALLING_BASE_URL and VOICE_CALLING_API_TOKEN are the service and its token. Exit codes: 0
/// all is done; 1 someone has to look at a row, or at the answer; 2 nothing could be done; 3 the
/// same command is to be run again.
#[derive(Parser)]
#[command(name = NAME, version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: Output,
}

#[derive(clap::Args)]
struct Output {
    /// The file with the token, which only its owner may read, in place of VOICE_CALLING_API_TOKEN
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Call each person of a list once, however often it is run: phones ring
    CallList(Box<CallList>),
    /// Fetch what has become of the dockets of a list since
    Results {
        /// The results of `call-list`, which are brought up to date
        #[arg(long, value_name = "FILE", default_value = "results.csv")]
        results: PathBuf,
        #[command(flatten)]
        ledger: LedgerFile,
    },
    /// Add the numbers of people who do not want to be called to a do-not-call file
    OptOuts(single::OptOuts),
    #[command(flatten)]
    Single(single::Single),
    /// Print the completions of a shell
    Completions { shell: Shell },
}

#[derive(clap::Args)]
struct LedgerFile {
    /// The file that has each call and its outcome
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
}

#[derive(clap::Args)]
struct CallList {
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    pace: call::PaceArgs,
    #[command(flatten)]
    ledger: LedgerFile,
    /// Where the results go: the list, and what became of each row
    #[arg(long, value_name = "FILE", default_value = "results.csv")]
    results: PathBuf,
    /// Only check the list: no phone rings
    #[arg(long)]
    check: bool,
    /// Stay until all dockets are completed
    #[arg(long)]
    wait: bool,
    /// The time between two looks at the dockets, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "wait", value_parser = clap::value_parser!(u64).range(1..))]
    poll_seconds: u64,
    /// Receive the service's webhook at this address, such as 127.0.0.1:9000, at the path
    /// /voice-calling/<VOICE_CALLING_WEBHOOK_SECRET>
    #[arg(long, value_name = "ADDRESS", requires = "wait")]
    webhook: Option<SocketAddr>,
}

/// Runs the command with its arguments, without the name of the program, and returns its exit code.
///
/// `call-list` handles SIGINT and SIGTERM, and calls the handlers that were installed before. A
/// process whose runtime has some resets them to the system's default first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // A subscriber that the process already has shows what the client logs.
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .try_init();
    let command_line = iter::once(NAME.into()).chain(arguments);
    let ran = match CommandLine::try_parse_from(command_line) {
        Ok(command_line) => command_line.run(),
        Err(shown) => {
            // Without stdout and stderr there is no one to tell.
            let _ = shown.print();
            return shown.exit_code() as u8;
        }
    };
    match ran {
        Ok(verdict) => verdict as u8,
        Err(error) => {
            say(format_args!("error: {error:#}"));
            2
        }
    }
}

/// Shows a line on stderr. That no one reads it any more, such as `tee` after Ctrl-C, must not end
/// a run.
fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl CommandLine {
    #[tokio::main]
    async fn run(self) -> Result<Verdict> {
        let output = self.output;
        match self.command {
            Command::CallList(args) => call_list(&args, &output).await,
            Command::Results { results, ledger } => {
                fetch_results(&results, &ledger.ledger, &output).await
            }
            Command::OptOuts(args) => single::opt_outs(&args, &output),
            Command::Single(single) => single.run(&output).await,
            Command::Completions { shell } => {
                // The generator panics if it cannot write.
                let mut completions = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), NAME, &mut completions);
                io::stdout().write_all(&completions).context("stdout")?;
                Ok(Verdict::Done)
            }
        }
    }
}

async fn call_list(args: &CallList, output: &Output) -> Result<Verdict> {
    let (path, now_ms) = (&args.ledger.ledger, call::now_ms());
    if args.check {
        let ledger = path.exists().then(|| Ledger::open(path)).transpose()?;
        let mut list = List::read(&args.list, ledger.as_ref(), now_ms).await?;
        list.mark_closed(now_ms);
        output.report(&list, None)?;
        let is_wrong = |(kind, ..): (Kind, _, _)| kind.verdict() == Verdict::Wrong;
        return Ok(match list.counts().present().any(is_wrong) {
            true => Verdict::Wrong,
            false => Verdict::Done,
        });
    }
    let stop = Stop::listen()?;
    let ledger = Ledger::open(path)?;
    let builder = output.builder()?.ledger(ledger.clone());
    let client = builder.setting("MAX_IN_FLIGHT", args.pace.in_flight);
    let client = client.build()?;
    let mut results = Results::open(&args.results)?;
    let mut list = List::read(&args.list, Some(&ledger), now_ms).await?;
    if let Some(address) = args.webhook {
        webhook::listen(address, client.clone(), results.deliveries()).await?;
    }
    let called = call::call(&mut list, &client, &ledger, &args.pace, &stop).await;
    // Whatever has ended the run, what became of the calls is written.
    let restored = results.restore(&mut list);
    let written = restored.and_then(|()| results.write(&list));
    let mut reason = called?;
    if args.wait && written.is_ok() && !stop.is_asked() {
        let every = Duration::from_secs(args.poll_seconds);
        let waited = completion::wait(
            &list,
            &client,
            &mut results,
            every,
            args.webhook.is_some(),
            &stop,
        )
        .await?;
        reason = reason.or(waited);
    }
    output.report(&list, reason.as_deref())?;
    written?;
    Ok(match reason {
        Some(_) => Verdict::Left,
        None => list.counts().verdict(),
    })
}

async fn fetch_results(path: &Path, ledger: &Path, output: &Output) -> Result<Verdict> {
    // A docket that is fetched may resolve an unknown outcome of the ledger.
    let client = output.builder()?.ledger(open_existing_ledger(ledger)?);
    let client = client.build()?;
    let mut results = Results::open(path)?;
    let ids = results.docket_ids()?;
    let those = ids.iter().map(|id| &**id);
    let fetched = completion::fetch(&client, those, &mut results.completions).await;
    results.rewrite()?;
    let left = fetched?;
    let (dockets, completed) = (ids.len(), ids.len() - left);
    output.print(
        json!({"dockets": dockets, "completed": completed}),
        &format!("{completed} of {dockets} dockets are completed"),
    )?;
    Ok(match left {
        0 => Verdict::Done,
        _ => Verdict::Left,
    })
}

/// Opens the ledger of calls that were begun: a new one, made for a name that is not quite right,
/// would say that no outcome is unknown.
fn open_existing_ledger(path: &Path) -> Result<Ledger> {
    let shown = path.display();
    ensure!(
        path.exists(),
        "--ledger: found no file {shown}; allowed: the ledger of earlier calls"
    );
    Ok(Ledger::open(path)?)
}

impl Output {
    /// Returns the settings of the environment, with the token of the file.
    fn builder(&self) -> Result<Builder> {
        let builder = Builder::from_env();
        let Some(path) = &self.token_file else {
            return Ok(builder);
        };
        let token = read_token(path).map_err(|found| {
            let allowed = "a file with the token that only its owner may read";
            anyhow!(
                "--token-file {}: {found}; allowed: {allowed}",
                path.display()
            )
        });
        Ok(builder.api_token(token?.trim()))
    }

    fn client(&self) -> Result<Client> {
        Ok(self.builder()?.build()?)
    }

    /// Prints a result as JSON, or in words.
    fn print(&self, json: impl Display, shown: &str) -> Result<()> {
        let mut stdout = io::stdout();
        let printed = match self.json {
            true => writeln!(stdout, "{json}"),
            false if shown.is_empty() => Ok(()),
            false => writeln!(stdout, "{shown}"),
        };
        printed.context("stdout")
    }

    /// Prints what became of a list: how many rows of each kind, and the first lines of those that
    /// someone may want to look at.
    fn report(&self, list: &List, reason: Option<&str>) -> Result<()> {
        let counts = list.counts();
        let mut shown = format!("{} rows: {}", list.rows.len(), counts.shown());
        let mut kinds = serde_json::Map::new();
        for (kind, name, count) in counts.present() {
            let rows = list
                .rows
                .iter()
                .filter(|row| row.is(kind) && !row.outcome.note.is_empty());
            let mut rows: Vec<_> = rows.collect();
            let more = rows.len().saturating_sub(SHOWN_ROWS);
            rows.truncate(SHOWN_ROWS);
            for row in &rows {
                shown += &format!("\nline {}: {name}: {}", row.place.line, row.outcome.note);
            }
            if more > 0 {
                shown += &format!("\n… and {more} more: {name}");
            }
            let rows = rows
                .iter()
                .map(|row| json!({"line": row.place.line, "note": row.outcome.note}));
            kinds.insert(
                name.to_owned(),
                json!({"count": count, "rows": Vec::from_iter(rows)}),
            );
        }
        if let Some(reason) = reason {
            shown += &format!("\nstopped: {reason}");
        }
        self.print(
            json!({"rows": list.rows.len(), "outcomes": kinds, "stopped": reason}),
            &shown,
        )
    }
}

fn read_token(path: &Path) -> Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path)?.permissions().mode() & 0o777;
        ensure!(mode & 0o077 == 0, "found the mode {mode:o}");
    }
    Ok(fs::read_to_string(path)?)
}

/// The number of rows of each kind that are shown.
const SHOWN_ROWS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;
    use results::COLUMNS;

    const PAGE: &str = include_str!("../../docs/call-list.md");

    #[test]
    fn the_page_has_every_outcome_and_every_column_of_the_results() {
        for name in Kind::ALL.map(|(_, name, _)| name).iter().chain(&COLUMNS) {
            assert!(
                PAGE.contains(&format!("`{name}`")),
                "docs/call-list.md lacks {name}"
            );
        }
    }

    #[test]
    fn the_page_names_only_options_that_exist() {
        let command = CommandLine::command();
        let commands = command.get_subcommands().chain([&command]);
        let options = commands.flat_map(|it| it.get_arguments().filter_map(Arg::get_long));
        let options: Vec<_> = options.collect();
        let named = PAGE.split_whitespace().filter_map(|word| {
            let word = word.trim_start_matches('`').strip_prefix("--")?;
            Some(word.trim_end_matches(['`', ',', ';', '.']))
        });
        // That of cargo builds the command.
        let named: Vec<_> = named.filter(|name| *name != "bin").collect();
        assert!(named.len() > 10);
        for name in named {
            assert!(options.contains(&name), "docs/call-list.md names --{name}");
        }
    }
}
