//! Agents: created and listed.

use crate::operation::{agent, returned};
use crate::stage::Stage;
use crate::wire;
use voice_calling_host::types::*;
use voice_calling_mock::{
    AgentFields, CreatedAgent as Answer, Meanings, Unauthorized, ValidationBody,
};

/// A configuration with all 13 fields, and what may be added.
fn full() -> AgentConfig {
    AgentConfig {
        prompt: Some(AgentText {
            default_text: "You are \"Asha\".\nBe kind. \u{1f4de}".into(),
            extra: Some(r#"{"hi":"\u0928","weight":0.10}"#.into()),
        }),
        agent_name: "renewals-2".into(),
        agent_phone_number: Some("+911140000009".into()),
        voice_id: Some("voice-1".into()),
        version: Some(i64::MAX),
        welcome_text: Some(AgentText {
            default_text: "Hello".into(),
            extra: None,
        }),
        tools: Some(r#"[{"name":"lookup","limit":12345678901234567890}]"#.into()),
        enabled: Some(true),
        save_stats: Some(false),
        server_type: Some("staging".into()),
        call_type: Some("OUTBOUND".into()),
        created_at: Some("2026-01-02T03:04:05".into()),
        updated_at: Some("2026-01-02".into()),
        extra: Some(r#"{"region":"in","rate":1.50}"#.into()),
    }
}

const FULL: &str = r#"{"prompt":{"default":"You are \"Asha\".\nBe kind. 📞","hi":"\u0928","weight":0.10},"agent_name":"renewals-2","agent_phone_number":"+911140000009","voice_id":"voice-1","version":9223372036854775807,"welcome_text":{"default":"Hello"},"tools":[{"name":"lookup","limit":12345678901234567890}],"enabled":true,"save_stats":false,"server_type":"staging","call_type":"OUTBOUND","created_at":"2026-01-02T03:04:05","updated_at":"2026-01-02","region":"in","rate":1.50}"#;

async fn stage_with(meanings: Meanings) -> Stage {
    Stage::changed(|options| options.meanings = meanings).await
}

#[tokio::test]
async fn an_agent_is_created_with_all_its_fields() {
    let stage = Stage::start().await;
    let created = stage.instance().await.create_agent(&full(), None).await;
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/agents/", FULL)]
    );
    let created = created.unwrap().unwrap();
    let expected = CreatedAgent {
        agent_id: Some(9),
        raw_json: Some(r#"{"agent_id":9}"#.into()),
        raw_text: None,
        request_id: None,
        attempts: created.attempts.clone(),
        may_be_duplicate: false,
    };
    assert_eq!(created, expected);
    assert_eq!(created.attempts.len(), 1);
}

#[tokio::test]
async fn an_agent_with_nothing_but_a_name_is_created_without_tools() {
    let stage = Stage::start().await;
    let created = stage
        .instance()
        .await
        .create_agent(&agent("short"), None)
        .await;
    assert_eq!(created.unwrap().unwrap().agent_id, Some(9));
    assert_eq!(
        wire::received(&stage),
        [wire::post(
            &stage,
            "/agents/",
            r#"{"agent_name":"short","tools":null}"#
        )]
    );
}

#[tokio::test]
async fn whatever_the_service_answers_to_a_new_agent_is_kept() {
    let configuration = FULL.replacen('{', r#"{"agent_id":9,"#, 1);
    for (answer, agent_id, raw_json) in [
        (Answer::Id, Some(9), Some(r#"{"agent_id":9}"#)),
        (Answer::Configuration, Some(9), Some(configuration.as_str())),
        (Answer::Empty, None, None),
        (Answer::NoContent, None, None),
    ] {
        let stage = stage_with(Meanings {
            created_agent: answer,
            ..Meanings::default()
        })
        .await;
        let created = stage.instance().await.create_agent(&full(), None).await;
        let created = created.unwrap().unwrap();
        assert_eq!(created.agent_id, agent_id, "{answer:?}");
        assert_eq!(created.raw_json.as_deref(), raw_json, "{answer:?}");
        assert_eq!(created.raw_text, None, "{answer:?}");
    }
}

#[tokio::test]
async fn a_validation_error_of_the_service_is_told_with_its_body() {
    for (validation_body, beginning) in [
        (
            ValidationBody::List,
            r#"{"detail":[{"type":"missing","loc":["body","prompt"],"msg":"Field required"}"#,
        ),
        (
            ValidationBody::Text,
            r#"{"detail":"body.prompt: Field required"#,
        ),
        (ValidationBody::Empty, ""),
    ] {
        let stage = stage_with(Meanings {
            agent_fields: AgentFields::All,
            validation_body,
            ..Meanings::default()
        })
        .await;
        let mut instance = stage.instance().await;
        let error = returned(instance.create_agent(&agent("short"), None))
            .await
            .unwrap_err();
        assert_eq!(error.case(), "permanent-rejected");
        let response = error.response().unwrap();
        assert_eq!(response.status, 422);
        assert!(response.body.starts_with(beginning), "{}", response.body);
        assert_eq!(response.body.is_empty(), beginning.is_empty());
        assert!(!response.body_cut);
        assert_eq!(stage.mock.requests().len(), 1);

        returned(instance.create_agent(&full(), None))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_agents_of_an_organization_are_listed() {
    let stage = Stage::start().await;
    let agents = stage.instance().await.list_agents("org-1", None).await;
    assert_eq!(
        wire::received(&stage),
        [wire::get(&stage, "/api/v1/agents?organizationId=org-1")]
    );
    let summary = |agent_id, agent_name: &str| AgentSummary {
        agent_id: Some(agent_id),
        agent_name: Some(agent_name.into()),
    };
    let listed = agents.unwrap().unwrap();
    let expected = AgentList {
        agents: vec![summary(7, "renewals"), summary(8, "collections")],
        raw_json:
            r#"[{"agent_id":7,"agent_name":"renewals"},{"agent_id":8,"agent_name":"collections"}]"#
                .into(),
        request_id: None,
        attempts: listed.attempts.clone(),
    };
    assert_eq!(listed, expected);
    assert_eq!(listed.attempts.len(), 1);
}

#[tokio::test]
async fn an_organization_id_stays_one_value_of_the_query() {
    let organization_id = "a&b=c+d e/?#%ä";
    let stage = Stage::changed(|options| options.organization_id = organization_id.into()).await;
    let mut instance = stage.instance().await;
    returned(instance.list_agents(organization_id, None))
        .await
        .unwrap();
    let query = "/api/v1/agents?organizationId=a%26b%3Dc%2Bd%20e%2F%3F%23%25%C3%A4";
    assert_eq!(wire::received(&stage), [wire::get(&stage, query)]);
}

#[tokio::test]
async fn an_unknown_organization_is_not_found() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let error = returned(instance.list_agents("org-2", None))
        .await
        .unwrap_err();
    assert_eq!(error.case(), "permanent-not-found");
    let body = &error.response().unwrap().body;
    assert_eq!(body, r#"{"detail":"Organization not found"}"#);
}

#[tokio::test]
async fn a_wrong_token_is_unauthorized_by_either_status() {
    for (unauthorized, status) in [
        (Unauthorized::Status401, 401),
        (Unauthorized::Status403, 403),
    ] {
        let stage = stage_with(Meanings {
            unauthorized,
            ..Meanings::default()
        })
        .await;
        let mut instance = stage.instance_with(&[("API_TOKEN", "another")]).await;
        let error = returned(instance.list_agents("org-1", None))
            .await
            .unwrap_err();
        assert_eq!(error.case(), "permanent-unauthorized");
        assert_eq!(error.response().unwrap().status, status);
        assert_eq!(stage.mock.requests().len(), 1);
    }
}
