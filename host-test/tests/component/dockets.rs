use crate::stage::{NUMBER, Stage};
use host_test::mock::Endpoint;
use host_test::types::*;

fn request() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: r#"{"name":"Asha"}"#.into(),
        external_id: Some("crm-7".into()),
        extra: None,
    }
}

#[tokio::test]
async fn a_docket_of_version_2_is_created_with_its_external_id() {
    let stage = Stage::start().await;
    let created = stage
        .instance()
        .await
        .create_docket_v2(&request())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(created.status, Some(DocketStatus::Open));
    assert_eq!(created.created, Some(true));

    let sent = stage.mock.requests_to(Endpoint::CreateDocketV2);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].path_and_query, "/api/v2/dockets");
}
