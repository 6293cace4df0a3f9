//! The results: a line for each contact that has ended for good.

use std::io::{self, Write};

use voice_calling_obelisk_guest::campaign::{News, Row, SEGMENTS, State, child};
use voice_calling_obelisk_guest::{Api, Response, RunId};

use crate::progress::each_response;

/// The form of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    JsonLines,
    Csv,
}

const COLUMNS: [&str; 10] = [
    "index",
    "to_phone_number",
    "external_id",
    "run",
    "state",
    "docket_id",
    "known_by",
    "call_disposition",
    "call_metadata",
    "error",
];

/// Writes the results of a campaign. Reads on only while they are accepted, and stops at the first
/// error.
pub(crate) fn stream(
    api: &Api,
    campaign: &RunId,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    if form == Form::Csv {
        out.write_all(&csv(&COLUMNS)?)?;
    }
    let mut written = Ok(());
    for segment in 1.. {
        let segment = child(campaign.as_str(), SEGMENTS, segment);
        let write = |response: &Response| {
            written = write(response, form, out);
            written.is_ok()
        };
        let has_any = each_response(api, &segment, write).map_err(io::Error::other)?;
        let exists = || api.status(&segment).map(|it| it.is_some());
        if written.is_err() || !has_any && !exists().map_err(io::Error::other)? {
            break;
        }
    }
    written
}

fn write(response: &Response, form: Form, out: &mut impl Write) -> io::Result<()> {
    let mut rows = rows(response).into_iter();
    rows.try_for_each(|row| out.write_all(&line(&row, form)?))
}

/// Returns the results in a response of a segment.
fn rows(response: &Response) -> Vec<Row> {
    if response.has_failed {
        return vec![Row::failed(Some(response.id.clone()), State::Failed)];
    }
    let text = response.text.as_deref().unwrap_or_default();
    match serde_json::from_str(text) {
        Ok(News::Ended(row)) => vec![*row],
        Ok(_) => Vec::new(),
        // Those that were never called are in one text.
        Err(_) => serde_json::from_str(text).unwrap_or_default(),
    }
}

fn line(row: &Row, form: Form) -> io::Result<Vec<u8>> {
    if form == Form::JsonLines {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        return Ok(line);
    }
    let (index, state) = (
        row.index.map(|it| it.to_string()),
        serde_json::to_value(row.state)?,
    );
    let insights = row.insights.as_ref();
    csv(&[
        index.as_deref(),
        row.to_phone_number.as_deref(),
        row.external_id.as_deref(),
        row.run.as_deref(),
        state.as_str(),
        row.docket_id.as_deref(),
        row.known_by.as_deref(),
        insights.and_then(|it| it.call_disposition.as_deref()),
        insights.and_then(|it| it.call_metadata.as_deref()),
        row.error.as_deref(),
    ]
    .map(Option::unwrap_or_default))
}

fn csv(fields: &[&str]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields)?;
    writer.into_inner().map_err(|error| error.into_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::tests::response;
    use voice_calling_core::types::DocketInsights;
    use voice_calling_obelisk_guest::campaign::to_text;

    fn completed() -> Row {
        Row {
            index: Some(0),
            to_phone_number: Some("919876543210".to_owned()),
            docket_id: Some("d".to_owned()),
            known_by: Some("webhook".to_owned()),
            insights: Some(DocketInsights {
                call_disposition: Some("agreed".to_owned()),
                call_metadata: Some(r#"{"price":1.50}"#.to_owned()),
            }),
            ..Row::failed(Some("R".to_owned()), State::Completed)
        }
    }

    fn lines(form: Form) -> String {
        let excluded = Row {
            index: Some(1),
            error: Some("no, \"none\"".to_owned()),
            ..Row::failed(None, State::Invalid)
        };
        let responses = [
            response("", Some(to_text(&News::Ended(Box::new(completed()))))),
            response("", Some(to_text(&News::Created))),
            response("", Some(to_text(&[excluded]))),
            response("", Some("hand over".to_owned())),
            Response {
                has_failed: true,
                ..response("F", None)
            },
        ];
        let rows = responses.iter().flat_map(rows);
        let bytes: Vec<_> = rows.flat_map(|row| line(&row, form).unwrap()).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_contact_that_has_ended_has_a_line() {
        let json = concat!(
            r#"{"index":0,"to_phone_number":"919876543210","external_id":null,"run":"R","#,
            r#""state":"completed","docket_id":"d","known_by":"webhook","#,
            r#""insights":{"call_disposition":"agreed","call_metadata":"{\"price\":1.50}"},"error":null}"#,
            "\n",
            r#"{"index":1,"to_phone_number":null,"external_id":null,"run":null,"state":"invalid","#,
            r#""docket_id":null,"known_by":null,"insights":null,"error":"no, \"none\""}"#,
            "\n",
            r#"{"index":null,"to_phone_number":null,"external_id":null,"run":"F","state":"failed","#,
            r#""docket_id":null,"known_by":null,"insights":null,"error":null}"#,
            "\n",
        );
        assert_eq!(lines(Form::JsonLines), json);
        let csv = concat!(
            "0,919876543210,,R,completed,d,webhook,agreed,\"{\"\"price\"\":1.50}\",\n",
            "1,,,,invalid,,,,,\"no, \"\"none\"\"\"\n",
            ",,,F,failed,,,,,\n",
        );
        assert_eq!(lines(Form::Csv), csv);
    }
}
