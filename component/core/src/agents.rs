//! Agents: creating and listing them.

use crate::client::Client;
use crate::json::{Object, Value, json_argument};
use crate::ledger::{Ledger, Once, Recorded, create};
use crate::operation::ResponseMeta;
use crate::record::{Field, Record};
use crate::request::{ApiRequest, Endpoint, check_no_control, check_not_empty};
use crate::settings::AccountSettings;
use crate::transport::Transport;
use crate::types::{
    AgentConfig, AgentList, AgentSummary, AgentText, CallOptions, CreatedAgent, Problem,
    RequestError,
};

const CREATE_AGENT: Endpoint = Endpoint::post("agents.create-agent", "/agents/");
const LIST_AGENTS: Endpoint = Endpoint::get(
    "agents.list-agents",
    "/api/v1/agents?organizationId={organization_id}",
);

impl<T: Transport> Client<T> {
    /// Implements `agents.create-agent`.
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
        options: Option<CallOptions>,
    ) -> Result<CreatedAgent, RequestError> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_agent_request(config, settings))?;
        operation
            .send(&request)
            .await?
            .decode(|body, meta| Ok(decode_created_agent(body, meta)))
    }

    /// Implements `agents.create-agent`; it is carried out once if it has a key in a ledger.
    pub async fn create_agent_once<L: Ledger>(
        &self,
        config: &AgentConfig,
        options: Option<CallOptions>,
        once: Option<Once<'_, L>>,
    ) -> Result<Recorded<CreatedAgent>, RequestError> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_agent_request(config, settings))?;
        let decode = |body: &str, meta| Ok(decode_created_agent(body, meta));
        create(once, &operation, &request, decode).await
    }

    /// Implements `agents.list-agents`.
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Result<AgentList, RequestError> {
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
    use super::*;

    fn text(default_text: &str, extra: Option<&str>) -> Option<AgentText> {
        Some(AgentText {
            default_text: default_text.into(),
            extra: extra.map(str::to_owned),
        })
    }

    /// Returns an agent that has only a name, with these changes.
    fn with(change: impl Fn(&mut AgentConfig)) -> AgentConfig {
        let mut config = AgentConfig::new("renewals");
        change(&mut config);
        config
    }

    #[test]
    fn all_fields_are_encoded_as_specified_and_missing_tools_as_null() {
        let full = with(|config| {
            config.prompt = text("Be kind.", Some(r#"{"hi":"\u0928"}"#));
            config.agent_phone_number = Some("911".into());
            config.voice_id = Some("v".into());
            config.version = Some(3);
            config.welcome_text = text("Hello", None);
            config.tools = Some(r#"[{"name":"t","n":1.0}]"#.into());
            config.enabled = Some(true);
            config.save_stats = Some(false);
            config.server_type = Some("s".into());
            config.call_type = Some("c".into());
            config.created_at = Some("x".into());
            config.updated_at = Some("y".into());
            config.extra = Some(r#"{"region":"in"}"#.into());
        });
        for (config, expected) in [
            (with(|_| {}), r#"{"agent_name":"renewals","tools":null}"#),
            (
                full,
                r#"{"prompt":{"default":"Be kind.","hi":"\u0928"},"agent_name":"renewals","agent_phone_number":"911","voice_id":"v","version":3,"welcome_text":{"default":"Hello"},"tools":[{"name":"t","n":1.0}],"enabled":true,"save_stats":false,"server_type":"s","call_type":"c","created_at":"x","updated_at":"y","region":"in"}"#,
            ),
        ] {
            let encoded = encode_agent(&config).map(|record| record.to_json());
            assert_eq!(encoded.unwrap(), expected);
        }
    }

    #[test]
    fn bad_arguments_of_an_agent_are_named() {
        let twice = r#"{"default":"q"}"#;
        let prompt = |extra| AgentConfig {
            prompt: text("p", Some(extra)),
            ..with(|_| {})
        };
        for (config, subject) in [
            (with(|it| it.agent_name.clear()), "agent-name"),
            (with(|it| it.tools = Some("{".into())), "tools"),
            (prompt("[]"), "prompt.extra"),
            (prompt(twice), "prompt.extra.default"),
            (
                with(|it| it.welcome_text = text("p", Some("7"))),
                "welcome-text.extra",
            ),
        ] {
            assert_eq!(encode_agent(&config).err().unwrap().subject, subject);
        }
        let names = "prompt agent_name agent_phone_number voice_id version welcome_text tools \
            enabled save_stats server_type call_type created_at updated_at";
        for name in names.split_whitespace() {
            let config = with(|it| it.extra = Some(format!(r#"{{"{name}":1}}"#)));
            let problem = encode_agent(&config).err().unwrap();
            assert_eq!(problem.subject, format!("extra.{name}"));
        }
    }

    #[test]
    fn any_response_to_a_creation_is_kept() {
        for (body, agent_id, is_json) in [
            (r#"{"agent_id":7,"x":1.0}"#, Some(7), true),
            (r#"{"agent_id":"7"}"#, None, true),
            (r#"{"data":{"agent_id":7}}"#, None, true),
            ("[7]", None, true),
            ("null", None, true),
            ("", None, false),
            ("created", None, false),
        ] {
            let text = Some(body.to_owned()).filter(|body| !body.is_empty());
            let expected = CreatedAgent {
                agent_id,
                raw_json: text.clone().filter(|_| is_json),
                raw_text: text.filter(|_| !is_json),
                request_id: None,
                attempts: Vec::new(),
                may_be_duplicate: false,
            };
            let created = decode_created_agent(body, ResponseMeta::default());
            assert_eq!(created, expected, "{body}");
        }
    }

    #[test]
    fn an_odd_agent_in_a_list_costs_only_itself() {
        let listed = |json: &str| decode_agents(json, ResponseMeta::default());
        let json = r#"[{"agent_id":7,"agent_name":"a","x":0.10},{"agent_id":"8"},9]"#;
        let list = listed(json).unwrap();
        let agents = list.agents.iter();
        let seen: Vec<_> = agents
            .map(|agent| (agent.agent_id, agent.agent_name.as_deref()))
            .collect();
        assert_eq!(seen, [(Some(7), Some("a")), (None, None), (None, None)]);
        assert_eq!(list.raw_json, json);
        let found = listed("{}").unwrap_err();
        assert_eq!(found, "an object, not an array of agents");
    }
}
