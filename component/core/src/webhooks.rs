//! Deliveries of the service to the caller's webhook.

use crate::client::Client;
use crate::dockets::{check_docket_id, is_completed};
use crate::exact::Comparison;
use crate::json::{Object, Value};
use crate::ledger::Ledger;
use crate::problem::problem;
use crate::settings::max_delivery_bytes;
use crate::transport::Transport;
use crate::types::{
    CallOptions, Docket, DocketCompleted, DocketInsights, Failure, Verification, VerifiedCompletion,
};
use std::mem;

/// The members of a docket that no longer change once it is completed.
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

/// Implements `webhooks.parse-docket-completed` of a component, whose size limit is in the
/// environment.
pub fn parse_in_environment(
    environment: Vec<(String, String)>,
    body: &str,
) -> Result<Option<DocketCompleted>, Failure> {
    parse_docket_completed(body, max_delivery_bytes(environment)?)
}

/// Implements `webhooks.parse-docket-completed`, for a body of at most `max_bytes`, the value of
/// the setting `MAX_DELIVERY_BYTES`.
pub fn parse_docket_completed(
    body: &str,
    max_bytes: usize,
) -> Result<Option<DocketCompleted>, Failure> {
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

/// Returns `true` if a delivery reports a completed docket. Its envelope is not specified, nor is
/// the form of call-level webhooks, which may well name their docket: a completion is recognised by
/// members that only a docket as a whole has, once it is done.
fn is_completion(payload: &Object<'_>) -> bool {
    let has_text =
        |object: &Object<'_>, name| object.text(name).is_some_and(|text| !text.is_empty());
    let insights = payload.object("call_insights");
    payload.member("docket_id").is_some()
        && match payload.text("status").as_deref() {
            Some("COMPLETED") => true,
            Some("OPEN" | "IN_PROGRESS") => false,
            _ => {
                payload.member("attempts").is_some_and(Value::has_content)
                    || has_text(payload, "dashboard_url")
                    || insights.is_some_and(|insights| has_text(&insights, "call_disposition"))
            }
        }
}

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Implements `webhooks.verify-docket-completed`.
    pub async fn verify_docket_completed(
        &self,
        body: &str,
        options: Option<CallOptions>,
    ) -> Result<Verification, Failure> {
        let operation = self.begin(options)?;
        let max_bytes = operation.settings.max_delivery_bytes;
        let Some(delivered) = parse_docket_completed(body, max_bytes)? else {
            return Ok(Verification::NotACompletion);
        };
        let docket = self.fetch_docket(&operation, &delivered.docket_id).await?;
        let completion = compare(delivered, docket);
        Ok(match completion.contradicted.is_empty() {
            true => Verification::Confirmed(completion),
            false => Verification::Contradicted(completion),
        })
    }
}

