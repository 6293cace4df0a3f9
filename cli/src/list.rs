//! A list of people, and what is known of each before any of them is called.

use crate::call::ms_of;
use crate::do_not_call::DoNotCallFiles;
use crate::outcome::{Counts, Kind, Outcome};
use crate::results::{self, COLUMNS};
use crate::table::{Place, Table};
use anyhow::{Context, Result};
use csv::StringRecord;
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use voice_calling::DocketRequestV2;
use voice_calling::ledger::{Ledger, State};
use voice_calling_core::check_key;
use voice_calling_rules::{Hours, Limits, Problem, Refusal, may_call, number, zone};

/// How many keys are looked up at once: they share a transaction.
const LOOKED_UP: usize = 500;

/// The note of a row whose number is not called.
pub(crate) const DO_NOT_CALL: &str = "its number is on the do-not-call list";

/// What a list is read by.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// The list: a table in CSV, UTF-8, whose first row names the columns
    pub list: PathBuf,
    /// The agent that calls (see `voice-calling agents`)
    #[arg(long)]
    agent_id: i64,
    /// The column of the phone number
    #[arg(long, value_name = "COLUMN")]
    number_column: String,
    /// The column that identifies a person, such as a customer's id: each value is called once
    #[arg(long, value_name = "COLUMN")]
    key_column: String,
    /// The occasion of the calls: the same people can be called once more in another campaign
    #[arg(long, value_name = "NAME")]
    campaign: String,
    /// The columns that the agent learns, if not all [possible: a,b,c]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    context: Option<Vec<String>>,
    /// The country code that numbers without one get, such as 91
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
    /// When calls may begin: "mon-fri 09:30-18:00, sat 10:00-13:00"
    #[arg(long, requires = "zone")]
    hours: Option<String>,
    /// The time zone of the hours, such as Asia/Kolkata
    #[arg(long, value_name = "ZONE", group = "zone", requires = "hours")]
    time_zone: Option<String>,
    /// The column of each person's time zone
    #[arg(long, value_name = "COLUMN", group = "zone", requires = "hours")]
    time_zone_column: Option<String>,
    /// Files with numbers that are not called: tables in CSV with the column of the number, or with
    /// a number in the first column
    #[arg(long, value_name = "FILE")]
    do_not_call: Vec<PathBuf>,
    /// How often a number is called at most, earlier calls included
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    max_per_number: u16,
    /// The shortest time between two calls of a number, in hours
    #[arg(long, value_name = "HOURS", default_value_t = 0)]
    gap_hours: u32,
    /// Results of other campaigns, whose calls count for the two options above
    #[arg(long, value_name = "FILE")]
    earlier: Vec<PathBuf>,
}

/// A person of a list.
pub(crate) struct Row {
    pub place: Place,
    pub key: Box<str>,
    /// In the service's form; empty if it is wrong.
    pub number: Box<str>,
    /// The index of the hours.
    pub zone: usize,
    pub outcome: Outcome,
}

impl Row {
    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.outcome.kind == kind
    }
}

/// A list with all that is known of it.
pub(crate) struct List {
    pub table: Table,
    pub rows: Vec<Row>,
    /// The hours of each time zone; one `None` if there are no hours.
    pub hours: Vec<Option<Hours>>,
    pub do_not_call: DoNotCallFiles,
    agent_id: i64,
    context: Vec<(usize, String)>,
}

