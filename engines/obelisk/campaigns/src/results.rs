//! The results: a line of JSON for each contact whose run has ended for good.

use std::io::{self, Write};

use crate::campaign::{self, Try};
use crate::engine::Executions;
use crate::row::{Ending, Row};

/// Writes the lines of a campaign one by one, reading each only after the previous one was accepted.
/// Stops at the first error.
pub fn stream<E: Executions>(engine: &E, campaign: &str, out: &mut impl Write) -> io::Result<()> {
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
            let mut line = serde_json::to_vec(&row)?;
            line.push(b'\n');
            out.write_all(&line)?;
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

    fn lines() -> String {
        let mut bytes = Vec::new();
        stream(&campaign(), "C", &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_contact_that_has_ended_is_a_json_line() {
        let expected = concat!(
            r#"{"index":0,"to_phone_number":"+91980","external_id":"x0","run":"C.n:segment_1.n:open_2","#,
            r#""state":"completed","docket_id":"d","known_by":"webhook","#,
            r#""insights":{"call_disposition":"agreed","call_metadata":"{\"price\":1.50}"},"error":null}"#,
            "\n",
            r#"{"index":null,"to_phone_number":null,"external_id":null,"run":"C.n:segment_1.n:open_4","#,
            r#""state":"failed","docket_id":null,"known_by":null,"insights":null,"error":null}"#,
            "\n",
            r#"{"index":1,"to_phone_number":"+91981","external_id":"x1","run":"C.n:segment_2.n:open_4","#,
            r#""state":"unknown","docket_id":null,"known_by":null,"insights":null,"#,
            r#""error":"no, \"none\""}"#,
            "\n",
        );
        assert_eq!(lines(), expected);
    }

    #[test]
    fn nothing_is_read_for_a_reader_who_has_gone() {
        // It has room for the first line, and for no other.
        let first = lines().find('\n').unwrap() + 1;
        let mut room = vec![0; first];
        let gone = stream(&campaign(), "C", &mut &mut room[..]);
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
