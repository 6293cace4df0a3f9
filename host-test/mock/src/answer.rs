//! What the service answers: its memory and a request in, an answer out.

use std::time::SystemTime;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use super::agent::Agent;
use super::call::CallRequest;
use super::docket::{DocketRequest, Version};
use super::endpoint::{Endpoint, Route, route};
use super::json_object::{FieldType, JsonObject};
use super::options::{CreatedAgent, DetailsNotReady, DetailsShape, UnknownTask};
use super::received::ReceivedRequest;
use super::refusal::{Refusal, detail};
use super::state::{State, Target, json_text};

/// An HTTP answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Self {
        Self::json_text(status, json_text(body))
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn json_text(status: StatusCode, text: String) -> Self {
        Self {
            status,
            headers: vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
            body: text.into_bytes(),
        }
    }
}

/// An answer, and what it is about.
pub(super) struct Reply {
    pub(super) answer: Answer,
    /// The docket or direct call of a creation.
    pub(super) about: Option<Target>,
    /// Whether the request has started it.
    pub(super) is_new: bool,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            about: None,
            is_new: false,
        }
    }
}

/// Answers one request: routing first, then the token, then the request itself.
pub(super) fn answer(state: &mut State, request: &ReceivedRequest, now: SystemTime) -> Reply {
    let (endpoint, id) = match route(&request.method, request.path()) {
        Route::Found { endpoint, id } => (endpoint, id),
        Route::WrongMethod { allow } => return method_not_allowed(allow).into(),
        Route::Unknown => return detail(StatusCode::NOT_FOUND, "Not Found").into(),
    };
    let reply = authorize(state, request).and_then(|()| match endpoint {
        Endpoint::CreateAgent => create_agent(state, request).map(Reply::from),
        Endpoint::ListAgents => list_agents(state, request).map(Reply::from),
        Endpoint::MakeCall => make_call(state, request, now),
        Endpoint::GetCallDetails => get_call_details(state, id).map(Reply::from),
        Endpoint::CreateDocket => create_docket(state, request, Version::One, now),
        Endpoint::CreateDocketV2 => create_docket(state, request, Version::Two, now),
        Endpoint::GetDocket => get_docket(state, id).map(Reply::from),
    });
    reply.unwrap_or_else(|refusal| refusal.answer(&state.meanings).into())
}

fn method_not_allowed(allow: &'static str) -> Answer {
    let mut answer = detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    let allow = HeaderValue::from_static(allow);
    answer.headers.push((ALLOW, allow));
    answer
}

/// `auth_token: Bearer <API_TOKEN>`, once (specification, "Authentication").
fn authorize(state: &State, request: &ReceivedRequest) -> Result<(), Refusal> {
    let expected = format!("Bearer {}", state.token);
    match request.header_values("auth_token").as_slice() {
        [value] if *value == expected.as_bytes() => Ok(()),
        _ => Err(Refusal::Unauthorized),
    }
}

/// The body, which must be declared as JSON and be an object.
fn json_body(request: &ReceivedRequest) -> Result<JsonObject, Refusal> {
    let kind = "model_attributes_type";
    let message = "Input should be a valid dictionary or object to extract fields from";
    let not_object = || Refusal::invalid(&["body"], kind, message);
    if request.body.is_empty() {
        return Err(Refusal::invalid(&["body"], "missing", "Field required"));
    }
    if !request.declares_json() {
        return Err(not_object());
    }
    let json: Box<RawValue> = serde_json::from_slice(&request.body)
        .map_err(|_| Refusal::invalid(&["body"], "json_invalid", "JSON decode error"))?;
    JsonObject::read(&json).ok_or_else(not_object)
}

