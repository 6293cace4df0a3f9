//! The table of results: the rows of the list, and what is known of the call of each.

use crate::list::{List, Row};
use crate::outcome::Outcome;
use crate::table::{MARK, Table};
use anyhow::{Context, Result, anyhow};
use csv::WriterBuilder;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use voice_calling::webhooks::parse_docket_completed;
use voice_calling::{Docket, DocketCompleted, DocketStatus};
use voice_calling_rules::number;

pub(crate) const KEY: &str = "call_key";
pub(crate) const NUMBER: &str = "call_number";
pub(crate) const AT: &str = "call_at";
pub(crate) const DOCKET_ID: &str = "call_docket_id";
pub(crate) const OUTCOME: &str = "call_outcome";
pub(crate) const DISPOSITION: &str = "call_disposition";
pub(crate) const METADATA: &str = "call_metadata";

/// The columns that the command adds. In a list they are not read, so that results can be one.
pub(crate) const COLUMNS: [&str; 12] = [
    KEY,
    NUMBER,
    OUTCOME,
    "call_note",
    AT,
    DOCKET_ID,
    "call_status",
    "call_count",
    "call_closed_at",
    DISPOSITION,
    METADATA,
    "call_dashboard_url",
];

/// How many of them are of the list; the others are of the docket.
const OF_LIST: usize = 6;

/// The longest time between the beginning of a call and its claim.
const SAME_CALL_MS: u64 = 60_000;

/// What is known of a docket: its last columns.
pub(crate) type Completion = [String; COLUMNS.len() - OF_LIST];

/// What is known of dockets, by their ids.
pub(crate) type Completions = HashMap<Box<str>, Completion>;

/// Returns `true` if nothing more is expected of a docket but what the webhook delivers.
pub(crate) fn is_completed(completion: &Completion) -> bool {
    completion[0] == "COMPLETED" || !completion[2].is_empty()
}

/// Takes what a fetched docket shows.
pub(crate) fn apply_docket(completion: &mut Completion, docket: &Docket) {
    completion[0] = match &docket.status {
        Some(DocketStatus::Open) => "OPEN".to_owned(),
        Some(DocketStatus::InProgress) => "IN_PROGRESS".to_owned(),
        Some(DocketStatus::Completed) => "COMPLETED".to_owned(),
        Some(DocketStatus::Other(text)) => text.clone(),
        None => String::new(),
    };
    completion[1] = docket
        .outbound_call_count
        .map(|count| count.to_string())
        .unwrap_or_default();
    completion[2] = docket.closed_at.clone().unwrap_or_default();
}

/// Takes what a delivery says beyond the docket.
pub(crate) fn apply_delivery(completion: &mut Completion, delivered: DocketCompleted) {
    if let Some(insights) = delivered.call_insights {
        completion[3] = insights.call_disposition.unwrap_or_default();
        completion[4] = insights.call_metadata.unwrap_or_default();
    }
    completion[5] = delivered.dashboard_url.unwrap_or_default();
}

/// The file of results.
pub(crate) struct Results {
    path: PathBuf,
    /// What the file had when the run began.
    earlier: Option<Table>,
    pub completions: Completions,
    /// How much of the deliveries was read.
    delivered_bytes: u64,
}

