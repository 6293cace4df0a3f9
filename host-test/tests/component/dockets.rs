//! Dockets: created in either version, and fetched.

use crate::failure::may_have_created;
use crate::operation::{DOCKET_ID, returned};
use crate::script::{Script, Step};
use crate::stage::{FREE_FORM, NUMBER, Stage};
use crate::{operation, wire};
use voice_calling_host::types::*;
use voice_calling_mock::{
    Endpoint, Meanings, NeverAnswered, OpenDocketFields, RepeatedExternalId, V2Status,
};

fn request() -> DocketRequestV2 {
    DocketRequestV2 {
        call_context: r#"{"name":"Asha"}"#.into(),
        external_id: Some("crm-7".into()),
        ..operation::docket_v2()
    }
}

async fn created(stage: &Stage, request: &DocketRequestV2) -> CreatedDocketV2 {
    let mut instance = stage.instance().await;
    returned(instance.create_docket_v2(request, None))
        .await
        .unwrap()
}

async fn fetched(stage: &Stage, docket_id: &str) -> Docket {
    let mut instance = stage.instance().await;
    returned(instance.get_docket(docket_id, None))
        .await
        .unwrap()
}

async fn stage_with(meanings: Meanings) -> Stage {
    Stage::changed(|options| options.meanings = meanings).await
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36 && uuid::Uuid::try_parse(id).is_ok()
}

#[tokio::test]
async fn a_docket_of_version_1_is_created() {
    let stage = Stage::start().await;
    let request = DocketRequest {
        call_context: FREE_FORM.into(),
        ..operation::docket()
    };
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket(&request, None))
        .await
        .unwrap();
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{FREE_FORM}}}}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/api/v1/dockets", &body)]
    );
    assert!(is_uuid(&created.docket_id), "{}", created.docket_id);
    let raw_json = format!(
        r#"{{"docket_id":"{}","status":"IN_PROGRESS"}}"#,
        created.docket_id
    );
    assert_eq!(created.status, Some(DocketStatus::InProgress));
    assert_eq!(created.raw_json, raw_json);
    assert!(!created.may_be_duplicate);
    assert_eq!(stage.mock.phones_rung(), [NUMBER]);
}

#[tokio::test]
async fn a_docket_of_version_2_is_created_with_its_external_id() {
    let stage = Stage::start().await;
    let created = created(&stage, &request()).await;
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{"name":"Asha"}}}},"external_id":"crm-7"}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/api/v2/dockets", &body)]
    );
    assert!(is_uuid(&created.docket_id), "{}", created.docket_id);
    let raw_json = format!(
        r#"{{"docket_id":"{}","status":"OPEN","created":true}}"#,
        created.docket_id
    );
    let expected = CreatedDocketV2 {
        docket_id: created.docket_id.clone(),
        status: Some(DocketStatus::Open),
        created: Some(true),
        raw_json,
        request_id: None,
        attempts: created.attempts.clone(),
        may_be_duplicate: false,
    };
    assert_eq!(created, expected);
    assert_eq!(stage.mock.phones_rung(), [NUMBER]);
}

#[tokio::test]
async fn extra_members_come_after_the_known_ones_in_either_version() {
    let stage = Stage::start().await;
    let extra = Some(r#"{"priority":1.0,"tags":["a"],"z":{"y":null}}"#.to_owned());
    let version_1 = DocketRequest {
        extra: extra.clone(),
        ..operation::docket()
    };
    let version_2 = DocketRequestV2 {
        extra,
        ..operation::docket_v2()
    };
    let mut instance = stage.instance().await;
    returned(instance.create_docket(&version_1, None))
        .await
        .unwrap();
    returned(instance.create_docket_v2(&version_2, None))
        .await
        .unwrap();
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{}}}},"priority":1.0,"tags":["a"],"z":{{"y":null}}}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [
            wire::post(&stage, "/api/v1/dockets", &body),
            wire::post(&stage, "/api/v2/dockets", &body),
        ]
    );
}