impl List {
    /// Reads a list and decides on each row: by its ledger, and by the rules.
    pub(crate) async fn read(
        args: &ListArgs,
        ledger: Option<&Ledger>,
        now_ms: u64,
    ) -> Result<Self> {
        let table = Table::read(&args.list)?;
        check_key(&args.campaign).context("--campaign")?;
        if let Some(code) = &args.country {
            number::check_country_code("--country", code)?;
        }
        let columns = Columns::find(args, &table)?;
        let mut zones = Zones::new(args)?;
        let mut rows = Vec::new();
        for read in table.rows() {
            let (place, record) = read?;
            rows.push(read_row(
                args,
                &columns,
                &mut zones,
                table.header(),
                place,
                &record,
            ));
        }
        let mut list = Self {
            rows,
            hours: zones.hours,
            do_not_call: DoNotCallFiles::new(
                args.do_not_call.clone(),
                args.number_column.clone(),
                args.country.clone(),
            ),
            agent_id: args.agent_id,
            context: columns.context,
            table,
        };
        list.find_duplicates();
        let (mut calls, mut known) = (Calls::new(), HashSet::new());
        if let Some(ledger) = ledger {
            let has_key = |row: &&mut Row| !row.key.is_empty() && !row.is(Kind::Duplicate);
            look_up(ledger, list.rows.iter_mut().filter(has_key)).await?;
            // A key that a spreadsheet has changed is another one, but its number was called.
            let numbers: Vec<_> = list.rows.iter().map(|row| &*row.number).collect();
            let campaign = format!("{}/", args.campaign);
            let called = ledger.calls_to(&numbers, &campaign).await?;
            let callable = list.rows.iter().filter(|row| row.is(Kind::Callable));
            let callable: HashSet<_> = callable.map(|row| (&*row.key, &*row.number)).collect();
            for (number, entry) in called {
                // One that has begun meanwhile will be found when the row is called.
                if !callable.contains(&(&*entry.key, &*number)) {
                    let calls = calls.entry(number.into()).or_default();
                    calls.push(ms_of(entry.begun_at));
                }
                known.insert(entry.key);
            }
        }
        for path in &args.earlier {
            add_calls(path, &known, &mut calls)?;
        }
        list.apply_rules(args, &mut calls, now_ms)?;
        Ok(list)
    }