fn create_agent(state: &mut State, request: &ReceivedRequest) -> Result<Answer, Refusal> {
    let body = json_body(request)?;
    let agent_id = state.next_agent_id();
    let agent = Agent::configured(agent_id, &body, state.meanings.agent_fields)
        .map_err(Refusal::Invalid)?;
    state.add_agent(agent);
    let ok = StatusCode::OK;
    Ok(match state.meanings.created_agent {
        CreatedAgent::Id => Answer::json_text(ok, format!(r#"{{"agent_id":{agent_id}}}"#)),
        CreatedAgent::Configuration => {
            let fields = body.text.get().trim_start_matches('{');
            Answer::json_text(ok, format!(r#"{{"agent_id":{agent_id},{fields}"#))
        }
        CreatedAgent::Empty => Answer::empty(ok),
        CreatedAgent::NoContent => Answer::empty(StatusCode::NO_CONTENT),
    })
}

fn list_agents(state: &State, request: &ReceivedRequest) -> Result<Answer, Refusal> {
    let organization_id = request.query_value("organizationId").ok_or_else(|| {
        Refusal::invalid(&["query", "organizationId"], "missing", "Field required")
    })?;
    if organization_id != state.organization_id {
        return Err(Refusal::NotFound("Organization"));
    }
    let items: Vec<_> = state.agents().map(Agent::list_item).collect();
    Ok(Answer::json(StatusCode::OK, &items))
}

fn make_call(
    state: &mut State,
    request: &ReceivedRequest,
    now: SystemTime,
) -> Result<Reply, Refusal> {
    #[derive(Serialize)]
    struct StartedCall<'a> {
        task_id: &'a str,
    }
    let body = json_body(request)?;
    let phone_field = state.meanings.agent_phone_field.as_deref();
    let request = CallRequest::read(&body, phone_field).map_err(Refusal::Invalid)?;
    let task_id = state.start_call(request, now)?;
    Ok(Reply {
        answer: Answer::json(StatusCode::OK, &StartedCall { task_id: &task_id }),
        about: Some(Target::Call(task_id)),
        is_new: true,
    })
}

fn get_call_details(state: &State, task_id: &str) -> Result<Answer, Refusal> {
    let (ok, meanings) = (StatusCode::OK, &state.meanings);
    let empty_array = || Ok(Answer::json_text(ok, "[]".to_owned()));
    let Some(call) = state.call(task_id) else {
        return match meanings.unknown_task {
            UnknownTask::NotFound => Err(Refusal::NotFound("Task")),
            UnknownTask::EmptyArray => empty_array(),
        };
    };
    match meanings.details_not_ready {
        DetailsNotReady::NotFound if call.ended.is_none() => Err(Refusal::NotFound("Call details")),
        DetailsNotReady::EmptyArray if call.ended.is_none() => empty_array(),
        _ => Ok(match meanings.details_shape {
            DetailsShape::Array => Answer::json(ok, &[call.record(meanings)]),
            DetailsShape::Object => Answer::json(ok, &call.record(meanings)),
        }),
    }
}

#[derive(Serialize)]
struct CreatedDocket {
    docket_id: String,
    status: &'static str,
    /// Version 2 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<bool>,
}

fn create_docket(
    state: &mut State,
    request: &ReceivedRequest,
    version: Version,
    now: SystemTime,
) -> Result<Reply, Refusal> {
    let body = json_body(request)?;
    let request = DocketRequest::read(&body, version).map_err(Refusal::Invalid)?;
    if let Some(docket) = state.same_docket(&request) {
        let same = CreatedDocket {
            docket_id: docket.id.to_string(),
            status: docket.status(state.meanings.v2_status),
            created: Some(false),
        };
        return Ok(Reply {
            answer: Answer::json(StatusCode::OK, &same),
            about: Some(Target::Docket(docket.id)),
            is_new: false,
        });
    }
    let docket = state.start_docket(version, request, now)?;
    let created = CreatedDocket {
        docket_id: docket.id.to_string(),
        status: docket.created_status(),
        created: (version == Version::Two).then_some(true),
    };
    Ok(Reply {
        answer: Answer::json(StatusCode::OK, &created),
        about: Some(Target::Docket(docket.id)),
        is_new: true,
    })
}

fn get_docket(state: &State, docket_id: &str) -> Result<Answer, Refusal> {
    let docket = state.docket(docket_id);
    let docket = docket.ok_or(Refusal::NotFound("Docket"))?;
    let fetched = docket.fetched(&state.meanings);
    Ok(Answer::json(StatusCode::OK, &fetched))
}
