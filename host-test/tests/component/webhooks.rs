//! Deliveries of the completion webhook, as the mock makes them and as nobody should.

use crate::failure::invalid_input;
use crate::operation::{DOCKET_ID, call, docket_v2, returned};
use crate::script::{Script, Step};
use crate::stage::{FREE_FORM, Stage, instance, loopback};
use crate::wire;
use serde_json::value::RawValue;
use std::time::Duration;
use voice_calling_host::types::*;
use voice_calling_mock::WebhookReceiver;
use voice_calling_mock::{CallStatus as Ended, NeverAnswered, NotificationKind, WebhookOptions};

/// Parses without any settings: nothing but the body counts.
async fn parsed(body: &str) -> Result<Option<DocketCompleted>, RequestError> {
    let mut instance = instance(&[], loopback()).await;
    returned(instance.parse_docket_completed(body)).await
}

/// A docket whose calls end so, all of them made; its id and what was delivered.
async fn delivered(script: Vec<Ended>, call_events: bool) -> (String, Vec<String>) {
    let mut receiver = WebhookReceiver::start().await;
    let url = receiver.url();
    let deliveries = script.len() * usize::from(call_events) + 1;
    let stage = Stage::changed(|options| {
        options.scripts.docket = script;
        options.webhook = Some(WebhookOptions {
            call_events,
            ..WebhookOptions::to(url)
        });
    })
    .await;
    let request = DocketRequestV2 {
        call_context: FREE_FORM.into(),
        ..docket_v2()
    };
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&request, None))
        .await
        .unwrap();
    stage.mock.complete_docket(&created.docket_id).unwrap();
    let mut bodies = Vec::new();
    for _ in 0..deliveries {
        bodies.push(receiver.next(Duration::from_secs(20)).await.unwrap());
    }
    (created.docket_id, bodies)
}

/// The text of a member, as it stands in a JSON object.
fn member(json: &str, name: &str) -> String {
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(json).unwrap();
    members[name].get().to_owned()
}

#[tokio::test]
async fn the_completion_of_an_answered_docket_has_all_its_fields() {
    let (docket_id, bodies) = delivered(vec![Ended::NoAnswer, Ended::Answered], false).await;
    let body = bodies[0].clone();
    let completed = parsed(&body).await.unwrap().unwrap();
    let metadata = r#"{"language":"en","policy_number":12345678901234567890,"amount_due":0.10,"callback_requested":false}"#;
    let attempts = member(&body, "attempts");
    assert_eq!(attempts.matches("call_id").count(), 2);
    let dashboard_url: String = serde_json::from_str(&member(&body, "dashboard_url")).unwrap();
    assert!(dashboard_url.starts_with("https://dashboard.voice.example/"));
    let expected = DocketCompleted {
        docket_id,
        call_insights: Some(DocketInsights {
            call_disposition: Some("INTERESTED".into()),
            call_metadata: Some(metadata.into()),
        }),
        call_context: Some(FREE_FORM.into()),
        attempts: Some(attempts),
        dashboard_url: Some(dashboard_url),
        raw_json: body,
    };
    assert_eq!(completed, expected);
}

#[tokio::test]
async fn the_completion_of_a_docket_that_nobody_answered_has_no_insights() {
    let (docket_id, bodies) = delivered(vec![Ended::Busy], false).await;
    let body = bodies[0].clone();
    let completed = parsed(&body).await.unwrap().unwrap();
    let expected = DocketCompleted {
        docket_id,
        call_insights: None,
        call_context: Some(FREE_FORM.into()),
        attempts: Some(member(&body, "attempts")),
        dashboard_url: None,
        raw_json: body,
    };
    assert_eq!(completed, expected);
}

#[tokio::test]
async fn what_is_told_of_single_calls_is_no_completion() {
    let (docket_id, bodies) = delivered(vec![Ended::NoAnswer, Ended::Answered], true).await;
    let mut found = Vec::new();
    for body in &bodies {
        found.push(
            parsed(body)
                .await
                .unwrap()
                .map(|completed| completed.docket_id),
        );
    }
    assert_eq!(found, [None, None, Some(docket_id)]);
}

#[tokio::test]
async fn what_is_told_of_a_direct_call_is_no_completion() {
    let mut receiver = WebhookReceiver::start().await;
    let url = receiver.url();
    let stage = Stage::changed(|options| {
        options.webhook = Some(WebhookOptions {
            call_events: true,
            ..WebhookOptions::to(url)
        });
        options.meanings.never_answered = NeverAnswered::Silent;
    })
    .await;
    let mut instance = stage.instance().await;
    let task_id = returned(instance.make_call(&call(), None))
        .await
        .unwrap()
        .task_id;
    stage.mock.complete_task(&task_id).unwrap();
    let body = receiver.next(Duration::from_secs(20)).await.unwrap();
    assert_eq!(parsed(&body).await.unwrap(), None);
    let kind = stage.mock.delivered(1).await[0].kind;
    assert_eq!(kind, NotificationKind::CallCompleted);
}