impl Results {
    /// Reads the results of an earlier run, and makes sure that they can be replaced.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut results = Self {
            path: path.to_owned(),
            earlier: None,
            completions: Completions::new(),
            delivered_bytes: 0,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let lock = path.with_file_name(format!(".~lock.{name}#"));
        if lock.exists() {
            let found = format!("it is open in LibreOffice ({})", lock.display());
            return Err(results.unwritable(&found));
        }
        if path.exists() {
            // A file that a spreadsheet has locked cannot be opened.
            let opened = OpenOptions::new().write(true).open(path);
            opened.map_err(|error| results.unwritable(&error))?;
            let earlier = Table::read(path)?;
            earlier.column(&format!("--results {}", path.display()), KEY)?;
            results.completions = read_completions(&earlier)?;
            results.earlier = Some(earlier);
        }
        let new = results.new_file();
        new.map_err(|error| results.unwritable(&error))?;
        Ok(results)
    }

    /// Returns the dockets that the file has.
    pub(crate) fn docket_ids(&self) -> Result<Vec<String>> {
        let earlier = self.earlier.as_ref().with_context(|| {
            let path = self.path.display();
            format!("{path}: found no such file; allowed: results of `call-list`")
        })?;
        let id = earlier.column("the results", DOCKET_ID)?;
        let mut ids = Vec::new();
        for row in earlier.rows() {
            let (_, record) = row?;
            ids.extend(
                record
                    .get(id)
                    .filter(|id| !id.is_empty())
                    .map(str::to_owned),
            );
        }
        Ok(ids)
    }

    /// Takes what the file has of calls, and neither the list nor the ledger does: the number that
    /// was called, of a row that has changed since, and the docket of an outcome that could not be
    /// recorded.
    pub(crate) fn restore(&self, list: &mut List) -> Result<()> {
        let Some(earlier) = &self.earlier else {
            return Ok(());
        };
        let [key, number, at, id] =
            [KEY, NUMBER, AT, DOCKET_ID].map(|name| earlier.column("the results", name));
        let (key, number, at, id) = (key?, number?, at?, id?);
        let called = list.rows.iter_mut().filter(|row| row.outcome.at_ms > 0);
        let mut called: HashMap<_, _> = called.map(|row| (row.key.clone(), row)).collect();
        for record in earlier.rows() {
            let (_, record) = record?;
            let value = |index: usize| record.get(index).unwrap_or_default();
            let Some(row) = called.get_mut(value(key)) else {
                continue;
            };
            let is_its_call = |at_ms: u64| at_ms.abs_diff(row.outcome.at_ms) < SAME_CALL_MS;
            if !read_time(value(at)).is_some_and(is_its_call) {
                continue;
            }
            if number::normalize(NUMBER, value(number), None).is_ok() {
                row.number = value(number).into();
            }
            if row.outcome.docket_id.is_none() && !value(id).is_empty() {
                row.outcome.docket_id = Some(value(id).into());
            }
        }
        Ok(())
    }

    /// Returns the file beside it that has what the webhook has delivered, one in a line.
    pub(crate) fn deliveries(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".deliveries");
        path.into()
    }

    /// Takes what was delivered since.
    fn read_deliveries(&mut self) -> io::Result<()> {
        let mut file = match File::open(self.deliveries()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.delivered_bytes))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.delivered_bytes += line.len() as u64;
            // Each was verified before it was kept. What was cut by a crash comes again.
            let delivered = parse_docket_completed(&String::from_utf8_lossy(&line));
            if let Ok(Some(delivered)) = delivered {
                let id = delivered.docket_id.as_str().into();
                apply_delivery(self.completions.entry(id).or_default(), delivered);
            }
            line.clear();
        }
        Ok(())
    }

    /// Replaces the file by one with all rows of the list, and those that it had beside them.
    pub(crate) fn write(&mut self, list: &List) -> Result<()> {
        let read = self.read_deliveries();
        read.with_context(|| self.deliveries().display().to_string())?;
        let columns = list.table.header().iter().enumerate();
        let columns: Vec<_> = columns
            .filter(|(_, name)| !COLUMNS.contains(name))
            .collect();
        let names = columns.iter().map(|(_, name)| *name).chain(COLUMNS);
        let names: Vec<_> = names.collect();
        let none = Completion::default();
        self.replace(&list.table, |writer| {
            writer.write_record(&names)?;
            for row in &list.rows {
                let record = list.table.row(row.place);
                let values = columns
                    .iter()
                    .map(|(index, _)| record.get(*index).unwrap_or_default());
                let own = own_columns(row);
                let id = row.outcome.docket_id.as_ref();
                let completion = id.and_then(|id| self.completions.get(id));
                let own = own.iter().chain(completion.unwrap_or(&none));
                writer.write_record(values.chain(own.map(String::as_str)))?;
            }
            let Some(earlier) = &self.earlier else {
                return Ok(());
            };
            let keys: HashSet<_> = list.rows.iter().map(|row| &*row.key).collect();
            let key = earlier.find(KEY).unwrap_or_default();
            let places: Vec<_> = names.iter().map(|name| earlier.find(name)).collect();
            for row in earlier.rows() {
                let (_, record) = row?;
                // Those without a key are of rows that were wrong.
                let its_key = record.get(key).unwrap_or_default();
                if !its_key.is_empty() && !keys.contains(its_key) {
                    let values = places.iter().map(|place| record.get((*place)?));
                    writer.write_record(values.map(Option::unwrap_or_default))?;
                }
            }
            Ok(())
        })
    }

    /// Replaces the file by one in which the columns of dockets are up to date.
    pub(crate) fn rewrite(&mut self) -> Result<()> {
        let read = self.read_deliveries();
        read.with_context(|| self.deliveries().display().to_string())?;
        let Some(earlier) = &self.earlier else {
            return Ok(());
        };
        let names = earlier.header();
        let id = earlier.column("the results", DOCKET_ID)?;
        self.replace(earlier, |writer| {
            writer.write_record(names)?;
            for row in earlier.rows() {
                let (_, record) = row?;
                let completion = record.get(id).and_then(|id| self.completions.get(id));
                let values = names.iter().zip(&record).map(|(name, value)| {
                    let index = COLUMNS[OF_LIST..].iter().position(|column| *column == name);
                    match (completion, index) {
                        (Some(completion), Some(index)) => completion[index].as_str(),
                        _ => value,
                    }
                });
                writer.write_record(values)?;
            }
            Ok(())
        })
    }

    /// Replaces the file by one in the form of a table, when it is complete.
    fn replace(
        &self,
        form: &Table,
        write: impl FnOnce(&mut csv::Writer<BufWriter<NamedTempFile>>) -> Result<()>,
    ) -> Result<()> {
        let replaced = || {
            let mut file = BufWriter::new(self.new_file()?);
            if form.has_mark() {
                file.write_all(MARK.as_bytes())?;
            }
            let mut writer = WriterBuilder::new();
            writer.delimiter(form.delimiter()).flexible(true);
            let mut writer = writer.from_writer(file);
            write(&mut writer)?;
            let file = writer.into_inner()?.into_inner()?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        replaced().map_err(|error: anyhow::Error| self.unwritable(&error))
    }

    fn new_file(&self) -> io::Result<NamedTempFile> {
        let folder = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
    }

    fn unwritable(&self, found: &dyn std::fmt::Display) -> anyhow::Error {
        anyhow!(
            "the results cannot be written to {}: {found}. Close it in the spreadsheet, or give \
             another file, and run the same command again: no one is called twice, since the \
             ledger has all calls and their ids",
            self.path.display()
        )
    }
}

