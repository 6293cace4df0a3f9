//! The table of results: a row for each contact whose run has ended for good.

use std::io::{self, Write};

use serde::Serialize;

use crate::campaign::{self, Try};
use crate::engine::Executions;
use crate::row::{Ending, Row};

/// The format of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180, for spreadsheets; see [`cell`].
    Csv,
    /// One JSON object per line, exact.
    JsonLines,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::JsonLines => "application/x-ndjson",
        }
    }

    /// Returns the bytes before the first row.
    pub fn head(self) -> Vec<u8> {
        match self {
            Self::Csv => record(COLUMNS),
            Self::JsonLines => Vec::new(),
        }
    }

    fn line(self, row: &Row) -> Vec<u8> {
        match self {
            Self::Csv => record(cells(row)),
            Self::JsonLines => {
                // Strings and numbers always serialize.
                let mut bytes = serde_json::to_vec(row).unwrap_or_default();
                bytes.push(b'\n');
                bytes
            }
        }
    }
}

/// The members of [`Row`], in order.
const COLUMNS: [&str; 9] = [
    "index",
    "to_phone_number",
    "external_id",
    "run",
    "state",
    "docket_id",
    "known_by",
    "insights",
    "error",
];

/// Returns the cells of a row, in the order of [`COLUMNS`].
fn cells(row: &Row) -> impl Serialize {
    let text = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
    let insights = row.insights.as_ref().map(serde_json::to_string);
    (
        row.index,
        text(&row.to_phone_number),
        text(&row.external_id),
        row.run.clone(),
        row.state,
        text(&row.docket_id),
        text(&row.known_by),
        // Strings always serialize.
        insights.and_then(Result::ok),
        text(&row.error),
    )
}

/// Returns a text as a cell that spreadsheets do not interpret as a formula. If the text begins
/// with `=`, `+`, `-`, `@` (also full-width), a tab or a line break, an apostrophe is put before
/// it, which marks it as text. A sign followed only by digits stays as it is: it is a phone number.
fn cell(text: &str) -> String {
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    match text.chars().next() {
        Some('+' | '-') if text.len() > 1 && is_number(&text[1..]) => text.to_owned(),
        Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '\t' | '\r' | '\n') => {
            format!("'{text}")
        }
        _ => text.to_owned(),
    }
}

/// Returns a CSV record.
fn record(cells: impl Serialize) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    // Writing to a vector cannot fail.
    let _ = writer.serialize(cells);
    writer.into_inner().unwrap_or_default()
}

/// Writes the lines of a campaign one by one, reading each only after the previous one was accepted.
/// Stops at the first error.
pub fn stream<E: Executions>(
    engine: &E,
    campaign: &str,
    format: Format,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&format.head())?;
    let control = campaign::control(engine, campaign);
    for segment in campaign::segments(engine, campaign, &control) {
        for (id, run) in segment.runs(engine) {
            let row = match run {
                Try::Going | Try::Returned(Ending::Again(_)) => continue,
                Try::Failed => Row {
                    run: id,
                    ..Row::default()
                },
                Try::Returned(Ending::Ended(row)) => Row { run: id, ..*row },
            };
            out.write_all(&format.line(&row))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Status;
    use crate::engine::tests::{Tree, completed, given_up};

    fn campaign() -> Tree {
        Tree::default()
            .and("C", Status::Going)
            .and("C.n:segment_1", Status::Ok)
            .and("C.n:segment_1.n:open_1", Status::Pending)
            .returned("C.n:segment_1.n:open_2", &completed(0))
            .returned("C.n:segment_1.n:open_3", r#"{"again":{"index":1}}"#)
            .and("C.n:segment_1.n:open_4", Status::Failed)
            .and("C.n:segment_2", Status::Going)
            .returned("C.n:campaign_1", r#""{\"Rest\":{\"held\":1}}""#)
            .and("C.n:segment_2.n:open_1", Status::Pending)
            .returned("C.n:segment_2.n:open_2", r#""{\"index\":1}""#)
            .and("C.n:segment_2.n:open_3", Status::Going)
            .returned("C.n:segment_2.n:open_4", &given_up(1))
    }

    fn table(format: Format) -> String {
        let mut bytes = Vec::new();
        stream(&campaign(), "C", format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_contact_that_has_ended_is_a_json_line() {
        let expected = concat!(
            r#"{"index":0,"to_phone_number":"+91980","external_id":"x0","run":"C.n:segment_1.n:open_2","#,
            r#""state":"completed","docket_id":"d","known_by":"webhook","#,
            r#""insights":{"call_disposition":"agreed","call_metadata":{"price":1.50}},"error":null}"#,
            "\n",
            r#"{"index":null,"to_phone_number":null,"external_id":null,"run":"C.n:segment_1.n:open_4","#,
            r#""state":"failed","docket_id":null,"known_by":null,"insights":null,"error":null}"#,
            "\n",
            r#"{"index":1,"to_phone_number":"+91981","external_id":"x1","run":"C.n:segment_2.n:open_4","#,
            r#""state":"unknown","docket_id":null,"known_by":null,"insights":null,"#,
            r#""error":"no, \"none\""}"#,
            "\n",
        );
        assert_eq!(table(Format::JsonLines), expected);
    }

    #[test]
    fn each_contact_that_has_ended_is_a_csv_record() {
        let expected = concat!(
            "index,to_phone_number,external_id,run,state,docket_id,known_by,insights,error\r\n",
            "0,+91980,x0,C.n:segment_1.n:open_2,completed,d,webhook,",
            r#""{""call_disposition"":""agreed"",""call_metadata"":{""price"":1.50}}","#,
            "\r\n",
            ",,,C.n:segment_1.n:open_4,failed,,,,\r\n",
            "1,+91981,x1,C.n:segment_2.n:open_4,unknown,,,,",
            r#""no, ""none""""#,
            "\r\n",
        );
        assert_eq!(table(Format::Csv), expected);
    }

    #[test]
    fn the_columns_are_the_members_of_a_row() {
        let line = serde_json::to_string(&Row::default()).unwrap();
        let places = COLUMNS.map(|column| line.find(&format!("\"{column}\":")));
        assert!(places.is_sorted() && places[0].is_some(), "{line}");
        assert_eq!(line.matches(":").count(), COLUMNS.len());
    }

    #[test]
    fn nothing_is_a_formula_and_a_phone_number_stays() {
        for text in ["+919876543210", "-5", "91", "a=b", "", "{}", "'", "ü"] {
            assert_eq!(cell(text), text);
        }
        for text in [
            "=1+1", "+", "-", "+1+1", "-2+3", "+91 98", "@x", "\t=1", "\r=1", "\n=1", "＝1", "+٣",
        ] {
            assert_eq!(cell(text), format!("'{text}"));
        }
    }

    #[test]
    fn nothing_is_read_for_a_reader_who_has_gone() {
        // It has room for the first line, and for no other.
        let first = table(Format::JsonLines).find('\n').unwrap() + 1;
        let mut room = vec![0; first];
        let gone = stream(&campaign(), "C", Format::JsonLines, &mut &mut room[..]);
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
