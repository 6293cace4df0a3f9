//! Agents: creating and listing them.

use crate::client::Client;
use crate::json::{Object, Value, json_argument};
use crate::ledger::{Ledger, Recorded};
use crate::operation::ResponseMeta;
use crate::record::{Field, Record};
use crate::request::{ApiRequest, Endpoint, check_no_control, check_not_empty};
use crate::settings::AccountSettings;
use crate::transport::Transport;
use crate::types::{
    AgentConfig, AgentList, AgentSummary, AgentText, CallOptions, CreatedAgent, Failure, Problem,
};

pub(crate) const CREATE_AGENT: Endpoint = Endpoint::post("agents.create-agent", "/agents/");
pub(crate) const LIST_AGENTS: Endpoint = Endpoint::get(
    "agents.list-agents",
    "/api/v1/agents?organizationId={organization_id}",
);

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Implements `agents.create-agent`; it is carried out once if it has a key in the ledger.
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
        options: Option<CallOptions>,
        key: Option<&str>,
    ) -> Result<Recorded<CreatedAgent>, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_agent_request(config, settings))?;
        let decode = |body: &str, meta| Ok(decode_created_agent(body, meta));
        operation.create(&request, key, None, decode).await
    }

    /// Implements `agents.list-agents`.
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Result<AgentList, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|_| {
            check_not_empty("organization-id", organization_id)?;
            check_no_control("organization-id", organization_id)?;
            ApiRequest::read(&LIST_AGENTS, "organization-id", organization_id)
        })?;
        operation.send(&request).await?.decode(decode_agents)
    }
}

fn create_agent_request(
    config: &AgentConfig,
    settings: &AccountSettings,
) -> Result<ApiRequest, Problem> {
    ApiRequest::create(&CREATE_AGENT, &encode_agent(config)?, settings)
}

fn encode_agent(config: &AgentConfig) -> Result<Record<'_>, Problem> {
    check_not_empty("agent-name", &config.agent_name)?;
    let tools = match &config.tools {
        Some(tools) => Field::Json(json_argument("tools", tools)?),
        None => Field::Null,
    };
    Record::new(vec![
        ("prompt", encode_text("prompt", &config.prompt)?),
        ("agent_name", Field::Text(&config.agent_name)),
        (
            "agent_phone_number",
            Field::text(&config.agent_phone_number),
        ),
        ("voice_id", Field::text(&config.voice_id)),
        ("version", Field::integer(config.version)),
        (
            "welcome_text",
            encode_text("welcome-text", &config.welcome_text)?,
        ),
        ("tools", tools),
        ("enabled", Field::boolean(config.enabled)),
        ("save_stats", Field::boolean(config.save_stats)),
        ("server_type", Field::text(&config.server_type)),
        ("call_type", Field::text(&config.call_type)),
        ("created_at", Field::text(&config.created_at)),
        ("updated_at", Field::text(&config.updated_at)),
    ])
    .with_extra("extra", config.extra.as_deref())
}

fn encode_text<'a>(argument: &str, text: &'a Option<AgentText>) -> Result<Field<'a>, Problem> {
    let Some(text) = text else {
        return Ok(Field::Absent);
    };
    let record = Record::new(vec![("default", Field::Text(&text.default_text))])
        .with_extra(&format!("{argument}.extra"), text.extra.as_deref())?;
    Ok(Field::Object(record))
}

/// Decodes the response to a creation. Its form is not specified: all of it is kept.
fn decode_created_agent(body: &str, meta: ResponseMeta) -> CreatedAgent {
    let json = Value::parse(body).ok();
    let object = json.and_then(|json| json.to_object().ok());
    CreatedAgent {
        agent_id: object.and_then(|object| object.integer("agent_id")),
        raw_json: json.map(|json| json.text().to_owned()),
        raw_text: (json.is_none() && !body.is_empty()).then(|| body.to_owned()),
        request_id: meta.request_id,
        attempts: meta.attempts,
        may_be_duplicate: meta.may_be_duplicate,
    }
}

fn decode_agents(body: &str, meta: ResponseMeta) -> Result<AgentList, String> {
    let body = Value::parse(body)?;
    let agents = body
        .to_array()
        .map_err(|found| format!("{found}, not an array of agents"))?;
    Ok(AgentList {
        agents: agents.into_iter().map(decode_agent).collect(),
        raw_json: body.text().to_owned(),
        request_id: meta.request_id,
        attempts: meta.attempts,
    })
}

/// An element that is not an object has no known members.
fn decode_agent(agent: Value<'_>) -> AgentSummary {
    let object = agent.to_object().unwrap_or_else(|_| Object::empty(agent));
    AgentSummary {
        agent_id: object.integer("agent_id"),
        agent_name: object.text("agent_name"),
    }
}

#[cfg(test)]
mod tests {
    use crate::simulation::{World, assert_refused};

    /// An agent, the argument at fault, and what was found.
    const REFUSED: &str = r#"
        {"agent_name":""} | agent-name | an empty string
        {"agent_name":"a","tools":"{"} | tools | not JSON: EOF while parsing an object at line 1 column 1
        {"agent_name":"a","extra":"[]"} | extra | an array
        {"agent_name":"a","welcome_text":{"default_text":"a","extra":"7"}} | welcome-text.extra | a number"#;

    #[test]
    fn an_agent_that_is_refused_is_not_sent() {
        assert_refused(REFUSED, async |client, agent| {
            let agent = serde_json::from_str(agent).unwrap();
            client.create_agent(&agent, None, None).await.map(drop)
        });
    }

    #[test]
    fn an_organization_id_that_is_refused_is_not_sent() {
        let world = World::default();
        let client = world.client(&[]);
        for (id, found) in [
            ("", "an empty string"),
            ("org\n1", "'\\n' at position 4"),
            (&"\u{1f642}".repeat(342), "4104 bytes"),
        ] {
            let listed = world.run(client.list_agents(id, None));
            let problem = listed.unwrap_err().problem.unwrap();
            let said = (&*problem.subject, &*problem.found);
            assert_eq!(said, ("organization-id", found));
        }
        assert!(world.sent().is_empty());
    }
}