fn own_columns(row: &Row) -> [String; OF_LIST] {
    let Outcome {
        kind,
        docket_id,
        at_ms,
        note,
    } = &row.outcome;
    [
        row.key.to_string(),
        row.number.to_string(),
        kind.name().to_owned(),
        note.to_string(),
        match at_ms {
            0 => String::new(),
            ms => time(*ms),
        },
        docket_id.as_deref().unwrap_or_default().to_owned(),
    ]
}

/// Returns what a table of results has of dockets.
fn read_completions(table: &Table) -> Result<Completions> {
    let id = table.column("the results", DOCKET_ID)?;
    let columns: Vec<_> = COLUMNS[OF_LIST..]
        .iter()
        .map(|name| table.find(name))
        .collect();
    let mut completions = Completions::new();
    for row in table.rows() {
        let (_, record) = row?;
        let id = record.get(id).unwrap_or_default();
        let value = |index: usize| columns[index].and_then(|column| record.get(column));
        let completion = std::array::from_fn(|index| value(index).unwrap_or_default().to_owned());
        if !id.is_empty() {
            completions.insert(id.into(), completion);
        }
    }
    Ok(completions)
}

/// Shows a time, in UTC.
pub(crate) fn time(ms: u64) -> String {
    let time = i64::try_from(ms / 1_000)
        .ok()
        .and_then(|s| Timestamp::from_second(s).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// Reads a time that was shown.
pub(crate) fn read_time(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    time.as_millisecond().try_into().ok()
}