const ID: &str = r#""docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11""#;

#[tokio::test]
async fn json_that_is_no_completion_is_told_apart_from_broken() {
    for body in [
        "{}",
        "[]",
        "null",
        "7",
        "\"docket\"",
        r#"{"docket_id":"d"}"#,
        r#"{"docket_id":"d","call_insights":{}}"#,
        r#"{"docket_id":"d","call_insights":{"metadata":{}}}"#,
        r#"{"attempts":[{}],"dashboard_url":"https://d","status":"COMPLETED"}"#,
        r#"{"event":"call.completed","docket_id":"d","task_id":"t"}"#,
        // Nothing that says that the docket is done.
        r#"{"docket_id":"d","attempts":[],"dashboard_url":null,"call_insights":null}"#,
        r#"{"docket_id":"d","attempts":{},"call_insights":{"call_disposition":null}}"#,
        r#"{"docket_id":"d","status":"PAUSED"}"#,
        // What says that it is not counts more.
        r#"{"docket_id":"d","status":"OPEN","attempts":[{}]}"#,
        r#"{"docket_id":"d","status":"IN_PROGRESS","dashboard_url":"https://d"}"#,
    ] {
        assert_eq!(parsed(body).await.unwrap(), None, "{body}");
    }
}

#[tokio::test]
async fn a_completion_is_known_by_any_one_thing_that_says_that_the_docket_is_done() {
    for mark in [
        r#""attempts":[{"call_id":"c"}]"#,
        r#""dashboard_url":"https://dashboard.voice.example/c""#,
        r#""call_insights":{"call_disposition":"INTERESTED"}"#,
        r#""status":"COMPLETED""#,
        r#""status":"CLOSED","attempts":[1]"#,
    ] {
        let body = format!("{{{ID},{mark}}}");
        let completed = parsed(&body).await.unwrap();
        let docket_id = completed.map(|completed| completed.docket_id);
        assert_eq!(docket_id.as_deref(), Some(DOCKET_ID), "{mark}");
    }
}

#[tokio::test]
async fn odd_values_in_a_completion_cost_only_themselves() {
    for odd in ["true", "-0.5", "\"x\"", "[1]"] {
        let body = format!(
            r#"{{{ID},"status":"COMPLETED","attempts":{odd},"call_insights":{odd},"call_context":{odd},"dashboard_url":[{odd}],"more":{odd}}}"#
        );
        let completed = parsed(&body).await.unwrap().unwrap();
        let expected = DocketCompleted {
            docket_id: DOCKET_ID.into(),
            call_insights: None,
            call_context: None,
            attempts: Some(odd.into()),
            dashboard_url: None,
            raw_json: body,
        };
        assert_eq!(completed, expected);
    }
    let body = format!(
        r#"{{{ID},"status":"COMPLETED","call_insights":{{"call_disposition":7,"call_metadata":[]}}}}"#
    );
    let completed = parsed(&body).await.unwrap().unwrap();
    let insights = completed.call_insights.unwrap();
    assert_eq!(
        (insights.call_disposition, insights.call_metadata),
        (None, None)
    );
}

