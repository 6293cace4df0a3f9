//! A table in CSV, as spreadsheets write it, in memory.

use anyhow::{Context, Result, bail, ensure};
use csv::{Reader, ReaderBuilder, StringRecord};
use std::fs;
use std::path::Path;
use voice_calling_rules::spreadsheet::{delimiter, open_quote};

/// The mark at the beginning of a file in UTF-8 by which spreadsheets know its encoding.
pub(crate) const MARK: &str = "\u{feff}";

/// A file in CSV. Its rows are parsed when they are needed, so that a large one takes little memory.
pub(crate) struct Table {
    text: String,
    delimiter: u8,
    header: StringRecord,
}

/// The position of a row in its table.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    offset: usize,
    pub line: u32,
}

impl Table {
    /// Reads a file, whose first row is the names of its columns.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = fs::read(path).with_context(|| shown.to_string())?;
        let found = match str::from_utf8(&bytes) {
            _ if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => {
                Some("UTF-16".to_owned())
            }
            Ok(text) => text
                .contains('\0')
                .then(|| "UTF-16 or binary data".to_owned()),
            Err(error) => {
                let before = bytes[..error.valid_up_to()].iter();
                let line = before.filter(|byte| **byte == b'\n').count() + 1;
                Some(format!("another encoding in line {line}"))
            }
        };
        if let Some(found) = found {
            bail!(
                "{shown}: found {found}, not UTF-8: save it from the spreadsheet as \
                 \"CSV UTF-8 (comma delimited)\", and nothing was called"
            );
        }
        let mut text = String::from_utf8(bytes)?;
        if !text.contains('\n') {
            // Some spreadsheets end lines with it alone.
            text = text.replace('\r', "\n");
        }
        if let Some(line) = open_quote(&text) {
            bail!(
                "{shown}: found a quote in line {line} that does not end with its value; allowed: \
                 quotes around a whole value, and two in place of one within it"
            );
        }
        let mut table = Self {
            delimiter: delimiter(&text),
            text,
            header: StringRecord::new(),
        };
        let mut header = StringRecord::new();
        let read = table.reader(0).read_record(&mut header);
        read.with_context(|| shown.to_string())?;
        header.trim();
        ensure!(
            !header.is_empty(),
            "{shown}: found no columns; allowed: a table in CSV"
        );
        let mut names: Vec<_> = header.iter().filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        if let Some(name) = names.windows(2).find(|two| two[0] == two[1]) {
            bail!("{shown}: found two columns {:?}", name[0]);
        }
        table.header = header;
        Ok(table)
    }

    pub(crate) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(crate) fn has_mark(&self) -> bool {
        self.text.starts_with(MARK)
    }

    pub(crate) fn header(&self) -> &StringRecord {
        &self.header
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Returns the index of a column.
    pub(crate) fn column(&self, option: &str, name: &str) -> Result<usize> {
        self.find(name).with_context(|| {
            let names: Vec<_> = self.header.iter().collect();
            format!(
                "{option}: found {name:?}; allowed: a column, {}",
                names.join(", ")
            )
        })
    }

    /// Returns the rows with their places.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<(Place, StringRecord)>> {
        let mut records = self.reader(0).into_records();
        let _header = records.next();
        let mut counted = Place { offset: 0, line: 1 };
        records.map(move |record| {
            let record = record?;
            let position = record.position().map_or(0, |position| position.byte());
            let mut offset = usize::try_from(position).unwrap_or(usize::MAX);
            // A record may begin with the end of the line before it.
            let rest = &self.text.as_bytes()[offset..];
            offset += rest
                .iter()
                .take_while(|byte| b"\r\n".contains(byte))
                .count();
            let passed = &self.text.as_bytes()[counted.offset..offset];
            let lines = passed.iter().filter(|byte| **byte == b'\n').count();
            let line = counted.line + u32::try_from(lines).unwrap_or(u32::MAX);
            counted = Place { offset, line };
            Ok((counted, record))
        })
    }

    /// Returns the row at a place.
    pub(crate) fn row(&self, place: Place) -> StringRecord {
        let mut record = StringRecord::new();
        let read = self.reader(place.offset).read_record(&mut record);
        read.expect("a row that was read can be read again");
        record
    }

    fn reader(&self, offset: usize) -> Reader<&[u8]> {
        ReaderBuilder::new()
            .delimiter(self.delimiter)
            .flexible(true)
            .has_headers(false)
            .buffer_capacity(1_024)
            .from_reader(&self.text.as_bytes()[offset..])
    }
}
