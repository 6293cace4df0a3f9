//! What the service sends by itself.

use crate::client::Client;
use crate::dockets::{check_docket_id, fetch_docket, is_completed};
use crate::exact::Comparison;
use crate::json::{Object, Value};
use crate::problem::problem;
use crate::settings::max_delivery_bytes;
use crate::transport::Transport;
use crate::types::{
    CallOptions, Docket, DocketCompleted, DocketInsights, RequestError, Verification,
    VerifiedCompletion,
};

/// The members of a docket that do not change any more when it is completed.
const STABLE: [&str; 13] = [
    "agent_name",
    "call_context",
    "call_type",
    "closed_at",
    "closed_call_id",
    "closure_reason",
    "created_at",
    "docket_id",
    "external_id",
    "first_called_at",
    "from_number",
    "status",
    "to_phone_number",
];

/// `webhooks.parse-docket-completed` of a component, whose bound is in the environment.
pub fn parse_in_environment(
    environment: Vec<(String, String)>,
    body: &str,
) -> Result<Option<DocketCompleted>, RequestError> {
    parse_docket_completed(body, max_delivery_bytes(environment)?)
}

/// `webhooks.parse-docket-completed`, for a body of at most `max_bytes`, which the setting
/// `MAX_DELIVERY_BYTES` says.
pub fn parse_docket_completed(
    body: &str,
    max_bytes: usize,
) -> Result<Option<DocketCompleted>, RequestError> {
    if body.len() > max_bytes {
        let allowed = format!("at most {max_bytes} bytes (VOICE_CALLING_MAX_DELIVERY_BYTES)");
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
/// not either, which may well name their docket: a completion is recognised by what only
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
        let max_bytes = operation.settings.max_delivery_bytes;
        let Some(delivered) = parse_docket_completed(body, max_bytes)? else {
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
    let is_completed = is_completed(&docket);
    if !is_completed {
        contradicted.push("status".to_owned());
    }
    let members = |json| Value::parse(json).and_then(Value::to_object);
    // Both were objects before.
    if let (Ok(claims), Ok(facts)) = (members(&delivered.raw_json), members(&docket.raw_json)) {
        let (mut claimed, mut known) = (claims.by_name(), facts.by_name());
        for name in claims.names() {
            let claimed = claimed.take(&name);
            // A name that comes again is one member.
            if claimed.is_empty() {
                continue;
            }
            let known = match &*name {
                // The docket is the one that the delivery names last.
                "docket_id" => Vec::from_iter(claims.member("docket_id")),
                _ => known.take(&name),
            };
            let comparison = (!known.is_empty()).then(|| compare_members(&claimed, &known));
            match comparison {
                Some(Comparison::Same) => {}
                // It was found to be not completed.
                _ if name == "status" && !is_completed => {}
                Some(Comparison::Different) if STABLE.contains(&&*name) => {
                    contradicted.push(name.into_owned());
                }
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

/// Compares the values that two objects have for a name. One that comes again is never confirmed,
/// since the receiver's parser may take either value.
fn compare_members(claims: &[Value<'_>], facts: &[Value<'_>]) -> Comparison {
    if let ([claim], [fact]) = (claims, facts) {
        return claim.compare(*fact);
    }
    let mut pairs = claims.iter().flat_map(|claim| {
        let facts = facts.iter();
        facts.map(|fact| claim.compare(*fact))
    });
    match pairs.any(|pair| pair == Comparison::Different) {
        true => Comparison::Different,
        false => Comparison::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DEFAULT_MAX_DELIVERY_BYTES;
    use crate::simulation::{Step, World, take_apart};

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

    /// A JSON object with the docket's id and these members.
    fn with_id(members: &str) -> String {
        format!(r#"{{"docket_id":"{DOCKET_ID}",{members}}}"#)
    }

    fn answered() -> String {
        with_id(
            r#""call_insights":{"call_disposition":"INTERESTED","call_metadata":{"amount":0.10}},"call_context":{"id":12345678901234567890},"attempts":[{"n":1}],"dashboard_url":"https://dash.example/1","new":null"#,
        )
    }

    fn parsed(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
        parse_docket_completed(body, DEFAULT_MAX_DELIVERY_BYTES)
    }

    fn completed(body: &str) -> DocketCompleted {
        parsed(body)
            .unwrap()
            .unwrap_or_else(|| panic!("no completion: {body}"))
    }

    // ---------------------------------------------------------------- parsing

    #[test]
    fn a_completion_is_read_whole() {
        let docket = completed(&answered());
        assert_eq!(docket.docket_id, DOCKET_ID);
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
        let dashboard_url = docket.dashboard_url.as_deref();
        assert_eq!(dashboard_url, Some("https://dash.example/1"));
        assert_eq!(docket.raw_json, answered());
    }

    #[test]
    fn where_nobody_picked_up_there_are_no_insights_and_no_dashboard() {
        let docket = completed(&with_id(
            r#""call_insights":null,"call_context":{},"attempts":[{"n":1}],"dashboard_url":null"#,
        ));
        assert_eq!((docket.call_insights, docket.dashboard_url), (None, None));
    }

    #[test]
    fn odd_values_cost_only_themselves() {
        let docket = completed(&with_id(
            r#""call_insights":{"call_disposition":7,"call_metadata":"m"},"call_context":"c","attempts":{"1":2},"dashboard_url":3"#,
        ));
        let insights = docket.call_insights.unwrap();
        assert_eq!(
            (insights.call_disposition, insights.call_metadata),
            (None, None)
        );
        assert_eq!((docket.call_context, docket.dashboard_url), (None, None));
        assert_eq!(docket.attempts.as_deref(), Some(r#"{"1":2}"#));
        let docket = completed(&with_id(
            r#""status":"COMPLETED","call_insights":[],"attempts":null"#,
        ));
        assert_eq!((docket.call_insights, docket.attempts), (None, None));
    }

    #[test]
    fn a_completion_has_evidence_that_the_docket_is_done() {
        for (members, is_one) in [
            (r#""attempts":[{"n":1}]"#, true),
            (r#""attempts":{"1":{"n":1}}"#, true),
            (r#""dashboard_url":"https://dash.example""#, true),
            (r#""call_insights":{"call_disposition":"BUSY"}"#, true),
            (r#""status":"COMPLETED""#, true),
            (r#""status":"COMPLETED","attempts":[]"#, true),
            (r#""status":"ARCHIVED","attempts":[1]"#, true),
            (
                r#""status":"OPEN","attempts":[1],"dashboard_url":"x""#,
                false,
            ),
            (r#""status":"IN_PROGRESS","attempts":[1]"#, false),
            (r#""status":"ARCHIVED""#, false),
            (r#""attempts":[]"#, false),
            (r#""attempts":[{"n":null}]"#, false),
            (r#""attempts":null"#, false),
            (r#""dashboard_url":"""#, false),
            (r#""dashboard_url":true"#, false),
            (r#""call_insights":null"#, false),
            (r#""call_insights":{"call_disposition":""}"#, false),
            (r#""call_insights":{"call_disposition":7}"#, false),
            (
                r#""event":"call.ended","call_insights":{"metadata":{"n":1}}"#,
                false,
            ),
        ] {
            let parsed = parsed(&with_id(members)).unwrap();
            assert_eq!(parsed.is_some(), is_one, "{members}");
        }
    }

    #[test]
    fn what_is_no_completion_is_told_apart_from_what_is_broken() {
        for other in [
            "null",
            "7",
            "[]",
            "{}",
            r#"{"event":"call.started","task_id":"t"}"#,
            r#"{"attempts":[1],"dashboard_url":"x"}"#,
            r#"{"docket_id":"d"}"#,
        ] {
            assert_eq!(parsed(other), Ok(None), "{other}");
        }
        for (broken, subject) in [
            ("", "body"),
            ("{", "body"),
            ("docket", "body"),
            (r#"{"docket_id":"d","attempts":[1]}"#, "body.docket_id"),
            (r#"{"docket_id":7,"attempts":[1]}"#, "body.docket_id"),
            (r#"{"docket_id":"","attempts":[1]}"#, "body.docket_id"),
            (
                r#"{"docket_id":null,"status":"COMPLETED"}"#,
                "body.docket_id",
            ),
        ] {
            let (case, failure) = take_apart(parsed(broken).unwrap_err());
            assert_eq!(case, "permanent-invalid-input");
            assert_eq!(failure.problem.unwrap().subject, subject, "{broken}");
        }
    }

    #[test]
    fn a_delivery_may_have_as_many_bytes_as_the_setting_allows() {
        let padded = |bytes: usize| format!("null{}", " ".repeat(bytes - 4));
        assert_eq!(parsed(&padded(1_048_576)), Ok(None));
        let by_default = parsed(&padded(1_048_577)).unwrap_err();
        let world = World::default();
        let client = world.client(&[("MAX_DELIVERY_BYTES", "9")]);
        assert!(
            world
                .run(client.verify_docket_completed(&padded(9), None))
                .is_ok()
        );
        let as_set = world.run(client.verify_docket_completed(&padded(10), None));
        for (error, found, allowed) in [
            (by_default, "1048577 bytes", "at most 1048576 bytes"),
            (as_set.unwrap_err(), "10 bytes", "at most 9 bytes"),
        ] {
            let problem = take_apart(error).1.problem.unwrap();
            assert_eq!((&*problem.subject, &*problem.found), ("body", found));
            assert!(problem.allowed.starts_with(allowed), "{}", problem.allowed);
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let body = answered();
        for end in 0..body.len() {
            let _ = parsed(&body[..end]);
            for odd in ["\0", "\"", "\\", "{", "\u{fffd}"] {
                let mut changed = body.clone();
                changed.replace_range(end..=end, odd);
                let _ = parsed(&changed);
            }
        }
    }

    // ----------------------------------------------------------- verification

    fn verify(delivery: &str, docket: Step) -> (World, Result<Verification, RequestError>) {
        let world = World::with_script([docket]);
        let client = world.client(&[]);
        let result = world.run(client.verify_docket_completed(delivery, None));
        (world, result)
    }

    /// What a docket with these members contradicts of a delivery with these, and what it cannot
    /// confirm.
    fn compared(delivered: &str, fetched: &str) -> (Vec<String>, Vec<String>) {
        let delivery = with_id(&format!(r#""status":"COMPLETED",{delivered}"#));
        let docket = Step::ok(&with_id(fetched));
        match verify(&delivery, docket).1.unwrap() {
            Verification::Confirmed(completion) => {
                assert!(completion.contradicted.is_empty());
                (completion.contradicted, completion.unverified)
            }
            Verification::Contradicted(completion) => {
                assert!(!completion.contradicted.is_empty());
                (completion.contradicted, completion.unverified)
            }
            Verification::NotACompletion => panic!("{delivery}"),
        }
    }

    #[test]
    fn a_docket_confirms_contradicts_or_cannot_verify_each_member_of_a_delivery() {
        let done = r#""status":"COMPLETED""#;
        for (delivered, fetched, contradicted, unverified) in [
            (
                r#""call_context":{"a":1}"#,
                r#""call_context":{"a":1.0}"#,
                "",
                "",
            ),
            (
                r#""call_context":{"a":1}"#,
                r#""call_context":{"a":2}"#,
                "call_context",
                "",
            ),
            (
                r#""call_context":{"a":1}"#,
                r#""call_context":null"#,
                "call_context",
                "",
            ),
            (
                r#""call_context":null"#,
                r#""call_context":{}"#,
                "call_context",
                "",
            ),
            (r#""call_context":{"a":1}"#, r#""x":1"#, "", "call_context"),
            (
                r#""attempts":[1],"dashboard_url":"x","call_insights":{"call_disposition":"BUSY"},"new":1"#,
                r#""x":1"#,
                "",
                "attempts dashboard_url call_insights new",
            ),
            (
                r#""external_id":"a""#,
                r#""external_id":"b""#,
                "external_id",
                "",
            ),
            (
                r#""to_phone_number":"1""#,
                r#""to_phone_number":"1""#,
                "",
                "",
            ),
            (
                r#""closure_reason":"A","closed_at":"1""#,
                r#""closed_at":"2","closure_reason":"B""#,
                "closure_reason closed_at",
                "",
            ),
            // These go on changing.
            (
                r#""updated_at":"1""#,
                r#""updated_at":"2""#,
                "",
                "updated_at",
            ),
            (
                r#""notification_status":"1""#,
                r#""notification_status":"2""#,
                "",
                "notification_status",
            ),
            // A name that comes again is one member, and is never confirmed: the receiver's
            // parser may take the first.
            (
                r#""external_id":"b","external_id":"a""#,
                r#""external_id":"b""#,
                "external_id",
                "",
            ),
            (
                r#""external_id":"a","external_id":"b""#,
                r#""external_id":"b""#,
                "external_id",
                "",
            ),
            (
                r#""external_id":"b","external_id":"b""#,
                r#""external_id":"b""#,
                "",
                "external_id",
            ),
            (
                r#""call_context":{"a":1,"a":2}"#,
                r#""call_context":{"a":2}"#,
                "call_context",
                "",
            ),
            (
                r#""call_context":{"a":1,"a":2}"#,
                r#""call_context": {"a":1, "a":2}"#,
                "",
                "call_context",
            ),
            (r#""new":1,"new":2"#, r#""x":1"#, "", "new"),
            // Amounts are compared to the last digit.
            (
                r#""call_context":{"amount":12345678901234678.67}"#,
                r#""call_context":{"amount":12345678901234678.66}"#,
                "call_context",
                "",
            ),
            (
                r#""call_context":{"amount":9007199254740993}"#,
                r#""call_context":{"amount":9007199254740992.0}"#,
                "call_context",
                "",
            ),
        ] {
            let (denied, open) = compared(delivered, &format!("{done},{fetched}"));
            assert_eq!(denied.join(" "), contradicted, "{delivered} {fetched}");
            assert_eq!(open.join(" "), unverified, "{delivered} {fetched}");
        }
    }

    #[test]
    fn a_delivery_that_names_two_dockets_is_contradicted() {
        let other = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e12";
        let delivery =
            format!(r#"{{"docket_id":"{other}","status":"COMPLETED","docket_id":"{DOCKET_ID}"}}"#);
        let docket = Step::ok(&with_id(r#""status":"COMPLETED""#));
        let Ok(Verification::Contradicted(completion)) = verify(&delivery, docket).1 else {
            panic!("confirmed")
        };
        assert_eq!(completion.contradicted, ["docket_id"]);
    }

    #[test]
    fn a_docket_that_is_not_completed_contradicts_any_delivery() {
        for (fetched, contradicted) in [
            (r#""status":"IN_PROGRESS""#, "status"),
            (r#""status":"OPEN","closed_at":"2026-01-02""#, "status"),
            (r#""status":"ARCHIVED""#, "status"),
            (r#""closed_at":"2026-01-02""#, ""),
        ] {
            let (denied, _) = compared(r#""x":1"#, fetched);
            assert_eq!(denied.join(" "), contradicted, "{fetched}");
        }
    }

    #[test]
    fn a_docket_is_fetched_as_get_docket_does() {
        let docket = Step::ok(&with_id(r#""status":"COMPLETED""#));
        let (world, result) = verify(&answered(), docket);
        assert!(
            matches!(result, Ok(Verification::Confirmed(_))),
            "{result:?}"
        );
        let sent = world.sent().pop().unwrap().request;
        assert_eq!(
            sent.path_and_query,
            format!("/voice/api/v1/dockets/{DOCKET_ID}")
        );
        let accept = ("accept", "application/json".to_owned());
        assert_eq!(sent.headers[1], accept);
    }

    #[test]
    fn what_is_no_completion_or_broken_asks_nobody() {
        let docket = || Step::ok(&with_id(r#""status":"COMPLETED""#));
        let (world, result) = verify("{}", docket());
        assert_eq!(result, Ok(Verification::NotACompletion));
        assert!(world.sent().is_empty());
        let (world, result) = verify("{", docket());
        assert_eq!(take_apart(result.unwrap_err()).0, "permanent-invalid-input");
        assert!(world.sent().is_empty());
    }

    #[test]
    fn errors_of_fetching_the_docket_are_those_of_verifying() {
        for (step, expected) in [
            (Step::status(404), "permanent-not-found"),
            (Step::status(401), "permanent-unauthorized"),
            (Step::status(503), "unavailable"),
            (
                Step::ok(r#"{"docket_id":"d"}"#),
                "permanent-unexpected-response",
            ),
        ] {
            let (_, result) = verify(&answered(), step);
            assert_eq!(take_apart(result.unwrap_err()).0, expected);
        }
    }

    #[test]
    fn equal_contexts_are_confirmed_although_they_are_deep_or_long() {
        let deep = format!("{}1{}", r#"{"a":["#.repeat(50), "]}".repeat(50));
        let long = format!(r#"{{"a":[{}]}}"#, vec!["1"; 10_001].join(","));
        for context in [deep, long] {
            let spaced = context.replace(',', ", ").replace(':', " : ");
            let (denied, open) = compared(
                &format!(r#""call_context":{context}"#),
                &format!(r#""status":"COMPLETED","call_context":{spaced}"#),
            );
            assert_eq!((denied.len(), open.len()), (0, 0));
        }
    }

    #[test]
    fn a_delivery_of_very_many_members_is_compared_in_no_time() {
        let members: Vec<_> = (0..90_000)
            .map(|index| format!(r#""m{index}":0"#))
            .collect();
        let (denied, open) = compared(&members.join(","), r#""status":"COMPLETED""#);
        assert_eq!((denied.len(), open.len()), (0, 90_000));
    }
}
