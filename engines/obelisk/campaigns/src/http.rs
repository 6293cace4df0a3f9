//! The wasi:http handler.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use voice_calling_obelisk_guest::campaign::{CampaignState, Order};
use voice_calling_obelisk_guest::{Api, Reply, RunId, admits, body, stream};
use wasi::clocks::wall_clock;
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{IncomingRequest, Method, ResponseOutparam};

use crate::bindings::obelisk::log::log;
use crate::order;
use crate::progress::{self, Progress};
use crate::results::{self, Form};
use crate::retry::{self, CAMPAIGN};
use crate::route::{self, Action, Route, RouteError};

/// The variable that holds the token.
const TOKEN: &str = "VOICE_CALLING_OPERATOR_TOKEN";

/// The reason why a campaign accepts no orders.
const OVER: &str = "the campaign accepts no orders: it has ended or was stopped";

/// The form of a person's answer, which is the engine's.
const ALLOWED: &str = r#"allowed: {"ok": "<docket id>"} or {"err": "<reason>"}"#;

/// The maximum size of a person's answer.
const MOST_BODY_BYTES: usize = 16_384;

/// The number of campaigns in the list.
const CAMPAIGNS: u32 = 20;

/// The number of open questions with which a campaign is not resumed: the core's breaker stops a
/// series after as many.
const MOST_QUESTIONS: usize = 5;

/// The exports of the component.
pub(crate) struct Endpoint;

impl Guest for Endpoint {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        let reply = match admit(&request).and_then(|route| Ok((api()?, route))) {
            Ok((
                api,
                Route::Campaign {
                    id,
                    action: Action::Results(form),
                },
            )) => return results_of(&api, &id, form, response_out),
            Ok((api, route)) => reply(&api, route, &request),
            Err(reply) => Err(reply),
        };
        reply.unwrap_or_else(|reply| reply).send(response_out);
    }
}

fn reply(api: &Api, route: Route, request: &IncomingRequest) -> Result<Reply, Reply> {
    let Route::Campaign { id, action } = route else {
        return campaigns(api);
    };
    match action {
        Action::Progress | Action::Results(_) => progress_of(api, &id),
        Action::Give(order) => send_order(api, order, &id),
        Action::Retry => retry(api, &id),
        Action::Answer(run) => answer(api, &id, &run, request),
    }
}

/// Authenticates a request and returns its route.
fn admit(request: &IncomingRequest) -> Result<Route, Reply> {
    let environment = wasi::cli::environment::get_environment();
    let authorization = request.headers().get("authorization");
    match admits(&environment, TOKEN, bearer(&authorization)) {
        Ok(true) => {}
        Ok(false) => {
            return Err(Reply {
                header: Some(("www-authenticate", "Bearer")),
                ..Reply::reason(401, "the token is missing or wrong")
            });
        }
        Err(why) => {
            log::error(&why);
            let reason = format!("{TOKEN} is missing or not allowed; the log says why");
            return Err(Reply::reason(503, reason));
        }
    }
    let method = match request.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        _ => "",
    };
    let path = request.path_with_query().unwrap_or_default();
    route::read(method, &path).map_err(|error| match error {
        RouteError::NotFound => Reply::reason(404, "not found"),
        RouteError::Method(allowed) => Reply {
            header: Some(("allow", allowed)),
            ..Reply::reason(405, format!("allowed: {allowed}"))
        },
    })
}

/// Returns the token of `Bearer <token>` (RFC 6750, section 2.1; the scheme in either case), the only
/// value of the header `authorization`; an empty one if there is none.
fn bearer(authorization: &[Vec<u8>]) -> &[u8] {
    const SCHEME: &[u8] = b"bearer ";
    match authorization {
        [header] => match header.split_at_checked(SCHEME.len()) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token,
            _ => b"",
        },
        _ => b"",
    }
}

/// Returns the engine's API.
fn api() -> Result<Api, Reply> {
    Api::of(&wasi::cli::environment::get_environment()).map_err(not_now)
}

fn not_now(reason: String) -> Reply {
    Reply::reason(503, reason)
}

