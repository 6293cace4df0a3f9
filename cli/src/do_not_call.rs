//! Files with numbers that are not called.

use crate::table::Table;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;
use voice_calling_rules::{DoNotCall, number};

/// The shortest number, as opposed to the name of a column.
const MIN_DIGITS: usize = 3;

/// Tables in CSV with numbers in the column with a name, or in the first one.
pub(crate) struct DoNotCallFiles {
    pub paths: Vec<PathBuf>,
    pub column: String,
    pub country: Option<String>,
    /// When the files were changed, and their lengths, as they were read.
    read: Vec<(SystemTime, u64)>,
    pub numbers: DoNotCall,
}

impl DoNotCallFiles {
    pub(crate) fn new(paths: Vec<PathBuf>, column: String, country: Option<String>) -> Self {
        Self {
            paths,
            column,
            country,
            read: Vec::new(),
            numbers: DoNotCall::default(),
        }
    }

    /// Reads the files, unless none has changed since. A number that was in them stays: a file that
    /// is being replaced may be empty for a moment.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        let files = self.paths.iter().map(|path| {
            let file = fs::metadata(path).and_then(|file| Ok((file.modified()?, file.len())));
            file.with_context(|| path.display().to_string())
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        if files != self.read {
            self.read_numbers()?;
            self.read = files;
        }
        Ok(())
    }

    fn read_numbers(&mut self) -> Result<()> {
        for path in &self.paths {
            let table = Table::read(path)?;
            let column = table.find(&self.column);
            // A file without a header has a number in its first row as well.
            let first = column.is_none().then(|| (1, table.header().clone()));
            let rows = table
                .rows()
                .map(|row| row.map(|(place, record)| (place.line, record)));
            for row in first.map(Ok).into_iter().chain(rows) {
                let (line, record) = row?;
                let text = record.get(column.unwrap_or(0)).unwrap_or_default();
                let digits = text.chars().filter(|c| c.is_numeric()).count();
                match number::normalize("number", text, self.country.as_deref()) {
                    Ok(number) => _ = self.numbers.insert(&number),
                    // Its first row may be a header with another name.
                    Err(_) if line == 1 && digits < MIN_DIGITS => {}
                    // A row with fewer columns may have its number in another one.
                    Err(_) if text.trim().is_empty() && record.len() == table.header().len() => {}
                    Err(problem) => bail!("{}, line {line}: {problem}", path.display()),
                }
            }
        }
        Ok(())
    }
}
