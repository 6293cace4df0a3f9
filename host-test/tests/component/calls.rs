//! Calls: made directly, and their details.

use crate::failure::may_have_created;
use crate::operation::{call, docket_v2, returned};
use crate::script::{Script, Step};
use crate::stage::{NUMBER, Stage, instance_at};
use crate::wire;
use voice_calling_host::types::*;
use voice_calling_mock::{
    Behaviour, CallStatus as Ended, DetailsNotReady, DetailsShape, DocketCalls, Meanings, RawPeer,
    UnansweredInsights, UnknownTask,
};

/// Variables in an order of their own, and texts that JSON must escape.
fn context() -> Vec<(String, String)> {
    [
        ("z", "12345678901234567890"),
        ("amount", "0.10"),
        ("name", "Asha \u{1f4de} \"A\"\n"),
        ("", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// The same as it is sent.
const CONTEXT: &str =
    r#"{"z":"12345678901234567890","amount":"0.10","name":"Asha 📞 \"A\"\n","":""}"#;

async fn started(stage: &Stage, request: &CallRequest) -> StartedCall {
    let mut instance = stage.instance().await;
    returned(instance.make_call(request, None)).await.unwrap()
}

async fn details(stage: &Stage, task_id: &str) -> Result<Vec<CallDetails>, RequestError> {
    let mut instance = stage.instance().await;
    let details = returned(instance.get_call_details(task_id, None)).await?;
    Ok(details.calls)
}

async fn stage_with(meanings: Meanings) -> Stage {
    Stage::changed(|options| options.meanings = meanings).await
}

#[tokio::test]
async fn a_call_is_made_by_an_agents_name() {
    let stage = Stage::start().await;
    let request = CallRequest {
        call_context: context(),
        extra: Some(r#"{"priority":1.0}"#.into()),
        ..call()
    };
    let started = started(&stage, &request).await;
    let body = format!(
        r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}","extra_config":{{"call_context":{CONTEXT}}},"priority":1.0}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/make_call", &body)]
    );
    let raw_json = format!(r#"{{"task_id":"{}"}}"#, started.task_id);
    assert_eq!(started.raw_json, raw_json);
    assert_eq!(stage.mock.phones_rung(), [NUMBER]);
}

#[tokio::test]
async fn a_call_without_context_sends_no_extra_config() {
    let stage = Stage::start().await;
    let request = CallRequest {
        to_phone_number: "+91 (98765) 43210 ext. 7".into(),
        ..call()
    };
    started(&stage, &request).await;
    let body = r#"{"from_agent_name":"renewals","to_phone_number":"+91 (98765) 43210 ext. 7"}"#;
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/make_call", body)]
    );
}

#[tokio::test]
async fn what_extra_has_of_extra_config_is_merged_with_the_context() {
    let stage = Stage::start().await;
    let request = CallRequest {
        call_context: context(),
        extra: Some(r#"{"extra_config":{"language":"hi","retries":1.0},"priority":1}"#.into()),
        ..call()
    };
    started(&stage, &request).await;
    let alone = CallRequest {
        call_context: Vec::new(),
        ..request
    };
    started(&stage, &alone).await;
    let both = format!(
        r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}","extra_config":{{"call_context":{CONTEXT},"language":"hi","retries":1.0}},"priority":1}}"#
    );
    let alone = format!(
        r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}","extra_config":{{"language":"hi","retries":1.0}},"priority":1}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [
            wire::post(&stage, "/make_call", &both),
            wire::post(&stage, "/make_call", &alone),
        ]
    );
}