    /// Marks the rows that are outside of their hours.
    pub(crate) fn mark_closed(&mut self, now_ms: u64) {
        let hours = self.hours.iter().map(Option::as_ref);
        let windows: Vec<_> = hours.map(|it| it.map(|it| it.next(now_ms))).collect();
        for row in self.rows.iter_mut().filter(|row| row.is(Kind::Callable)) {
            let note = match windows[row.zone] {
                None => continue,
                Some(Some(window)) if window.opens_ms <= now_ms => continue,
                Some(Some(window)) => {
                    format!("its hours begin at {}", results::time(window.opens_ms))
                }
                Some(None) => "it has no hours any more".to_owned(),
            };
            row.outcome = Outcome::new(Kind::Closed, note);
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts::of(self.rows.iter().map(|row| &row.outcome))
    }

    /// Returns the request of a row.
    pub(crate) fn request(&self, row: &Row) -> DocketRequestV2 {
        let record = self.table.row(row.place);
        let value = |index| Value::from(record.get(index).unwrap_or_default());
        let context = self.context.iter();
        let context = context.map(|(index, name)| (name.clone(), value(*index)));
        DocketRequestV2 {
            agent_id: self.agent_id,
            to_phone_number: row.number.to_string(),
            call_context: Value::Object(context.collect::<Map<_, _>>()).to_string(),
            // By it a docket whose id was lost is found again.
            external_id: Some(row.key.to_string()),
            extra: None,
        }
    }

    /// Marks all rows but the first of each key.
    fn find_duplicates(&mut self) {
        let mut lines = HashMap::new();
        let mut duplicates = Vec::new();
        let rows = self.rows.iter().enumerate();
        for (index, row) in rows.filter(|(_, row)| !row.key.is_empty()) {
            let first = *lines.entry(&*row.key).or_insert(row.place.line);
            if first != row.place.line {
                duplicates.push((index, first));
            }
        }
        for (index, first) in duplicates {
            let note = format!("its key is that of line {first}");
            self.rows[index].outcome = Outcome::new(Kind::Duplicate, note);
        }
    }

    /// Decides on the rows that could be called.
    fn apply_rules(&mut self, args: &ListArgs, calls: &mut Calls, now_ms: u64) -> Result<()> {
        self.do_not_call.refresh()?;
        let do_not_call = &self.do_not_call.numbers;
        let limits = Limits {
            max_calls: args.max_per_number.into(),
            gap_ms: u64::from(args.gap_hours) * 3_600_000,
        };
        for row in self.rows.iter_mut().filter(|row| row.is(Kind::Callable)) {
            let calls = calls.entry(row.number.clone()).or_default();
            let refusal = may_call(&row.number, now_ms, do_not_call, limits, calls, None);
            let (kind, note) = match refusal {
                Ok(()) => {
                    calls.push(now_ms);
                    continue;
                }
                Err(Refusal::DoNotCall) => (Kind::DoNotCall, DO_NOT_CALL.to_owned()),
                Err(Refusal::TooSoon(ms)) => (
                    Kind::TooSoon,
                    format!("its number may be called again from {}", results::time(ms)),
                ),
                Err(Refusal::TooOften | Refusal::Closed(_)) => {
                    let (found, allowed) = (calls.len(), limits.max_calls);
                    let note = format!(
                        "its number is that of other rows or earlier calls: found {found}; allowed: {allowed}"
                    );
                    (Kind::Duplicate, note)
                }
            };
            row.outcome = Outcome::new(kind, note);
        }
        Ok(())
    }
}

/// Adds the calls that results have, but for those of these keys.
fn add_calls(results: &Path, known: &HashSet<String>, calls: &mut Calls) -> Result<()> {
    let table = Table::read(results)?;
    let shown = results.display();
    let [key, number, at] = [results::KEY, results::NUMBER, results::AT]
        .map(|name| table.column(&format!("--earlier {shown}"), name));
    let (key, number, at) = (key?, number?, at?);
    for row in table.rows() {
        let (place, record) = row?;
        let value = |index: usize| record.get(index).unwrap_or_default();
        if value(at).is_empty() || known.contains(value(key)) {
            continue;
        }
        // A call that cannot be read, since a spreadsheet has changed it, would be forgotten.
        let number = number::normalize(results::NUMBER, value(number), None);
        let at_ms = results::read_time(value(at)).with_context(|| {
            let (name, found) = (results::AT, value(at));
            format!("{name}: found {found}; allowed: a time as `call-list` writes it")
        });
        let read = number
            .map_err(anyhow::Error::from)
            .and_then(|it| Ok((it, at_ms?)));
        let (number, at_ms) = read.with_context(|| format!("{shown}, line {}", place.line))?;
        calls.entry(number.into()).or_default().push(at_ms);
    }
    Ok(())
}

/// Takes what the ledger has of rows.
pub(crate) async fn look_up(ledger: &Ledger, rows: impl Iterator<Item = &mut Row>) -> Result<()> {
    let mut rows: Vec<_> = rows.collect();
    for rows in rows.chunks_mut(LOOKED_UP) {
        let entries = join_all(rows.iter().map(|row| ledger.get(&row.key))).await;
        for (row, entry) in rows.iter_mut().zip(entries) {
            let Some(entry) = entry? else {
                continue;
            };
            let message = entry.message.unwrap_or_default();
            let (kind, note) = match entry.state {
                State::Done if row.is(Kind::Invalid) => {
                    (Kind::Changed, row.outcome.note.to_string())
                }
                State::Done => (Kind::CalledBefore, String::new()),
                State::Unknown if message.is_empty() => (
                    Kind::Unknown,
                    "its process was killed while it called".to_owned(),
                ),
                State::Unknown => (Kind::Unknown, message),
                State::Begun => (
                    Kind::InProgress,
                    "another process calls it, or was killed a moment ago".to_owned(),
                ),
                State::Free if row.is(Kind::InProgress) => (Kind::NotCalled, message),
                State::Free => continue,
            };
            row.outcome = Outcome {
                docket_id: entry.created_id.map(Into::into),
                at_ms: match kind {
                    Kind::NotCalled => 0,
                    _ => ms_of(entry.begun_at),
                },
                ..Outcome::new(kind, note)
            };
        }
    }
    Ok(())
}

/// The times at which numbers were called.
type Calls = HashMap<Box<str>, Vec<u64>>;

/// The indices of the columns.
struct Columns {
    number: usize,
    key: usize,
    zone: Option<usize>,
    context: Vec<(usize, String)>,
}

impl Columns {
    fn find(args: &ListArgs, table: &Table) -> Result<Self> {
        let number = table.column("--number-column", &args.number_column)?;
        let key = table.column("--key-column", &args.key_column)?;
        let zone = args.time_zone_column.as_deref();
        let zone = zone
            .map(|name| table.column("--time-zone-column", name))
            .transpose()?;
        let names = table.header().iter().enumerate();
        let others = names.filter(|(index, name)| {
            let is_own = [Some(number), Some(key), zone].contains(&Some(*index));
            !is_own && !name.is_empty() && !COLUMNS.contains(name)
        });
        let context = match &args.context {
            None => others
                .map(|(index, name)| (index, name.to_owned()))
                .collect(),
            Some(names) => {
                let columns = names.iter().filter(|name| !name.is_empty());
                let columns =
                    columns.map(|name| Ok((table.column("--context", name)?, name.clone())));
                columns.collect::<Result<_>>()?
            }
        };
        Ok(Self {
            number,
            key,
            zone,
            context,
        })
    }
}

/// The hours, by the clocks of the time zones that occur.
struct Zones {
    written: Option<Hours>,
    hours: Vec<Option<Hours>>,
    indices: HashMap<String, usize>,
}

impl Zones {
    fn new(args: &ListArgs) -> Result<Self> {
        // Without a zone, each row has its own.
        let zone = args.time_zone.as_deref().unwrap_or("UTC");
        let read = |line| Hours::of_line(("--hours", line), ("--time-zone", zone));
        let written = args.hours.as_deref().map(read).transpose()?;
        Ok(Self {
            hours: vec![written.clone()],
            written,
            indices: HashMap::new(),
        })
    }

