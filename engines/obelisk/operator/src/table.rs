//! A source in CSV, as spreadsheets write it: a row for each contact.

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Map, Value};
use voice_calling_rules::spreadsheet::{delimiter, open_quote};

use crate::bindings::exports::voice_calling::operator::contacts::Entry;

/// A source in CSV, whose first row names the columns.
pub(crate) struct Table<'a> {
    text: &'a str,
    delimiter: u8,
    header: StringRecord,
}

/// A row, and the position behind it.
pub(crate) type Row = (StringRecord, u64);

impl<'a> Table<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        if let Some(line) = open_quote(text) {
            return Err(format!(
                "a quote in line {line} does not end with its value"
            ));
        }
        let mut table = Self {
            text,
            delimiter: delimiter(text),
            header: StringRecord::new(),
        };
        let header = table.rows(0).next().transpose()?;
        table.header = header.map(|it| it.0).unwrap_or_default();
        table.header.trim();
        for name in ["agent_id", "to_phone_number"] {
            if !table.header.iter().any(|it| it == name) {
                return Err(format!("the first row has no column {name}"));
            }
        }
        Ok(table)
    }

    /// Returns the rows from a position on, which is the beginning of one.
    fn rows(&self, position: u64) -> impl Iterator<Item = Result<Row, String>> {
        let from = usize::try_from(position).ok();
        let rest = from.and_then(|from| self.text.get(from..));
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(rest.unwrap_or_default().as_bytes());
        std::iter::from_fn(move || {
            let mut record = StringRecord::new();
            match reader.read_record(&mut record) {
                Ok(true) => Some(Ok((record, position + reader.position().byte()))),
                Ok(false) => None,
                Err(error) => Some(Err(error.to_string())),
            }
        })
    }

    /// Returns the contacts from a position on, each with the position behind it. 0 is the beginning
    /// of the table.
    pub(crate) fn contacts(
        &self,
        position: u64,
    ) -> impl Iterator<Item = Result<(Entry, u64), String>> {
        let header = if position == 0 { 1 } else { 0 };
        self.rows(position).skip(header).map(|row| {
            let (row, next) = row?;
            Ok((self.contact(&row)?, next))
        })
    }

    /// Returns the contact of a row. Columns without a meaning of their own are its context.
    fn contact(&self, row: &StringRecord) -> Result<Entry, String> {
        if row.len() != self.header.len() {
            let (found, allowed) = (row.len(), self.header.len());
            return Err(format!(
                "{found} fields; expected {allowed}, as in the first row"
            ));
        }
        let mut entry = Entry {
            agent_id: 0,
            to_phone_number: String::new(),
            call_context: String::new(),
            external_id: None,
            extra: None,
            time_zone: None,
        };
        let mut context = Map::new();
        for (name, value) in self.header.iter().zip(row) {
            let some = (!value.is_empty()).then(|| value.to_owned());
            match name {
                "agent_id" => {
                    let id = value.trim().parse();
                    entry.agent_id = id.map_err(|_| "agent_id is not a whole number")?;
                }
                "to_phone_number" => value.clone_into(&mut entry.to_phone_number),
                "external_id" => entry.external_id = some,
                "extra" => entry.extra = some,
                "time_zone" => entry.time_zone = some,
                "" => {}
                name => _ = context.insert(name.to_owned(), Value::from(value)),
            }
        }
        entry.call_context = Value::Object(context).to_string();
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>, String> {
        let table = Table::read(text)?;
        table.contacts(0).map(|it| Ok(it?.0)).collect()
    }

    #[test]
    fn a_row_is_a_contact_whose_other_columns_are_its_context() {
        for text in [
            "name,agent_id,to_phone_number,external_id\n\"Asha, K.\n\",7,+91 98765-43210,crm-1\n",
            "name;agent_id;to_phone_number;external_id\r\n\"Asha, K.\n\";7;+91 98765-43210;crm-1",
        ] {
            let expected = Entry {
                agent_id: 7,
                to_phone_number: "+91 98765-43210".to_owned(),
                call_context: r#"{"name":"Asha, K.\n"}"#.to_owned(),
                external_id: Some("crm-1".to_owned()),
                extra: None,
                time_zone: None,
            };
            assert_eq!(read(text), Ok(vec![expected]));
        }
    }

    #[test]
    fn what_is_wrong_is_named_without_its_value() {
        for (text, expected) in [
            ("agent_id,phone\n7,9199\n", "no column to_phone_number"),
            ("", "no column agent_id"),
            ("agent_id,to_phone_number\nx9199,9199\n", "agent_id is not"),
            (
                "agent_id,to_phone_number\n7,9199,1\n",
                "3 fields; expected 2",
            ),
            (
                "agent_id,to_phone_number\n7,\"9199\n8,9198\n",
                "a quote in line 2",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(expected) && !error.contains("9199"),
                "{error}"
            );
        }
    }
}
