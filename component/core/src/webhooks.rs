//! What the service sends by itself.

use crate::json::{Object, Value};
use crate::types::{DocketCompleted, DocketInsights, InvalidInput, RequestError};

/// `webhooks.parse-docket-completed`
pub fn parse_docket_completed(body: &[u8]) -> Result<Option<DocketCompleted>, RequestError> {
    let broken = |field: &str, found: String, allowed: &str| {
        RequestError::PermanentInvalidInput(InvalidInput {
            field: field.to_owned(),
            found,
            allowed: allowed.to_owned(),
        })
    };
    let text = String::from_utf8_lossy(body);
    let payload = Value::parse(&text).map_err(|found| broken("body", found, "JSON"))?;
    if !payload.is_object() {
        return Ok(None);
    }
    let payload = payload
        .to_object()
        .map_err(|found| broken("body", found, "an object of a docket's members"))?;
    if !is_completion(&payload) {
        return Ok(None);
    }
    let docket_id = payload
        .identifier("docket_id")
        .map_err(|found| broken("body.docket_id", found, "a text that is not empty"))?;
    Ok(Some(DocketCompleted {
        docket_id,
        call_insights: payload
            .object("call_insights")
            .map(|insights| DocketInsights {
                call_disposition: insights.text("call_disposition"),
                call_metadata: insights.object_json("call_metadata"),
                raw_json: insights.json(),
            }),
        call_context: payload.object_json("call_context"),
        attempts: payload.any_json("attempts"),
        dashboard_url: payload.text("dashboard_url"),
        raw_json: payload.json(),
    }))
}

/// The envelope is not specified, and there are call-level webhooks whose shape is
/// not either, which may well name their docket: a completion is told by what only
/// a docket as a whole has.
fn is_completion(payload: &Object<'_>) -> bool {
    let has = |name| payload.member(name).is_some();
    let insights = payload.member("call_insights");
    let of_docket = insights.is_some_and(|insights| {
        insights.is_null()
            || insights
                .to_object()
                .is_ok_and(|insights| insights.member("call_disposition").is_some())
    });
    has("docket_id") && (has("attempts") || has("dashboard_url") || of_docket)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: &str = r#"{"docket_id":"d","call_insights":{"call_disposition":"INTERESTED","call_metadata":{"amount":0.10}},"call_context":{"id":12345678901234567890},"attempts":[{"n":1}],"dashboard_url":"https://dash.example/1","new":null}"#;

    fn parse(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
        parse_docket_completed(body.as_bytes())
    }

    fn completed(body: &str) -> DocketCompleted {
        parse(body)
            .unwrap()
            .unwrap_or_else(|| panic!("no completion: {body}"))
    }

    #[test]
    fn a_completion_is_read_whole() {
        let docket = completed(ANSWERED);
        assert_eq!(docket.docket_id, "d");
        let insights = docket.call_insights.unwrap();
        assert_eq!(insights.call_disposition.as_deref(), Some("INTERESTED"));
        assert_eq!(
            insights.call_metadata.as_deref(),
            Some(r#"{"amount":0.10}"#)
        );
        assert_eq!(
            docket.call_context.as_deref(),
            Some(r#"{"id":12345678901234567890}"#)
        );
        assert_eq!(docket.attempts.as_deref(), Some(r#"[{"n":1}]"#));
        assert_eq!(
            docket.dashboard_url.as_deref(),
            Some("https://dash.example/1")
        );
        assert_eq!(docket.raw_json, ANSWERED);
    }

    #[test]
    fn nobody_picked_up_means_no_insights_and_no_dashboard() {
        let docket = completed(
            r#"{"docket_id":"d","call_insights":null,"call_context":{},"attempts":[],"dashboard_url":null}"#,
        );
        assert_eq!((docket.call_insights, docket.dashboard_url), (None, None));
        assert_eq!(
            completed(r#"{"docket_id":"d","call_insights":null}"#).attempts,
            None
        );
    }

    #[test]
    fn odd_values_cost_only_themselves() {
        let docket = completed(
            r#"{"docket_id":"d","call_insights":{"call_disposition":7,"call_metadata":"m"},"call_context":"c","attempts":{"1":2},"dashboard_url":3}"#,
        );
        let insights = docket.call_insights.unwrap();
        assert_eq!(
            (insights.call_disposition, insights.call_metadata),
            (None, None)
        );
        assert_eq!((docket.call_context, docket.dashboard_url), (None, None));
        assert_eq!(docket.attempts.as_deref(), Some(r#"{"1":2}"#));
        let docket = completed(r#"{"docket_id":"d","call_insights":[],"attempts":null}"#);
        assert_eq!((docket.call_insights, docket.attempts), (None, None));
    }

    #[test]
    fn what_is_no_completion_is_told_apart_from_what_is_broken() {
        for other in [
            "null",
            "7",
            "[]",
            "{}",
            r#"{"event":"call.started","task_id":"t"}"#,
            r#"{"docket_id":"d","event":"call.ended","call_insights":{"metadata":{}}}"#,
            r#"{"attempts":[],"dashboard_url":null}"#,
        ] {
            assert_eq!(parse(other), Ok(None), "{other}");
        }
        for (broken, field) in [
            ("", "body"),
            ("{", "body"),
            ("docket", "body"),
            (r#"{"docket_id":7,"attempts":[]}"#, "body.docket_id"),
            (r#"{"docket_id":"","attempts":[]}"#, "body.docket_id"),
            (
                r#"{"docket_id":null,"call_insights":null}"#,
                "body.docket_id",
            ),
        ] {
            let Err(RequestError::PermanentInvalidInput(input)) = parse(broken) else {
                panic!("{broken}")
            };
            assert_eq!(input.field, field, "{broken}");
        }
        assert!(parse_docket_completed(b"\xff").is_err());
    }

    #[test]
    fn a_broken_character_costs_only_itself() {
        let body = b"{\"docket_id\":\"d\",\"attempts\":[],\"call_context\":{\"name\":\"Ash\xff\"}}";
        let docket = parse_docket_completed(body).unwrap().unwrap();
        assert_eq!(docket.docket_id, "d");
        assert_eq!(
            docket.call_context.as_deref(),
            Some("{\"name\":\"Ash\u{fffd}\"}")
        );
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for end in 0..ANSWERED.len() {
            let _ = parse_docket_completed(&ANSWERED.as_bytes()[..end]);
            let mut bytes = ANSWERED.as_bytes().to_vec();
            for byte in [0, b'"', b'\\', b'{', 0xff] {
                bytes[end] = byte;
                let _ = parse_docket_completed(&bytes);
            }
        }
    }
}