    /// Returns the index of the hours in a zone.
    fn index(&mut self, name: &str) -> Result<usize, Problem> {
        if let Some(index) = self.indices.get(name) {
            return Ok(*index);
        }
        let zone = zone("time zone", name)?;
        self.hours
            .push(self.written.as_ref().map(|hours| hours.in_zone(zone)));
        self.indices.insert(name.to_owned(), self.hours.len() - 1);
        Ok(self.hours.len() - 1)
    }
}

fn read_row(
    args: &ListArgs,
    columns: &Columns,
    zones: &mut Zones,
    header: &StringRecord,
    place: Place,
    record: &StringRecord,
) -> Row {
    let value = |index: usize| record.get(index).unwrap_or_default();
    let customer = value(columns.key);
    let country = args.country.as_deref();
    let mut wrong = None;
    let mut note = |problem: String| _ = wrong.get_or_insert(problem);
    if record.len() != header.len() {
        note(format!(
            "found {} fields; allowed: {}, as in the first row",
            record.len(),
            header.len()
        ));
    }
    let key = match check_key(customer) {
        Ok(()) => format!("{}/{customer}", args.campaign),
        Err(problem) => {
            note(format!("{}: {problem}", args.key_column));
            String::new()
        }
    };
    let normalized = number::normalize(&args.number_column, value(columns.number), country);
    let number = normalized.unwrap_or_else(|problem| {
        note(problem.to_string());
        String::new()
    });
    let zone = columns
        .zone
        .map_or(Ok(0), |zone| zones.index(value(zone).trim()));
    let zone = zone.unwrap_or_else(|problem| {
        note(problem.to_string());
        0
    });
    let outcome = match wrong {
        Some(note) => Outcome::new(Kind::Invalid, note),
        None => Outcome::new(Kind::Callable, ""),
    };
    Row {
        place,
        key: key.into(),
        number: number.into(),
        zone,
        outcome,
    }
}
