//! Deliveries of the completion webhook, as the mock makes them and as nobody should.

use crate::failure::invalid_input;
use crate::operation::{call, docket_v2, returned};
use crate::stage::{FREE_FORM, Stage, instance, loopback};
use serde_json::value::RawValue;
use std::time::Duration;
use voice_calling_host::types::*;
use voice_calling_mock::WebhookReceiver;
use voice_calling_mock::{CallStatus as Ended, NeverAnswered, NotificationKind, WebhookOptions};

/// Parses without any settings: nothing but the body counts.
async fn parsed(body: &[u8]) -> Result<Option<DocketCompleted>, RequestError> {
    let mut instance = instance(&[], loopback()).await;
    returned(instance.parse_docket_completed(body)).await
}

/// A docket whose calls end so, all of them made; its id and what was delivered.
async fn delivered(script: Vec<Ended>, call_events: bool) -> (String, Vec<Vec<u8>>) {
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
    let created = returned(instance.create_docket_v2(&request)).await.unwrap();
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
    let body = String::from_utf8(bodies[0].clone()).unwrap();
    let completed = parsed(body.as_bytes()).await.unwrap().unwrap();
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
            raw_json: format!(r#"{{"call_disposition":"INTERESTED","call_metadata":{metadata}}}"#),
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
    let body = String::from_utf8(bodies[0].clone()).unwrap();
    let completed = parsed(body.as_bytes()).await.unwrap().unwrap();
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
    let task_id = returned(instance.make_call(&call())).await.unwrap().task_id;
    stage.mock.complete_task(&task_id).unwrap();
    let body = receiver.next(Duration::from_secs(20)).await.unwrap();
    assert_eq!(parsed(&body).await.unwrap(), None);
    let kind = stage.mock.delivered(1).await[0].kind;
    assert_eq!(kind, NotificationKind::CallCompleted);
}

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
        r#"{"attempts":[],"dashboard_url":null,"call_insights":null}"#,
        r#"{"event":"call.completed","docket_id":"d","task_id":"t"}"#,
    ] {
        assert_eq!(parsed(body.as_bytes()).await.unwrap(), None, "{body}");
    }
}

#[tokio::test]
async fn a_completion_is_known_by_any_one_thing_that_only_a_docket_has() {
    for mark in [
        r#""attempts":[]"#,
        r#""attempts":null"#,
        r#""dashboard_url":null"#,
        r#""call_insights":null"#,
        r#""call_insights":{"call_disposition":null}"#,
    ] {
        let body = format!(r#"{{"docket_id":"d",{mark}}}"#);
        let completed = parsed(body.as_bytes()).await.unwrap();
        let docket_id = completed.map(|completed| completed.docket_id);
        assert_eq!(docket_id.as_deref(), Some("d"), "{mark}");
    }
}

#[tokio::test]
async fn odd_values_in_a_completion_cost_only_themselves() {
    for odd in ["true", "-0.5", "\"x\"", "[1]"] {
        let body = format!(
            r#"{{"docket_id":"d","attempts":{odd},"call_insights":{odd},"call_context":{odd},"dashboard_url":[{odd}],"more":{odd}}}"#
        );
        let completed = parsed(body.as_bytes()).await.unwrap().unwrap();
        let expected = DocketCompleted {
            docket_id: "d".into(),
            call_insights: None,
            call_context: None,
            attempts: Some(odd.into()),
            dashboard_url: None,
            raw_json: body,
        };
        assert_eq!(completed, expected);
    }
    let body = r#"{"docket_id":"d","call_insights":{"call_disposition":7,"call_metadata":[]}}"#;
    let completed = parsed(body.as_bytes()).await.unwrap().unwrap();
    let insights = completed.call_insights.unwrap();
    assert_eq!(
        (insights.call_disposition, insights.call_metadata),
        (None, None)
    );
}

#[tokio::test]
async fn a_broken_delivery_is_bad_input_that_says_where() {
    for (body, field) in [
        (&b""[..], "body"),
        (b"not json", "body"),
        (b"{\"docket_id\":\"d\",\"attempts\":[", "body"),
        (b"{\"docket_id\":\"d\",\"attempts\":[NaN]}", "body"),
        (b"{\"docket_id\":\"d\",\"attempts\":[]} trailing", "body"),
        (b"\xff\xfe", "body"),
        (
            b"{\"docket_id\":\"\xff\",\"attempts\":[]}",
            "body.docket_id",
        ),
        (b"{\"docket_id\":7,\"attempts\":[]}", "body.docket_id"),
        (b"{\"docket_id\":null,\"attempts\":[]}", "body.docket_id"),
        (
            b"{\"docket_id\":\"\",\"dashboard_url\":null}",
            "body.docket_id",
        ),
        (
            b"{\"docket_id\":\"\\ud800\",\"call_insights\":null}",
            "body.docket_id",
        ),
    ] {
        let problem = invalid_input(parsed(body).await);
        assert_eq!(problem.field, field, "{}", String::from_utf8_lossy(body));
        assert!(!problem.found.is_empty());
        assert!(!problem.allowed.is_empty());
    }
}

#[tokio::test]
async fn no_bytes_make_the_component_panic() {
    let (_, bodies) = delivered(vec![Ended::Answered], false).await;
    let whole = &bodies[0];
    // One instance for all: a panic would end it.
    let mut instance = instance(&[], loopback()).await;
    for index in 0..whole.len() {
        let cut = instance.parse_docket_completed(&whole[..index]).await;
        assert!(cut.expect("no trap").is_err(), "cut at {index}");
        for byte in [0x00, 0xff, b'"', b'}', b'\\'] {
            let mut changed = whole.clone();
            changed[index] = byte;
            let parsed = instance.parse_docket_completed(&changed).await;
            parsed.expect("no trap").ok();
        }
    }
    let deep = "[".repeat(200_000);
    let parsed = instance.parse_docket_completed(deep.as_bytes()).await;
    assert!(parsed.expect("no trap").is_err());
    let closed = format!("{deep}{}", "]".repeat(200_000));
    let body = format!(r#"{{"docket_id":"d","attempts":{closed}}}"#);
    let parsed = instance.parse_docket_completed(body.as_bytes()).await;
    let completed = parsed.expect("no trap").unwrap().unwrap();
    assert!(completed.attempts == Some(closed));
    let parsed = instance.parse_docket_completed(whole).await;
    assert!(parsed.expect("no trap").unwrap().is_some());
}
