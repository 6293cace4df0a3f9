//! The answers to `agents.list-agents` and `agents.create-agent`.

use crate::answer::{MayHaveCreated, assert_kept, assert_passed_on};
use crate::members::{Members, elements, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::AgentConfig;

/// Of a list nothing is lost but what is not an agent in it; a creation succeeds whatever
/// the answer is.
pub fn agents(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data);
    let listed = json.as_deref().and_then(elements);
    match run(client.list_agents("org-1", None)) {
        Ok(list) => {
            assert_eq!(Some(&list.raw_json), json.as_ref());
            let listed = listed.expect("a list");
            assert_eq!(list.agents.len(), listed.len());
            for (agent, json) in list.agents.iter().zip(listed) {
                let came = Members::of(json);
                assert_eq!(agent.agent_id, came.integer("agent_id"));
                assert_eq!(agent.agent_name, came.text("agent_name"));
            }
        }
        Err(error) => {
            assert_eq!(listed, None, "a list is lost");
            assert_kept(&error, data, MayHaveCreated::No);
        }
    }

    let created = run(client.create_agent(&bare(), None)).expect("any 2xx is a created agent");
    let text = String::from_utf8_lossy(data);
    let came = Members::of(json.as_deref().unwrap_or_default());
    assert_eq!(created.agent_id, came.integer("agent_id"));
    assert_passed_on(&created.raw_json, json.as_deref());
    let no_json = Some(&*text).filter(|text| json.is_none() && !text.is_empty());
    assert_eq!(created.raw_text.as_deref(), no_json);
    assert!(!created.may_be_duplicate && created.attempts.len() == 1);
}

fn bare() -> AgentConfig {
    AgentConfig {
        prompt: None,
        agent_name: "renewals".to_owned(),
        agent_phone_number: None,
        voice_id: None,
        version: None,
        welcome_text: None,
        tools: None,
        enabled: None,
        save_stats: None,
        server_type: None,
        call_type: None,
        created_at: None,
        updated_at: None,
        extra: None,
    }
}
