//! Processes a request under one lock: its effect, its answer, and the record of both, so that an
//! effect is never visible without its request.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::agent::Agent;
use super::answer::{Answer, Refusal, detail};
use super::creation::{Creation, Origin};
use super::delivery::Notification;
use super::fault::Fault;
use super::number::order_of;
use super::request::{Endpoint, ReceivedRequest, RequestDetails, RequestLine};
use super::state::State;
use super::task::{Moment, milliseconds};

/// The remaining steps of an exchange.
pub(super) struct Exchange {
    /// The number of the request, from 1.
    pub(super) number: usize,
    pub(super) answer: Answer,
    /// The time for which the answer is held back; `None` is for ever.
    pub(super) hold: Option<Duration>,
    /// The notification that is delivered before the answer is sent.
    pub(super) notification: Option<Notification>,
}

/// Answers a request that was received at `now`.
pub(super) fn exchange(state: &mut State, received: ReceivedRequest, now: SystemTime) -> Exchange {
    let number = state.next_request();
    let endpoint = received.endpoint;
    let ordered = endpoint.and_then(|endpoint| state.take_fault(Some(endpoint)));
    let creation = read_creation(&received);
    let asked = creation
        .as_ref()
        .and_then(|creation| creation.as_ref().ok());
    let is_authorized = authorize(state, &received).is_ok();
    let by_number = asked.filter(|_| is_authorized);
    let fault = ordered.or_else(|| {
        let order = order_of(&by_number?.to_phone_number)?;
        order.endpoint.is_some().then_some(order.fault)
    });
    let earlier = asked.and_then(|asked| state.earlier(asked, now));

    let is_processed = fault.as_ref().is_none_or(Fault::is_processed);
    let reply = is_processed.then(|| answer(state, &received, creation.as_ref(), now));
    let (proper, created) = reply.unzip();
    let created = created.flatten();
    let started = created.and_then(|(id, is_new)| is_new.then_some(id));
    let (answer, hold) = match (&fault, proper) {
        (Some(fault), proper) => (fault.answer(proper), fault.hold()),
        (None, proper) => (proper.expect("processed"), Some(Duration::ZERO)),
    };
    let hold = hold.map(|hold| hold + state.options.answer_delay);
    let created = created.map(|(id, _)| id);
    let about = created.or_else(|| read_by(state, &received));
    if let (Some(fault), Some(id)) = (&fault, about.or(earlier)) {
        let text = format!("Request {number} met the fault {fault}.");
        state.note(id, Moment::new(now, text));
    }

    let mut notification = None;
    let completes_first = fault.as_ref().is_some_and(Fault::completes_first);
    if completes_first && let Some(id) = started {
        while let Some(step) = state.step(id, None, now) {
            notification = step.notification;
        }
    }
    let mut request = RequestDetails {
        line: RequestLine {
            n: number,
            at_ms: milliseconds(now),
            method: received.method.to_string(),
            path: received.path_and_query.clone(),
            endpoint: endpoint.map(|endpoint| endpoint.to_string()),
            status: None,
            duration_ms: None,
            fault: fault.as_ref().map(Fault::to_string),
            entry: about,
            repeats: earlier.is_some() && (started.is_some() || fault.is_some()),
        },
        received,
        answer: answer.clone(),
        sequence: 0,
    };
    if hold == Some(Duration::ZERO) && notification.is_none() {
        request.sent(Duration::ZERO);
    }
    state.keep(request);
    Exchange {
        number,
        answer,
        hold,
        notification,
    }
}

/// Reads the creation in a request, if its endpoint starts calls.
fn read_creation(request: &ReceivedRequest) -> Option<Result<Creation, Refusal>> {
    let endpoint = request
        .endpoint
        .filter(|endpoint| endpoint.starts_calls())?;
    let read = |body| Creation::read(endpoint, body).map_err(Refusal::Invalid);
    Some(json_body(request).and_then(read))
}

/// Returns the docket or direct call that the request reads.
fn read_by(state: &State, request: &ReceivedRequest) -> Option<Uuid> {
    match request.endpoint? {
        Endpoint::GetDocket | Endpoint::GetCallDetails => Some(state.task(&request.id)?.id),
        _ => None,
    }
}

/// An answer; and for a creation the docket or direct call, and whether this request started it.
type Reply = (Answer, Option<(Uuid, bool)>);