#[tokio::test]
async fn an_agent_may_be_selected_by_a_field_that_the_caller_names() {
    let stage = stage_with(Meanings {
        agent_phone_field: Some("from_agent_phone".into()),
        ..Meanings::default()
    })
    .await;
    let request = CallRequest {
        from_agent_name: None,
        extra: Some(r#"{"from_agent_phone":"+911140000008"}"#.into()),
        ..call()
    };
    let task_id = started(&stage, &request).await.task_id;
    let body = format!(r#"{{"to_phone_number":"{NUMBER}","from_agent_phone":"+911140000008"}}"#);
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/make_call", &body)]
    );
    stage.mock.complete_task(&task_id).unwrap();
    let record = &details(&stage, &task_id).await.unwrap()[0];
    assert_eq!(record.agent_name.as_deref(), Some("collections"));
}

#[tokio::test]
async fn a_task_id_is_returned_whatever_is_beside_it() {
    let answer = r#"{"status":7,"task_id":"task \ud83d\udcde","more":[1.10]}"#;
    let peer = [Behaviour::Send(
        format!("HTTP/1.1 201 Created\r\n\r\n{answer}").into_bytes(),
    )];
    let peer = RawPeer::start(peer).await.unwrap();
    let mut instance = instance_at(&peer.base_url(), &[]).await;
    let started = returned(instance.make_call(&call(), None)).await.unwrap();
    assert_eq!(started.task_id, "task \u{1f4de}");
    assert_eq!(started.raw_json, answer);
    assert!(!started.may_be_duplicate);
}

/// It could not be asked for.
#[tokio::test(start_paused = true)]
async fn a_task_id_that_is_none_is_not_understood_and_the_phone_may_be_ringing() {
    for task_id in ["", ".", "..", "a\\nb", "\\u0000"] {
        let answer = format!(r#"{{"task_id":"{task_id}"}}"#);
        let script = Script::new([Step::ok(answer.clone())]);
        let mut instance = script.instance(&[]).await;
        let error = returned(instance.make_call(&call(), None))
            .await
            .unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response", "{answer}");
        assert_eq!(error.response().unwrap().body, answer);
        assert!(may_have_created(&error), "{answer}");
        assert_eq!(script.sent().len(), 1);
    }
}

#[tokio::test]
async fn an_answered_call_has_all_its_details() {
    let stage = Stage::start().await;
    let request = CallRequest {
        call_context: context(),
        ..call()
    };
    let task_id = started(&stage, &request).await.task_id;
    stage.mock.complete_task(&task_id).unwrap();
    let mut instance = stage.instance().await;
    let details = returned(instance.get_call_details(&task_id, None))
        .await
        .unwrap();
    let path = format!("/call_details/{task_id}");
    assert_eq!(wire::received(&stage)[1..], [wire::get(&stage, &path)]);

    let metadata = r#"{"language":"en","policy_number":12345678901234567890,"amount_due":0.10,"callback_requested":false}"#;
    let interest = r#"{"status":"INTERESTED","confidence_score":0.87,"reasoning":"Asked for the renewal link"}"#;
    let action = r#"{"value":"SEND_LINK","reason":"The customer wants to renew"}"#;
    let insights =
        format!(r#"{{"metadata":{metadata},"user_interest":{interest},"next_action":{action}}}"#);
    let recording = format!("https://recordings.voice.example/{task_id}.mp3");
    let raw_json = format!(
        r#"{{"agent_name":"renewals","call_context":{CONTEXT},"call_insights":{insights},"call_recording_url":"{recording}","from_number":"911140000007","to_number":"{NUMBER}","call_status":"ANSWERED","call_duration":42.5}}"#
    );
    let text = |text: &str| Some(text.to_owned());
    let expected = CallDetails {
        agent_name: text("renewals"),
        call_context: text(CONTEXT),
        call_insights: Some(CallInsights {
            metadata: text(metadata),
            user_interest: Some(UserInterest {
                status: text("INTERESTED"),
                confidence_score: Some(0.87),
                reasoning: text("Asked for the renewal link"),
            }),
            next_action: Some(NextAction {
                value: text("SEND_LINK"),
                reason: text("The customer wants to renew"),
            }),
        }),
        call_recording_url: Some(recording),
        from_number: text("911140000007"),
        to_number: text(NUMBER),
        call_status: Some(CallStatus::Answered),
        call_duration_s: Some(42.5),
    };
    assert_eq!(details.calls, [expected]);
    assert_eq!(details.raw_json, format!("[{raw_json}]"));
    assert_eq!(details.attempts.len(), 1);
}

#[tokio::test]
async fn a_call_that_was_not_answered_has_its_status_and_perhaps_insights() {
    for (ended, status) in [
        (Ended::NoAnswer, CallStatus::NoAnswer),
        (Ended::Busy, CallStatus::Busy),
    ] {
        for (unanswered_insights, action) in [
            (UnansweredInsights::Null, None),
            (UnansweredInsights::Redial, Some("REDIAL")),
        ] {
            let stage = Stage::changed(|options| {
                options.scripts.direct_call = ended;
                options.meanings.unanswered_insights = unanswered_insights;
            })
            .await;
            let task_id = started(&stage, &call()).await.task_id;
            stage.mock.complete_task(&task_id).unwrap();
            let record = details(&stage, &task_id).await.unwrap().remove(0);
            assert_eq!(record.call_status, Some(status.clone()));
            assert_eq!(record.call_duration_s, Some(0.0));
            assert_eq!(record.call_recording_url, None);
            let insights = record.call_insights;
            let next_action = insights.and_then(|insights| insights.next_action);
            let value = next_action.and_then(|action| action.value);
            assert_eq!(value.as_deref(), action);
        }
    }
}

#[tokio::test]
async fn a_lone_object_counts_as_a_list_of_one() {
    let stage = stage_with(Meanings {
        details_shape: DetailsShape::Object,
        ..Meanings::default()
    })
    .await;
    let task_id = started(&stage, &call()).await.task_id;
    stage.mock.complete_task(&task_id).unwrap();
    let details = details(&stage, &task_id).await.unwrap();
    assert_eq!(details.len(), 1);
    assert_eq!(details[0].call_status, Some(CallStatus::Answered));
}

#[tokio::test]
async fn details_that_are_not_ready_come_as_the_service_means_it() {
    for (details_not_ready, expected) in [
        (DetailsNotReady::NotFound, Err("permanent-not-found")),
        (DetailsNotReady::EmptyArray, Ok(vec![])),
        (
            DetailsNotReady::NoInsights,
            Ok(vec![Some(CallStatus::Other("IN_PROGRESS".into()))]),
        ),
    ] {
        let stage = stage_with(Meanings {
            details_not_ready,
            ..Meanings::default()
        })
        .await;
        let task_id = started(&stage, &call()).await.task_id;
        let records = details(&stage, &task_id).await;
        let statuses = records.map(|records| {
            let statuses = records.into_iter().map(|record| record.call_status);
            statuses.collect::<Vec<_>>()
        });
        assert_eq!(statuses.map_err(|error| error.case()), expected);
    }
}

#[tokio::test]
async fn an_unknown_task_is_not_found_or_has_no_calls() {
    for (unknown_task, expected) in [
        (UnknownTask::NotFound, Err("permanent-not-found")),
        (UnknownTask::EmptyArray, Ok(0)),
    ] {
        let stage = stage_with(Meanings {
            unknown_task,
            ..Meanings::default()
        })
        .await;
        let found = details(&stage, "nobody-knows").await;
        let count = found.map(|records| records.len());
        assert_eq!(count.map_err(|error| error.case()), expected);
    }
}

#[tokio::test]
async fn a_dockets_call_id_is_a_task_id_only_where_the_service_says_so() {
    for (docket_calls, expected) in [
        (DocketCalls::NotTasks, Err("permanent-not-found")),
        (DocketCalls::Tasks, Ok(Some(CallStatus::NoAnswer))),
    ] {
        let stage = stage_with(Meanings {
            docket_calls,
            ..Meanings::default()
        })
        .await;
        let mut instance = stage.instance().await;
        let created = returned(instance.create_docket_v2(&docket_v2(), None))
            .await
            .unwrap();
        stage.mock.place_next_call(&created.docket_id).unwrap();
        let docket = returned(instance.get_docket(&created.docket_id, None))
            .await
            .unwrap();
        let found = details(&stage, &docket.latest_call_id.unwrap()).await;
        let status = found.map(|mut records| records.remove(0).call_status);
        assert_eq!(status.map_err(|error| error.case()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn odd_values_in_details_cost_only_themselves() {
    let answer = r#"[{},{"agent_name":7,"call_context":"x","call_insights":[],"call_status":"VOICEMAIL","call_duration":"42","to_number":"1"},{"call_duration":7,"call_insights":{"metadata":null,"user_interest":{"confidence_score":"high","status":1,"reasoning":"r"},"next_action":"REDIAL"}}]"#;
    let script = Script::new([Step::ok(answer)]);
    let mut instance = script.instance(&[]).await;
    let details = returned(instance.get_call_details("t", None))
        .await
        .unwrap();
    assert_eq!(details.raw_json, answer);
    let records = details.calls;

    let odd = &records[1];
    assert_eq!(odd.agent_name, None);
    assert_eq!((&odd.call_context, &odd.call_insights), (&None, &None));
    assert_eq!(odd.call_duration_s, None);
    assert_eq!(odd.to_number.as_deref(), Some("1"));
    let voicemail = CallStatus::Other("VOICEMAIL".into());
    assert_eq!(odd.call_status, Some(voicemail));

    assert_eq!(records[2].call_duration_s, Some(7.0));
    let insights = records[2].call_insights.as_ref().unwrap();
    assert_eq!((&insights.metadata, &insights.next_action), (&None, &None));
    let interest = insights.user_interest.as_ref().unwrap();
    assert_eq!((&interest.status, interest.confidence_score), (&None, None));
    assert_eq!(interest.reasoning.as_deref(), Some("r"));
}

#[tokio::test(start_paused = true)]
async fn details_that_are_no_records_cannot_be_understood() {
    for answer in ["7", "\"x\"", "null"] {
        let script = Script::new([Step::ok(answer)]);
        let mut instance = script.instance(&[]).await;
        let error = returned(instance.get_call_details("t", None))
            .await
            .unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response", "{answer}");
        assert_eq!(error.response().unwrap().body, answer);
    }
}

#[tokio::test]
async fn a_task_id_reaches_the_service_as_one_encoded_segment() {
    let peer = [Behaviour::Send(b"HTTP/1.1 200 OK\r\n\r\n[]".to_vec())];
    let peer = RawPeer::start(peer).await.unwrap();
    let mut instance = instance_at(&peer.base_url(), &[]).await;
    let mut expected = Vec::new();
    for (task_id, segment) in [
        ("a/b?c#d%e", "a%2Fb%3Fc%23d%25e"),
        ("../agents/", "..%2Fagents%2F"),
        ("%2e%2e", "%252e%252e"),
        ("...", "..."),
        ("a\\b;c=d&e+f g", "a%5Cb%3Bc%3Dd%26e%2Bf%20g"),
        ("\u{e4}\u{905}\u{1f4de}", "%C3%A4%E0%A4%85%F0%9F%93%9E"),
        ("Az09-._~", "Az09-._~"),
    ] {
        returned(instance.get_call_details(task_id, None))
            .await
            .unwrap();
        expected.push(format!("GET /call_details/{segment} HTTP/1.1"));
    }
    let sent: Vec<_> = peer
        .requests()
        .iter()
        .map(|request| {
            String::from_utf8_lossy(request)
                .lines()
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(sent, expected);
}
