//! What the service sends by itself.

use crate::client::Client;
use crate::dockets::{check_docket_id, fetch_docket, is_completed};
use crate::failure::problem;
use crate::json::{Object, Value};
use crate::transport::Transport;
use crate::types::{
    CallOptions, Docket, DocketCompleted, DocketInsights, RequestError, Verification,
    VerifiedCompletion,
};

/// How large a delivery may be. It is in memory twice.
const MAX_BODY_BYTES: usize = 8_388_608;

/// The members of a docket that do not change any more when it is completed.
const STABLE: [&str; 11] = [
    "agent_name",
    "call_context",
    "call_type",
    "closed_at",
    "closed_call_id",
    "closure_reason",
    "created_at",
    "external_id",
    "first_called_at",
    "from_number",
    "to_phone_number",
];

/// `webhooks.parse-docket-completed`
pub fn parse_docket_completed(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
    if body.len() > MAX_BODY_BYTES {
        let allowed = format!("at most {MAX_BODY_BYTES} bytes");
        return Err(problem("body", format!("{} bytes", body.len()), allowed).into());
    }
    let payload = Value::parse(body).map_err(|found| problem("body", found, "JSON"))?;
    if !payload.is_object() {
        return Ok(None);
    }
    let payload = payload
        .to_object()
        .map_err(|found| problem("body", found, "an object of a docket's members"))?;
    if !is_completion(&payload) {
        return Ok(None);
    }
    let docket_id = payload
        .identifier("docket_id")
        .map_err(|found| problem("body.docket_id", found, "a UUID"))?;
    check_docket_id("body.docket_id", &docket_id)?;
    Ok(Some(DocketCompleted {
        docket_id,
        call_insights: payload
            .object("call_insights")
            .map(|insights| DocketInsights {
                call_disposition: insights.text("call_disposition"),
                call_metadata: insights.object_json("call_metadata"),
            }),
        call_context: payload.object_json("call_context"),
        attempts: payload.any_json("attempts"),
        dashboard_url: payload.text("dashboard_url"),
        raw_json: payload.json(),
    }))
}

/// The envelope is not specified, and there are call-level webhooks whose shape is
/// not either, which may well name their docket: a completion is told by what only
/// a docket as a whole has once it is done.
fn is_completion(payload: &Object<'_>) -> bool {
    let has_text =
        |object: &Object<'_>, name| object.text(name).is_some_and(|text| !text.is_empty());
    let insights = payload.object("call_insights");
    payload.member("docket_id").is_some()
        && match payload.text("status").as_deref() {
            Some("COMPLETED") => true,
            Some("OPEN" | "IN_PROGRESS") => false,
            _ => {
                payload.member("attempts").is_some_and(Value::is_evidence)
                    || has_text(payload, "dashboard_url")
                    || insights.is_some_and(|insights| has_text(&insights, "call_disposition"))
            }
        }
}

impl<T: Transport> Client<T> {
    /// `webhooks.verify-docket-completed`
    pub async fn verify_docket_completed(
        &self,
        body: &str,
        options: Option<CallOptions>,
    ) -> Result<Verification, RequestError> {
        let operation = self.begin(options)?;
        let Some(delivered) = parse_docket_completed(body)? else {
            return Ok(Verification::NotACompletion);
        };
        let docket = fetch_docket(&operation, &delivered.docket_id).await?;
        let completion = compare(delivered, docket);
        Ok(match completion.contradicted.is_empty() {
            true => Verification::Confirmed(completion),
            false => Verification::Contradicted(completion),
        })
    }
}

/// What a docket as fetched says about each member of a delivery.
fn compare(delivered: DocketCompleted, docket: Docket) -> VerifiedCompletion {
    let (mut contradicted, mut unverified) = (Vec::new(), Vec::new());
    if !is_completed(&docket) {
        contradicted.push("status".to_owned());
    }
    let members = |json| Value::parse(json).and_then(Value::to_object);
    // Both were objects before.
    if let (Ok(claims), Ok(facts)) = (members(&delivered.raw_json), members(&docket.raw_json)) {
        for name in claims.names() {
            let (claim, fact) = (claims.member(&name), facts.member(&name));
            match (claim, fact) {
                _ if name == "docket_id" || name == "status" => {}
                (Some(claim), Some(fact)) if claim.is_same(fact) => {}
                (_, Some(_)) if STABLE.contains(&&*name) => contradicted.push(name.into_owned()),
                _ => unverified.push(name.into_owned()),
            }
        }
    }
    VerifiedCompletion {
        delivered,
        docket,
        contradicted,
        unverified,
    }
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