/// Answers a request: routing first, then the token, then the request itself.
fn answer(
    state: &mut State,
    request: &ReceivedRequest,
    creation: Option<&Result<Creation, Refusal>>,
    now: SystemTime,
) -> Reply {
    let Some(endpoint) = request.endpoint else {
        return (detail(StatusCode::NOT_FOUND, "Not Found"), None);
    };
    let mut reply = || -> Result<Reply, Refusal> {
        let owner = authorize(state, request)?;
        state.count(owner, now)?;
        let answer = match (endpoint, creation) {
            (Endpoint::CreateAgent, _) => create_agent(state, request)?,
            (Endpoint::ListAgents, _) => list_agents(state, request, owner)?,
            (Endpoint::GetCallDetails, _) => get_call_details(state, owner, &request.id)?,
            (_, Some(Ok(creation))) => return create(state, owner, creation, request.size(), now),
            (_, Some(Err(refusal))) => return Err(refusal.clone()),
            (_, None) => get_docket(state, owner, &request.id)?,
        };
        Ok((answer, None))
    };
    reply().unwrap_or_else(|refusal| (refusal.answer(), None))
}

/// Returns the index of the organization whose token is in the only `auth_token: Bearer <API_TOKEN>`
/// (specification, "Authentication").
fn authorize(state: &State, request: &ReceivedRequest) -> Result<usize, Refusal> {
    let [value] = request.header_values("auth_token")[..] else {
        return Err(Refusal::Unauthorized);
    };
    let sent = value.strip_prefix(b"Bearer ");
    let mut tokens = state.options.tokens.iter();
    let owner = tokens.position(|token| sent == Some(token.as_bytes()));
    owner.ok_or(Refusal::Unauthorized)
}

/// Returns the body, which must be declared as JSON.
fn json_body(request: &ReceivedRequest) -> Result<&[u8], Refusal> {
    match request.declares_json() {
        true => Ok(&request.body),
        false => Err(Refusal::Invalid(
            "body: its content-type is not application/json".to_owned(),
        )),
    }
}

fn create_agent(state: &mut State, request: &ReceivedRequest) -> Result<Answer, Refusal> {
    let body = json_body(request)?;
    let agent_id = state.next_agent_id();
    let agent = Agent::configured(agent_id, body).map_err(Refusal::Invalid)?;
    state.add_agent(agent);
    Ok(Answer::json(StatusCode::OK, &json!({"agent_id": agent_id})))
}

fn list_agents(
    state: &State,
    request: &ReceivedRequest,
    organization: usize,
) -> Result<Answer, Refusal> {
    let organization_id = request
        .query_value("organizationId")
        .ok_or_else(|| Refusal::Invalid("query: missing parameter `organizationId`".to_owned()))?;
    if organization_id != format!("org-{}", organization + 1) {
        return Err(Refusal::NotFound("Organization"));
    }
    Ok(Answer::json(StatusCode::OK, &state.agents))
}

fn get_call_details(state: &State, organization: usize, task_id: &str) -> Result<Answer, Refusal> {
    let task = state.task_of(organization, task_id);
    let task = task.filter(|task| !task.is_docket());
    let task = task.ok_or(Refusal::NotFound("Task"))?;
    let attempt = task.attempts.last();
    let attempt = attempt.ok_or(Refusal::NotFound("Call details"))?;
    Ok(Answer::json(StatusCode::OK, &[task.record(attempt)]))
}

/// Starts the docket or call that a request of `size` bytes asks for, unless it repeats a docket and
/// repeats are recognised.
fn create(
    state: &mut State,
    organization: usize,
    creation: &Creation,
    size: usize,
    now: SystemTime,
) -> Result<Reply, Refusal> {
    let answered = |id, is_new, body: &Value| {
        let answer = Answer::json(StatusCode::OK, body);
        Ok((answer, Some((id, is_new))))
    };
    if let Some(docket) = state.same_docket(organization, creation) {
        let (id, status) = (docket.id, docket.status());
        let body = json!({"docket_id": id, "status": status, "created": false});
        return answered(id, false, &body);
    }
    let id = state.start(organization, creation, size, now)?;
    // For the statuses of new dockets, see the specification, "States and transitions".
    let body = match creation.origin {
        Origin::Call => json!({"task_id": id}),
        Origin::DocketV1 => json!({"docket_id": id, "status": "IN_PROGRESS"}),
        Origin::DocketV2 => json!({"docket_id": id, "status": "OPEN", "created": true}),
    };
    answered(id, true, &body)
}

fn get_docket(state: &State, organization: usize, docket_id: &str) -> Result<Answer, Refusal> {
    let docket = state.task_of(organization, docket_id);
    let docket = docket.filter(|task| task.is_docket());
    let docket = docket.ok_or(Refusal::NotFound("Docket"))?;
    Ok(Answer::json(StatusCode::OK, &docket.fetched()))
}