fn now() -> Timestamp {
    let seconds = wall_clock::now().seconds;
    Timestamp::from_second(seconds.try_into().unwrap_or_default()).unwrap_or_default()
}

/// An entry of the list of campaigns.
#[derive(Serialize)]
struct Entry {
    created_at: String,
    #[serde(flatten)]
    progress: Progress,
}

fn campaigns(api: &Api) -> Result<Reply, Reply> {
    let filter = format!("ffqn_prefix={CAMPAIGN}&length={CAMPAIGNS}");
    let mut campaigns = Vec::new();
    for listed in api.list(&filter).map_err(not_now)? {
        let Some(id) = RunId::read(&listed.execution_id) else {
            continue;
        };
        if let Some(progress) = progress::of(api, &id, now()).map_err(not_now)? {
            campaigns.push(Entry {
                created_at: listed.created_at,
                progress,
            });
        }
    }
    Ok(Reply::json(200, &json!({ "campaigns": campaigns })))
}

fn read(api: &Api, id: &RunId) -> Result<Progress, Reply> {
    let progress = progress::of(api, id, now()).map_err(not_now)?;
    progress.ok_or_else(|| Reply::reason(404, "no such campaign"))
}

fn progress_of(api: &Api, id: &RunId) -> Result<Reply, Reply> {
    Ok(Reply::json(200, &read(api, id)?))
}

/// Submits another campaign for the contacts that are `not_created`, and returns its progress.
fn retry(api: &Api, id: &RunId) -> Result<Reply, Reply> {
    let not_created = read(api, id)?.counts.ended.not_created;
    match retry::submit(api, id, not_created) {
        Ok(other) => progress_of(api, &other),
        Err((status, reason)) => Err(Reply::reason(status, reason)),
    }
}

/// Answers the question of a run.
fn answer(api: &Api, id: &RunId, run: &RunId, request: &IncomingRequest) -> Result<Reply, Reply> {
    let body = body(request, MOST_BODY_BYTES)?;
    let questions = progress::questions(api, id).map_err(not_now)?;
    let question = questions.into_iter().find(|it| it.run == run.as_str());
    let question = question.ok_or_else(|| Reply::reason(409, "the run has no open question"))?;
    let answered = api.stub(&question.execution_id, &String::from_utf8_lossy(&body));
    match answered {
        Ok(200) => progress_of(api, id),
        Ok(400 | 422) => Err(Reply::reason(400, ALLOWED)),
        Ok(409) => Err(Reply::reason(409, "the question was answered meanwhile")),
        Ok(status) => Err(not_now(format!(
            "the answer could not be written: the engine answered {status}"
        ))),
        Err(why) => Err(not_now(format!("the answer could not be written: {why}"))),
    }
}

fn send_order(api: &Api, order: Order, id: &RunId) -> Result<Reply, Reply> {
    let check = |progress: &Progress| match progress.state {
        CampaignState::Beginning | CampaignState::Running | CampaignState::Paused => Ok(()),
        _ => Err(Reply::reason(409, OVER)),
    };
    let progress = read(api, id)?;
    check(&progress)?;
    let open = progress.questions.len();
    if order == Order::Resume && open >= MOST_QUESTIONS {
        let reason = format!("{open} questions are open: answer them first");
        return Err(Reply::reason(409, reason));
    }
    match order::give(api, id, order) {
        Ok(()) => progress_of(api, id),
        Err(why) => {
            check(&read(api, id)?)?;
            Err(not_now(format!("the order could not be written: {why}")))
        }
    }
}

fn results_of(api: &Api, id: &RunId, form: Form, response_out: ResponseOutparam) {
    if let Err(reply) = read(api, id) {
        return reply.send(response_out);
    }
    let content_type = match form {
        Form::JsonLines => "application/x-ndjson",
        Form::Csv => "text/csv; charset=utf-8",
    };
    let headers = [("content-type", content_type)];
    stream(200, &headers, response_out, |stream| {
        results::stream(api, id, form, stream)
    });
}
