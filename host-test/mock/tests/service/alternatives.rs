//! Every alternative of what the specification leaves open.

use super::*;
use voice_calling_mock::{
    CallStatus, CreatedAgent, DetailsNotReady, DetailsShape, DocketCalls, OpenDocketFields,
    RepeatedExternalId, UnansweredInsights, UnknownTask, V2Status, ValidationBody,
};

#[tokio::test]
async fn nothing_repeated_is_recognised_unless_it_is_set() {
    let (mock, client) = with(|_| ()).await;
    let first = client.docket(&docket_body()).await;
    assert_ne!(client.docket(&docket_body()).await, first);
    assert_eq!(mock.times_rung(NUMBER), 2);

    let repeated_external_id = RepeatedExternalId::SameDocket;
    let (mock, client) =
        with(|options| options.meanings.repeated_external_id = repeated_external_id).await;
    let first = client.docket(&docket_body()).await;
    let again = client.post(V2, &docket_body()).await.json();
    let expected = json!({"docket_id": first, "status": "OPEN", "created": false});
    assert_eq!(again, expected);
    client.post(V1, &docket_body()).await;
    assert_eq!(mock.times_rung(NUMBER), 2, "version 1 has no external id");
}

#[tokio::test]
async fn details_that_are_not_ready_and_tasks_that_are_unknown_have_alternatives() {
    for (details_not_ready, status) in [
        (DetailsNotReady::NotFound, 404),
        (DetailsNotReady::EmptyArray, 200),
        (DetailsNotReady::NoInsights, 200),
    ] {
        let (_mock, client) = with(|options| {
            options.meanings.details_not_ready = details_not_ready;
            options.meanings.unknown_task = UnknownTask::EmptyArray;
        })
        .await;
        let reply = client.details(&client.call().await).await;
        assert_eq!(reply.status, status);
        match details_not_ready {
            DetailsNotReady::NotFound => assert!(reply.json()["detail"].is_string()),
            DetailsNotReady::EmptyArray => assert_eq!(reply.json(), json!([])),
            DetailsNotReady::NoInsights => {
                let record = &reply.json()[0];
                assert!(record["call_insights"].is_null());
                assert_eq!(record["call_status"], "IN_PROGRESS");
            }
        }
        assert_eq!(client.details("x").await.json(), json!([]));
    }
}

#[tokio::test]
async fn details_may_be_a_lone_object_and_a_redial_and_of_a_dockets_call() {
    let mut options = Options::default();
    options.scripts.direct_call = CallStatus::Busy;
    let (mock, client) = started(options.clone()).await;
    let task_id = client.call().await;
    mock.place_next_call(&task_id).unwrap();
    let record = client.details(&task_id).await.json()[0].take();
    assert_eq!(record["call_status"], "BUSY");
    assert!(record["call_insights"].is_null() && record["call_recording_url"].is_null());
    assert_eq!(dockets_call_details(&mock, &client).await.status, 404);

    options.meanings.details_shape = DetailsShape::Object;
    options.meanings.unanswered_insights = UnansweredInsights::Redial;
    options.meanings.docket_calls = DocketCalls::Tasks;
    let (mock, client) = started(options).await;
    let task_id = client.call().await;
    mock.place_next_call(&task_id).unwrap();
    let record = client.details(&task_id).await.json();
    assert_eq!(record["call_insights"]["next_action"]["value"], "REDIAL");
    let record = dockets_call_details(&mock, &client).await.json();
    assert_eq!(record["call_status"], "NO_ANSWER");
}

async fn dockets_call_details(mock: &MockService, client: &Client) -> Reply {
    let id = client.docket(&docket_body()).await;
    mock.place_next_call(&id).unwrap();
    let call_id = client.fetch(&id).await["latest_call_id"].take();
    client.details(call_id.as_str().unwrap()).await
}

#[tokio::test]
async fn the_status_of_an_open_version_2_docket_has_alternatives() {
    for (v2_status, before, between) in [
        (V2Status::OpenUntilCalled, "OPEN", "IN_PROGRESS"),
        (V2Status::InProgress, "IN_PROGRESS", "IN_PROGRESS"),
        (V2Status::OpenUntilClosed, "OPEN", "OPEN"),
    ] {
        let (mock, client) = with(|options| options.meanings.v2_status = v2_status).await;
        let id = client.docket(&docket_body()).await;
        assert_eq!(client.fetch(&id).await["status"], before);
        mock.place_next_call(&id).unwrap();
        assert_eq!(client.fetch(&id).await["status"], between);
        mock.place_next_call(&id).unwrap();
        assert_eq!(client.fetch(&id).await["status"], "COMPLETED");
    }
}

#[tokio::test]
async fn what_an_open_docket_lacks_may_be_left_out() {
    let open_docket_fields = OpenDocketFields::LeftOut;
    let (mock, client) =
        with(|options| options.meanings.open_docket_fields = open_docket_fields).await;
    let id = client.docket(&docket_body()).await;
    assert_eq!(fields(&client.fetch(&id).await), 11);
    mock.complete_docket(&id).unwrap();
    assert_eq!(fields(&client.fetch(&id).await), 17);
}

#[tokio::test]
async fn a_422_may_be_a_text_or_empty() {
    let text = "body.to_phone_number: Field required";
    let text = json!({"detail": text}).to_string();
    for (validation_body, body) in [(ValidationBody::Text, &*text), (ValidationBody::Empty, "")] {
        let (_mock, client) =
            with(|options| options.meanings.validation_body = validation_body).await;
        let reply = client.post(MAKE_CALL, "{}").await;
        assert_eq!((reply.status, &*reply.text()), (422, body));
    }
}

#[tokio::test]
async fn a_created_agent_has_alternatives() {
    let body = r#"{ "agent_name":"x","version":1,"extra":0.10 }"#;
    let configuration = r#"{"agent_id":9, "agent_name":"x","version":1,"extra":0.10 }"#;
    for (created_agent, status, expected) in [
        (CreatedAgent::Id, 200, r#"{"agent_id":9}"#),
        (CreatedAgent::Configuration, 200, configuration),
        (CreatedAgent::Empty, 200, ""),
        (CreatedAgent::NoContent, 204, ""),
    ] {
        let (_mock, client) = with(|options| options.meanings.created_agent = created_agent).await;
        let reply = client.post("/agents/", body).await;
        assert_eq!((reply.status, &*reply.text()), (status, expected));
    }
}

#[tokio::test]
async fn the_agent_may_be_selected_by_phone_number_if_it_is_set() {
    let body = call_body().replace("from_agent_name\":\"renewals", "number\":\"+911140000008");
    let (_mock, client) = with(|_| ()).await;
    assert_eq!(client.post(MAKE_CALL, &body).await.status, 422);
    let agent_phone_field = Some("number".to_owned());
    let (mock, client) =
        with(|options| options.meanings.agent_phone_field = agent_phone_field).await;
    let task_id = client.post(MAKE_CALL, &body).await.id("task_id");
    mock.place_next_call(&task_id).unwrap();
    let details = client.details(&task_id).await.json();
    assert_eq!(details[0]["agent_name"], "collections");
    client.call().await; // by name, too
}