#[tokio::test]
async fn a_broken_delivery_is_bad_input_that_says_where() {
    for (body, subject) in [
        ("", "body"),
        ("not json", "body"),
        (r#"{"docket_id":"d","attempts":["#, "body"),
        (r#"{"docket_id":"d","attempts":[NaN]}"#, "body"),
        (r#"{"docket_id":"d","attempts":[]} trailing"#, "body"),
        (r#"{"docket_id":7,"attempts":[1]}"#, "body.docket_id"),
        (r#"{"docket_id":null,"attempts":[1]}"#, "body.docket_id"),
        (r#"{"docket_id":"","status":"COMPLETED"}"#, "body.docket_id"),
        (
            r#"{"docket_id":"docket-1","status":"COMPLETED"}"#,
            "body.docket_id",
        ),
        (
            r#"{"docket_id":"7f8d3b0e0d514f0c9a632f1a5c0d9e11","attempts":[1]}"#,
            "body.docket_id",
        ),
        (
            r#"{"docket_id":"\ud800","status":"COMPLETED"}"#,
            "body.docket_id",
        ),
    ] {
        let problem = invalid_input(parsed(body).await);
        assert_eq!(problem.subject, subject, "{body}");
        assert!(!problem.found.is_empty());
        // Nobody sends what is broken so to the service either.
        let script = Script::new([Step::ok("{}")]);
        let mut instance = script.instance(&[]).await;
        let verified = returned(instance.verify_docket_completed(body, None)).await;
        assert_eq!(invalid_input(verified), problem);
        assert!(script.sent().is_empty());
    }
}

#[tokio::test]
async fn a_delivery_has_at_most_a_mebibyte_unless_the_settings_allow_more() {
    let delivery = |bytes: usize| {
        let beginning = format!(r#"{{{ID},"status":"COMPLETED","more":""#);
        let rest = bytes - beginning.len() - 2;
        format!("{beginning}{}\"}}", "x".repeat(rest))
    };
    assert!(parsed(&delivery(1_048_576)).await.unwrap().is_some());
    let larger = delivery(1_048_577);
    let problem = invalid_input(parsed(&larger).await);
    assert_eq!(problem.subject, "body");
    assert_eq!(problem.found, "1048577 bytes");
    let settings = [("MAX_DELIVERY_BYTES", "1048577")];
    let script = Script::new([Step::status(404)]);
    let mut instance = script.instance(&settings).await;
    let as_set = returned(instance.verify_docket_completed(&larger, None)).await;
    assert_eq!(as_set.unwrap_err().case(), "permanent-not-found");
}

#[tokio::test]
async fn no_text_makes_the_component_panic() {
    let (_, bodies) = delivered(vec![Ended::Answered], false).await;
    let whole = &bodies[0];
    // One instance for all: a panic would end it.
    let mut instance = instance(&[], loopback()).await;
    for index in (0..whole.len()).filter(|index| whole.is_char_boundary(*index)) {
        let cut = instance.parse_docket_completed(&whole[..index]).await;
        assert!(cut.expect("no trap").is_err(), "cut at {index}");
        for put in ["\0", "\u{fffd}", "\"", "}", "\\"] {
            let rest = whole[index..].chars().next().map_or(0, char::len_utf8);
            let changed = format!("{}{put}{}", &whole[..index], &whole[index + rest..]);
            let parsed = instance.parse_docket_completed(&changed).await;
            parsed.expect("no trap").ok();
        }
    }
    let deep = "[".repeat(200_000);
    let parsed = instance.parse_docket_completed(&deep).await;
    assert!(parsed.expect("no trap").is_err());
    let closed = format!("{deep}{}", "]".repeat(200_000));
    let body = format!(r#"{{{ID},"status":"COMPLETED","attempts":{closed}}}"#);
    let parsed = instance.parse_docket_completed(&body).await;
    let completed = parsed.expect("no trap").unwrap().unwrap();
    assert!(completed.attempts == Some(closed));
    let parsed = instance.parse_docket_completed(whole).await;
    assert!(parsed.expect("no trap").unwrap().is_some());
}

// ------------------------------------------------------------------ verified

/// What the service in memory says of a delivery, and the paths of what it was asked.
async fn verified(
    delivery: &str,
    docket: Step,
) -> (Result<Verification, RequestError>, Vec<String>) {
    let script = Script::new([docket]);
    let mut instance = script.instance(&[]).await;
    let verification = returned(instance.verify_docket_completed(delivery, None)).await;
    let asked = script.sent().into_iter().map(|sent| {
        assert_eq!(sent.header("accept"), "application/json");
        format!("{} {}", sent.method, sent.path_and_query())
    });
    (verification, asked.collect())
}

fn a_docket(members: &str) -> Step {
    Step::ok(format!("{{{ID},{members}}}"))
}

#[tokio::test]
async fn the_completion_that_the_service_delivers_is_confirmed_by_it() {
    for script in [vec![Ended::NoAnswer, Ended::Answered], vec![Ended::Busy]] {
        let mut receiver = WebhookReceiver::start().await;
        let url = receiver.url();
        let stage = Stage::changed(|options| {
            options.scripts.docket = script;
            options.webhook = Some(WebhookOptions::to(url));
        })
        .await;
        let request = DocketRequestV2 {
            call_context: FREE_FORM.into(),
            ..docket_v2()
        };
        let mut instance = stage.instance().await;
        let created = returned(instance.create_docket_v2(&request, None))
            .await
            .unwrap();
        let docket_id = created.docket_id;
        stage.mock.complete_docket(&docket_id).unwrap();
        let body = receiver.next(Duration::from_secs(20)).await.unwrap();

        let verification = returned(instance.verify_docket_completed(&body, None)).await;
        let path = format!("/api/v1/dockets/{docket_id}");
        assert_eq!(
            wire::received(&stage)[1..],
            [wire::get_accepting_json(&stage, &path)]
        );
        let Ok(Verification::Confirmed(verified)) = verification else {
            panic!("{verification:?}");
        };
        let delivered = parsed(&body).await.unwrap().unwrap();
        assert_eq!(verified.delivered, delivered);
        assert_eq!(verified.docket.docket_id, docket_id);
        assert_eq!(verified.docket.status, Some(DocketStatus::Completed));
        assert_eq!(verified.docket.attempts.len(), 1);
        assert_eq!(verified.contradicted, Vec::<String>::new());
        let mut unverified = verified.unverified;
        unverified.sort();
        // In the context a name occurs again.
        let expected = ["attempts", "call_context", "call_insights", "dashboard_url"];
        assert_eq!(unverified, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_for_a_docket_that_is_not_completed_is_contradicted_by_its_status() {
    let delivery = format!(r#"{{{ID},"status":"COMPLETED","attempts":[1]}}"#);
    for members in [
        r#""status":"OPEN""#,
        r#""status":"IN_PROGRESS","closed_at":"2026-01-02T03:04:06.000002""#,
        r#""status":"PAUSED""#,
    ] {
        let (verification, asked) = verified(&delivery, a_docket(members)).await;
        let Ok(Verification::Contradicted(verified)) = verification else {
            panic!("{members}: {verification:?}");
        };
        assert_eq!(verified.contradicted, ["status"], "{members}");
        assert_eq!(asked, [format!("GET /api/v1/dockets/{DOCKET_ID}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_is_compared_member_by_member_and_value_by_value() {
    for (delivered, fetched, is_confirmed) in [
        (r#"{"a":1,"b":"x"}"#, r#"{ "b": "\u0078", "a": 1 }"#, true),
        ("{}", "{}", true),
        (r#"{"a":[1,{"b":null}]}"#, r#"{"a":[1,{"b":null}]}"#, true),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
        (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
        (r#"{"a":1}"#, r#"{"a":2}"#, false),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, false),
        (r#"{"A":1}"#, r#"{"a":1}"#, false),
    ] {
        let delivery = format!(r#"{{{ID},"status":"COMPLETED","call_context":{delivered}}}"#);
        let docket = a_docket(&format!(r#""status":"COMPLETED","call_context":{fetched}"#));
        let (verification, _) = verified(&delivery, docket).await;
        match verification.unwrap() {
            Verification::Confirmed(verified) => {
                assert!(is_confirmed, "{delivered} {fetched}");
                assert!(verified.contradicted.is_empty());
            }
            Verification::Contradicted(verified) => {
                assert!(!is_confirmed, "{delivered} {fetched}");
                assert_eq!(verified.contradicted, ["call_context"]);
            }
            Verification::NotACompletion => panic!("{delivered}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_docket_does_not_have_is_unverified() {
    let delivery = format!(
        r#"{{{ID},"status":"COMPLETED","event":"docket.completed","attempts":[1],"call_context":{{}}}}"#
    );
    let docket = a_docket(r#""status":"COMPLETED","call_context":{}"#);
    let (verification, _) = verified(&delivery, docket).await;
    let Ok(Verification::Confirmed(mut verified)) = verification else {
        panic!("{verification:?}");
    };
    verified.unverified.sort();
    assert_eq!(verified.unverified, ["attempts", "event"]);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_of_a_docket_that_nobody_knows_is_not_found() {
    let delivery = format!(r#"{{{ID},"status":"COMPLETED"}}"#);
    let (verification, asked) = verified(&delivery, Step::status(404)).await;
    let error = verification.unwrap_err();
    assert_eq!(error.case(), "permanent-not-found");
    assert_eq!(error.response().unwrap().status, 404);
    assert_eq!(asked.len(), 1);
}

/// It costs the service no request.
#[tokio::test(start_paused = true)]
async fn what_is_no_completion_is_not_verified() {
    for body in [
        "{}".to_owned(),
        format!("{{{ID}}}"),
        format!(r#"{{{ID},"status":"OPEN","attempts":[1]}}"#),
    ] {
        let (verification, asked) = verified(&body, a_docket(r#""status":"COMPLETED""#)).await;
        assert_eq!(
            verification.unwrap(),
            Verification::NotACompletion,
            "{body}"
        );
        assert!(asked.is_empty(), "{body}");
    }
}