#[tokio::test]
async fn what_extra_has_of_extra_config_is_merged_with_the_context_in_either_version() {
    let stage = Stage::start().await;
    let extra = Some(r#"{"extra_config":{"language":"hi","retries":1.0},"priority":1}"#.to_owned());
    let version_1 = DocketRequest {
        extra: extra.clone(),
        ..operation::docket()
    };
    let version_2 = DocketRequestV2 {
        extra,
        ..operation::docket_v2()
    };
    let mut instance = stage.instance().await;
    returned(instance.create_docket(&version_1, None))
        .await
        .unwrap();
    returned(instance.create_docket_v2(&version_2, None))
        .await
        .unwrap();
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{}},"language":"hi","retries":1.0}},"priority":1}}"#
    );
    assert_eq!(
        wire::received(&stage),
        [
            wire::post(&stage, "/api/v1/dockets", &body),
            wire::post(&stage, "/api/v2/dockets", &body),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_created_docket_without_a_uuid_is_not_understood_and_the_phone_may_be_ringing() {
    for id in [
        "null",
        "7",
        r#""""#,
        r#""docket-1""#,
        r#""7f8d3b0e0d514f0c9a632f1a5c0d9e11""#,
    ] {
        let answer = format!(r#"{{"docket_id":{id},"status":"OPEN","created":true}}"#);
        let script = Script::new([Step::ok(answer.clone())]);
        let mut instance = script.instance(&[]).await;
        let version_1 = returned(instance.create_docket(&operation::docket(), None)).await;
        let version_2 = returned(instance.create_docket_v2(&request(), None)).await;
        for error in [version_1.unwrap_err(), version_2.unwrap_err()] {
            assert_eq!(error.case(), "permanent-unexpected-response", "{answer}");
            assert_eq!(error.response().unwrap().body, answer);
            assert!(may_have_created(&error), "{answer}");
        }
        assert_eq!(script.sent().len(), 2, "neither is repeated");
    }
}

#[tokio::test(start_paused = true)]
async fn another_docket_than_the_one_asked_for_is_not_understood_and_one_without_an_id_is() {
    let other = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e12";
    for (id, is_it) in [
        (format!(r#""docket_id":"{DOCKET_ID}","#), true),
        (
            format!(r#""docket_id":"{}","#, DOCKET_ID.to_uppercase()),
            true,
        ),
        (String::new(), true),
        (r#""docket_id":null,"#.to_owned(), true),
        (r#""docket_id":7,"#.to_owned(), true),
        (format!(r#""docket_id":"{other}","#), false),
    ] {
        let answer = format!(r#"{{{id}"status":"OPEN"}}"#);
        let script = Script::new([Step::ok(answer.clone())]);
        let mut instance = script.instance(&[]).await;
        match returned(instance.get_docket(DOCKET_ID, None)).await {
            Ok(docket) => {
                assert!(is_it, "{answer}");
                assert!(docket.docket_id.eq_ignore_ascii_case(DOCKET_ID), "{answer}");
            }
            Err(error) => {
                assert!(!is_it, "{answer}");
                assert_eq!(error.case(), "permanent-unexpected-response", "{answer}");
                assert!(!may_have_created(&error));
            }
        }
    }
}

#[tokio::test]
async fn a_docket_is_fetched_with_its_context_unharmed() {
    let stage = Stage::start().await;
    let request = DocketRequestV2 {
        call_context: FREE_FORM.into(),
        ..request()
    };
    let docket_id = created(&stage, &request).await.docket_id;
    let docket = fetched(&stage, &docket_id).await;
    let path = format!("/api/v1/dockets/{docket_id}");
    assert_eq!(
        wire::received(&stage)[1..],
        [wire::get_accepting_json(&stage, &path)]
    );
    assert_eq!(docket.call_context.as_deref(), Some(FREE_FORM));
    assert_eq!(docket.external_id.as_deref(), Some("crm-7"));
    assert_eq!(docket.status, Some(DocketStatus::Open));
    assert_eq!(docket.outbound_call_count, Some(0));
    assert!(docket.raw_json.contains(FREE_FORM));
}

#[tokio::test(start_paused = true)]
async fn all_17_fields_of_a_docket_are_there() {
    let raw_json = format!(
        r#"{{"docket_id":"{DOCKET_ID}","agent_name":"renewals","status":"COMPLETED","call_type":"OUTBOUND","from_number":"911140000007","to_phone_number":"{NUMBER}","call_context":{FREE_FORM},"external_id":"crm-7","closed_call_id":"closed","latest_call_id":"latest","closure_reason":"DISPOSITION","outbound_call_count":3,"notification_status":"SKIPPED","first_called_at":"2026-01-02T03:04:05.000001","closed_at":"2026-01-02T03:04:06.000002","created_at":"2026-01-02T03:04:04.000003","updated_at":"2026-01-02T03:04:07.000004","unheard_of":{{"kept":1.10}}}}"#
    );
    let answer = Step::ok(raw_json.clone()).header("x-request-id", "req-7");
    let script = Script::new([answer]);
    let mut instance = script.instance(&[]).await;
    let docket = returned(instance.get_docket(DOCKET_ID, None))
        .await
        .unwrap();
    let text = |text: &str| Some(text.to_owned());
    let expected = Docket {
        docket_id: DOCKET_ID.into(),
        agent_name: text("renewals"),
        status: Some(DocketStatus::Completed),
        call_type: text("OUTBOUND"),
        from_number: text("911140000007"),
        to_phone_number: text(NUMBER),
        call_context: text(FREE_FORM),
        external_id: text("crm-7"),
        closed_call_id: text("closed"),
        latest_call_id: text("latest"),
        closure_reason: text("DISPOSITION"),
        outbound_call_count: Some(3),
        notification_status: text("SKIPPED"),
        first_called_at: text("2026-01-02T03:04:05.000001"),
        closed_at: text("2026-01-02T03:04:06.000002"),
        created_at: text("2026-01-02T03:04:04.000003"),
        updated_at: text("2026-01-02T03:04:07.000004"),
        raw_json,
        request_id: text("req-7"),
        attempts: docket.attempts.clone(),
    };
    assert_eq!(docket, expected);
}

#[tokio::test(start_paused = true)]
async fn null_odd_and_missing_fields_of_a_docket_cost_only_themselves() {
    let bare = Docket {
        docket_id: DOCKET_ID.into(),
        agent_name: None,
        status: None,
        call_type: None,
        from_number: None,
        to_phone_number: None,
        call_context: None,
        external_id: None,
        closed_call_id: None,
        latest_call_id: None,
        closure_reason: None,
        outbound_call_count: None,
        notification_status: None,
        first_called_at: None,
        closed_at: None,
        created_at: None,
        updated_at: None,
        raw_json: String::new(),
        request_id: None,
        attempts: Vec::new(),
    };
    let names = "agent_name status call_type from_number to_phone_number call_context external_id closed_call_id latest_call_id closure_reason outbound_call_count notification_status first_called_at closed_at created_at updated_at";
    for odd in ["null", "true", "[1]", "-0.5"] {
        let fields: String = names
            .split(' ')
            .map(|name| format!(r#""{name}":{odd},"#))
            .collect();
        let raw_json = format!(r#"{{{fields}"docket_id":"{DOCKET_ID}"}}"#);
        let script = Script::new([Step::ok(raw_json.clone())]);
        let mut instance = script.instance(&[]).await;
        let docket = returned(instance.get_docket(DOCKET_ID, None))
            .await
            .unwrap();
        let expected = Docket {
            raw_json,
            attempts: docket.attempts.clone(),
            ..bare.clone()
        };
        assert_eq!(docket, expected, "{odd}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_name_that_comes_twice_the_last_value_counts() {
    let answer = format!(
        r#"{{"docket_id":"other","status":"OPEN","docket_id":"{DOCKET_ID}","\u0073tatus":"COMPLETED"}}"#
    );
    let script = Script::new([Step::ok(answer.clone())]);
    let mut instance = script.instance(&[]).await;
    let docket = returned(instance.get_docket(DOCKET_ID, None))
        .await
        .unwrap();
    assert_eq!(docket.docket_id, DOCKET_ID);
    assert_eq!(docket.status, Some(DocketStatus::Completed));
    assert_eq!(docket.raw_json, answer);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_nobody_has_heard_of_is_kept() {
    let answer = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"PAUSED","created":0}}"#);
    let script = Script::new([Step::ok(answer)]);
    let mut instance = script.instance(&[]).await;
    let paused = Some(DocketStatus::Other("PAUSED".into()));
    let docket = returned(instance.get_docket(DOCKET_ID, None))
        .await
        .unwrap();
    assert_eq!(docket.status, paused);
    let created = returned(instance.create_docket_v2(&request(), None))
        .await
        .unwrap();
    assert_eq!((created.status, created.created), (paused.clone(), None));
    let created = returned(instance.create_docket(&operation::docket(), None)).await;
    assert_eq!(created.unwrap().status, paused);
}

#[tokio::test]
async fn an_answered_docket_is_closed_by_its_disposition() {
    let stage = Stage::start().await;
    let docket_id = created(&stage, &request()).await.docket_id;
    stage.mock.place_next_call(&docket_id).unwrap();
    let called = fetched(&stage, &docket_id).await;
    assert_eq!(called.status, Some(DocketStatus::InProgress));
    assert_eq!(called.outbound_call_count, Some(1));
    assert!(called.latest_call_id.as_deref().is_some_and(is_uuid));
    assert_eq!((called.closed_call_id, called.closed_at), (None, None));

    stage.mock.complete_docket(&docket_id).unwrap();
    let closed = fetched(&stage, &docket_id).await;
    assert_eq!(closed.status, Some(DocketStatus::Completed));
    assert_eq!(closed.closure_reason.as_deref(), Some("DISPOSITION"));
    assert_eq!(closed.outbound_call_count, Some(2));
    assert_eq!(closed.closed_call_id, closed.latest_call_id);
    assert_ne!(closed.latest_call_id, called.latest_call_id);
    assert_eq!(closed.first_called_at, called.first_called_at);
    for time in [closed.first_called_at, closed.closed_at, closed.updated_at] {
        assert_eq!(time.map(|time| time.len()), Some(26));
    }
}

#[tokio::test]
async fn a_docket_that_nobody_answered_may_go_without_notification() {
    let stage = Stage::changed(|options| {
        options.meanings.never_answered = NeverAnswered::Silent;
        options.scripts.docket = vec![voice_calling_mock::CallStatus::Busy];
    })
    .await;
    let docket_id = created(&stage, &request()).await.docket_id;
    stage.mock.complete_docket(&docket_id).unwrap();
    let docket = fetched(&stage, &docket_id).await;
    assert_eq!(docket.notification_status.as_deref(), Some("SKIPPED"));
    assert_eq!(docket.closure_reason.as_deref(), Some("ATTEMPTS_EXHAUSTED"));
}

#[tokio::test]
async fn each_meaning_of_an_open_docket_is_told_as_it_comes() {
    use DocketStatus::{InProgress, Open};
    for (v2_status, new, called) in [
        (V2Status::OpenUntilCalled, Open, InProgress),
        (V2Status::InProgress, InProgress, InProgress),
        (V2Status::OpenUntilClosed, Open, Open),
    ] {
        let stage = stage_with(Meanings {
            v2_status,
            ..Meanings::default()
        })
        .await;
        let docket_id = created(&stage, &request()).await.docket_id;
        assert_eq!(fetched(&stage, &docket_id).await.status, Some(new));
        stage.mock.place_next_call(&docket_id).unwrap();
        assert_eq!(fetched(&stage, &docket_id).await.status, Some(called));
    }
}

#[tokio::test]
async fn what_an_open_docket_lacks_may_be_null_or_left_out() {
    for open_docket_fields in [OpenDocketFields::Null, OpenDocketFields::LeftOut] {
        let stage = stage_with(Meanings {
            open_docket_fields,
            ..Meanings::default()
        })
        .await;
        let docket_id = created(&stage, &operation::docket_v2()).await.docket_id;
        let docket = fetched(&stage, &docket_id).await;
        let left_out = open_docket_fields == OpenDocketFields::LeftOut;
        assert_eq!(docket.raw_json.contains("closed_at"), !left_out);
        for absent in [
            docket.external_id,
            docket.closed_call_id,
            docket.latest_call_id,
            docket.closure_reason,
            docket.notification_status,
            docket.first_called_at,
            docket.closed_at,
        ] {
            assert_eq!(absent, None, "{open_docket_fields:?}");
        }
        assert_eq!(docket.agent_name.as_deref(), Some("renewals"));
    }
}

#[tokio::test]
async fn a_repeated_external_id_prevents_nothing_unless_the_service_says_so() {
    for (repeated_external_id, is_new) in [
        (RepeatedExternalId::NewDocket, true),
        (RepeatedExternalId::SameDocket, false),
    ] {
        let stage = stage_with(Meanings {
            repeated_external_id,
            ..Meanings::default()
        })
        .await;
        let first = created(&stage, &request()).await;
        let second = created(&stage, &request()).await;
        assert_eq!(second.created, Some(is_new));
        assert_eq!(second.docket_id != first.docket_id, is_new);
        assert_eq!(stage.mock.times_rung(NUMBER), 1 + usize::from(is_new));
    }
}

#[tokio::test]
async fn unknown_agents_and_dockets_are_not_found_and_no_phone_rings() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let of_nobody = DocketRequestV2 {
        agent_id: 99,
        ..request()
    };
    let error = returned(instance.create_docket_v2(&of_nobody, None))
        .await
        .unwrap_err();
    assert_eq!(error.case(), "permanent-not-found");
    let error = returned(instance.get_docket(DOCKET_ID, None))
        .await
        .unwrap_err();
    assert_eq!(error.case(), "permanent-not-found");
    assert_eq!(stage.mock.requests_to(Endpoint::GetDocket).len(), 1);
    assert!(stage.mock.phones_rung().is_empty());
}