/// Compares each member of a delivery with the docket as fetched.
fn compare(delivered: DocketCompleted, docket: Docket) -> VerifiedCompletion {
    let (mut contradicted, mut unverified) = (Vec::new(), Vec::new());
    let is_completed = is_completed(&docket);
    if !is_completed {
        contradicted.push("status".to_owned());
    }
    let members = |json| Value::parse(json).and_then(Value::to_object);
    // Both were parsed as objects before.
    if let (Ok(claims), Ok(facts)) = (members(&delivered.raw_json), members(&docket.raw_json)) {
        let (mut claimed, known) = (claims.by_name(), facts.by_name());
        for name in claims.names() {
            let claimed = claimed.get_mut(&name).map(mem::take).unwrap_or_default();
            // A repeated name was handled with its first occurrence.
            if claimed.is_empty() {
                continue;
            }
            let known = match &*name {
                // The docket was fetched by the last id in the delivery.
                "docket_id" => Vec::from_iter(claims.member("docket_id")),
                _ => known.get(&name).cloned().unwrap_or_default(),
            };
            let comparison = (!known.is_empty()).then(|| compare_members(&claimed, &known));
            match comparison {
                Some(Comparison::Same) => {}
                // The docket was found not to be completed.
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

/// Compares the values that two objects have for a name. A repeated name is never confirmed, since
/// the receiver's parser may use either value.
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
    use crate::simulation::{DOCKET_ID, Step, World, assert_refused, rows};

    /// Returns a JSON object with the docket's id and these members.
    fn with_id(members: &str) -> String {
        format!(r#"{{"docket_id":"{DOCKET_ID}",{members}}}"#)
    }

    fn parsed(body: &str) -> Result<Option<DocketCompleted>, Failure> {
        parse_docket_completed(body, DEFAULT_MAX_DELIVERY_BYTES)
    }

    /// Members of a delivery, and whether they are evidence that its docket is done.
    const EVIDENCE: &str = r#"
        "attempts":[{"n":1}] | yes
        "attempts":{"1":{"n":1}} | yes
        "dashboard_url":"https://dash.example" | yes
        "call_insights":{"call_disposition":"BUSY"} | yes
        "status":"COMPLETED" | yes
        "status":"COMPLETED","attempts":[] | yes
        "status":"ARCHIVED","attempts":[1] | yes
        "status":"OPEN","attempts":[1],"dashboard_url":"x" | no
        "status":"IN_PROGRESS","attempts":[1] | no
        "status":"ARCHIVED" | no
        "attempts":[] | no
        "attempts":[{"n":null}] | no
        "attempts":null | no
        "dashboard_url":"" | no
        "dashboard_url":true | no
        "call_insights":null | no
        "call_insights":{"call_disposition":""} | no
        "call_insights":{"call_disposition":7} | no
        "event":"call.ended","call_insights":{"metadata":{"n":1}} | no"#;

    #[test]
    fn a_delivery_is_a_completion_if_it_shows_that_the_docket_is_done() {
        for [members, is_one] in rows(EVIDENCE) {
            let parsed = parsed(&with_id(members)).unwrap();
            assert_eq!(parsed.is_some(), is_one == "yes", "{members}");
        }
    }

    /// A delivery, the part of it at fault, and what was found.
    const BROKEN: &str = r#"
        | body | not JSON: EOF while parsing a value at line 1 column 0
        {"docket_id":"d" | body | not JSON: EOF while parsing an object at line 1 column 16
        {"docket_id":7,"attempts":[1]} | body.docket_id | `docket_id` is a number; expected a non-empty string
        {"docket_id":"","attempts":[1]} | body.docket_id | `docket_id` is an empty string; expected a non-empty string
        {"docket_id":"crm-1001","attempts":[1]} | body.docket_id | "crm-1001""#;

    #[test]
    fn a_delivery_that_is_broken_is_refused_and_not_verified() {
        assert_refused(BROKEN, async |client, delivery| {
            let failure = parsed(delivery).unwrap_err();
            let verified = client.verify_docket_completed(delivery, None).await;
            assert_eq!(verified, Err(failure.clone()));
            Err(failure)
        });
    }

    #[test]
    fn a_delivery_larger_than_the_setting_is_refused() {
        let padded = |bytes: usize| format!("null{}", " ".repeat(bytes - 4));
        assert_eq!(parsed(&padded(1_048_576)), Ok(None));
        let by_default = parsed(&padded(1_048_577)).unwrap_err();
        let variable = ("VOICE_CALLING_MAX_DELIVERY_BYTES".into(), "9".into());
        let in_environment = |body: &str| parse_in_environment(vec![variable.clone()], body);
        assert_eq!(in_environment(&padded(9)), Ok(None));
        let world = World::default();
        let client = world.client(&[("MAX_DELIVERY_BYTES", "9")]);
        let verify = |body: &str| world.run(client.verify_docket_completed(body, None));
        assert_eq!(verify(&padded(9)), Ok(Verification::NotACompletion));
        for (error, found, allowed) in [
            (by_default, "1048577 bytes", "at most 1048576 bytes"),
            (
                in_environment(&padded(10)).unwrap_err(),
                "10 bytes",
                "at most 9 bytes",
            ),
            (
                verify(&padded(10)).unwrap_err(),
                "10 bytes",
                "at most 9 bytes",
            ),
        ] {
            let problem = error.problem.unwrap();
            assert_eq!((&*problem.subject, &*problem.found), ("body", found));
            assert!(problem.allowed.starts_with(allowed), "{}", problem.allowed);
        }
    }

    fn verify(delivery: &str, docket: Step) -> Verification {
        let world = World::with_script([docket]);
        let client = world.client(&[]);
        let verified = world.run(client.verify_docket_completed(delivery, None));
        verified.unwrap()
    }

    /// Returns the members of a delivery that a docket with these members contradicts, and those
    /// that it cannot confirm.
    fn compared(delivered: &str, fetched: &str) -> (Vec<String>, Vec<String>) {
        let delivery = with_id(&format!(r#""status":"COMPLETED",{delivered}"#));
        let docket = Step::ok(&with_id(fetched));
        match verify(&delivery, docket) {
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

    /// The members of a delivery, the members of the docket, those that it contradicts, and those
    /// that it cannot confirm.
    const COMPARISONS: &str = r#"
        "call_context":{"a":1} | "call_context":{"a":1.0} | |
        "call_context":{"a":1} | "call_context":{"a":2} | call_context |
        "call_context":{"a":1} | "call_context":null | call_context |
        "call_context":null | "call_context":{} | call_context |
        "call_context":{"a":1} | "x":1 | | call_context
        "attempts":[1],"dashboard_url":"x","call_insights":{"call_disposition":"BUSY"},"new":1 | "x":1 | | attempts dashboard_url call_insights new
        "external_id":"a" | "external_id":"b" | external_id |
        "to_phone_number":"1" | "to_phone_number":"1" | |
        "closure_reason":"A","closed_at":"1" | "closed_at":"2","closure_reason":"B" | closure_reason closed_at |

        These go on changing.
        "updated_at":"1" | "updated_at":"2" | | updated_at
        "notification_status":"1" | "notification_status":"2" | | notification_status

        A name that comes again is one member, and is never confirmed: the receiver's parser may take the first.
        "external_id":"b","external_id":"a" | "external_id":"b" | external_id |
        "external_id":"a","external_id":"b" | "external_id":"b" | external_id |
        "external_id":"b","external_id":"b" | "external_id":"b" | | external_id
        "call_context":{"a":1,"a":2} | "call_context":{"a":2} | call_context |
        "call_context":{"a":1,"a":2} | "call_context": {"a":1, "a":2} | | call_context
        "new":1,"new":2 | "x":1 | | new"#;

    #[test]
    fn a_docket_confirms_contradicts_or_cannot_verify_each_member_of_a_delivery() {
        for [delivered, fetched, contradicted, unverified] in rows(COMPARISONS) {
            let (denied, open) = compared(delivered, &format!(r#""status":"COMPLETED",{fetched}"#));
            let compared = [denied, open].map(|names| names.join(" "));
            assert_eq!(compared, [contradicted, unverified], "{delivered}");
        }
    }

    #[test]
    fn a_docket_that_is_not_completed_contradicts_the_status_alone() {
        let delivery = with_id(r#""status":"COMPLETED""#);
        let Verification::Contradicted(completion) = verify(&delivery, Step::docket("OPEN")) else {
            panic!("confirmed")
        };
        assert_eq!(completion.contradicted, ["status"]);
        assert_eq!(completion.unverified, [""; 0]);
    }

    #[test]
    fn a_delivery_that_names_two_dockets_is_contradicted() {
        let other = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e12";
        let delivery =
            format!(r#"{{"docket_id":"{other}","status":"COMPLETED","docket_id":"{DOCKET_ID}"}}"#);
        let verified = verify(&delivery, Step::docket("COMPLETED"));
        let Verification::Contradicted(completion) = verified else {
            panic!("confirmed")
        };
        assert_eq!(completion.contradicted, ["docket_id"]);
    }

    #[test]
    fn a_delivery_of_90000_members_is_compared_in_linear_time() {
        let members: Vec<_> = (0..90_000)
            .map(|index| format!(r#""m{index}":0"#))
            .collect();
        let (denied, open) = compared(&members.join(","), r#""status":"COMPLETED""#);
        assert_eq!((denied.len(), open.len()), (0, 90_000));
    }
}
