//! The wasi:http handler.

use std::io::{self, Read, Write};

use jiff::{Timestamp, Unit};
use serde::Serialize;
use serde_json::json;
use voice_calling_obelisk_guest::campaign::Order;
use voice_calling_obelisk_guest::{Api, RunId};
use wasi::clocks::wall_clock;
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{
    Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasi::io::streams::OutputStream;

use crate::auth::{self, Entry};
use crate::bindings::obelisk::log::log;
use crate::campaign;
use crate::engine::{self, Engine, OrderResult};
use crate::estimate;
use crate::list;
use crate::order;
use crate::progress::{self, CampaignState};
use crate::question;
use crate::results::{self, Format};
use crate::retry;
use crate::route::{self, Action, Route, RouteError};

/// The maximum size of a person's answer.
const MOST_BODY_BYTES: usize = 16_384;

/// The exports of the component.
pub struct Endpoint;

impl Guest for Endpoint {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        match admit(&request) {
            Ok(Route::Campaigns { before }) => campaigns(before.as_ref()).send(response_out),
            Ok(Route::Campaign { id, action }) => match action {
                Action::Progress => progress_of(&id).send(response_out),
                Action::Give(order) => send_order(order, &id).send(response_out),
                Action::Retry => retry(&id).send(response_out),
                Action::Answer(run) => answer(&id, &run, &request).send(response_out),
                Action::Results(format) => results_of(&id, format, response_out),
            },
            Err(answer) => answer.send(response_out),
        }
    }
}

/// An answer with a complete body.
struct Answer {
    status: u16,
    header: Option<(&'static str, &'static str)>,
    /// JSON.
    body: String,
}

impl Answer {
    fn new(status: u16, body: String) -> Self {
        Self {
            status,
            header: None,
            body,
        }
    }

    fn json(body: &impl Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(json) => Self::new(200, json),
            Err(error) => Self::reason(500, &error.to_string()),
        }
    }

    fn reason(status: u16, reason: &str) -> Self {
        Self::new(status, json!({ "reason": reason }).to_string())
    }

    fn not_found() -> Self {
        Self::reason(404, "no such campaign")
    }

    fn send(self, response_out: ResponseOutparam) {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(self.header);
        let body = self.body + "\n";
        stream(self.status, &headers, response_out, |stream| {
            stream.write_all(body.as_bytes())
        });
    }
}

/// Authenticates a request and returns its route.
fn admit(request: &IncomingRequest) -> Result<Route, Answer> {
    let environment = wasi::cli::environment::get_environment();
    let authorization = request.headers().get("authorization");
    match auth::check(&environment, &authorization) {
        Entry::Allowed => {}
        Entry::Unauthorized => {
            return Err(Answer {
                header: Some(("www-authenticate", "Bearer")),
                ..Answer::reason(401, "the token is missing or wrong")
            });
        }
        Entry::Unprotected(why) => {
            log::error(&why);
            return Err(Answer::reason(
                503,
                "VOICE_CALLING_OPERATOR_TOKEN is missing or not allowed; the log says why",
            ));
        }
    }
    let method = match request.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        _ => "",
    };
    let path = request.path_with_query().unwrap_or_default();
    route::read(method, &path).map_err(|error| match error {
        RouteError::NotFound => Answer::reason(404, "not found"),
        RouteError::Method(allowed) => Answer {
            header: Some(("allow", allowed)),
            ..Answer::reason(405, &format!("allowed: {allowed}"))
        },
    })
}

/// Returns the engine's API.
fn api() -> Result<Api, String> {
    Api::of(&wasi::cli::environment::get_environment())
}

fn campaigns(before: Option<&RunId>) -> Answer {
    let campaigns = api().and_then(|api| list::campaigns(&Engine, &api, before));
    match campaigns {
        Ok(campaigns) => Answer::json(&campaigns),
        Err(reason) => Answer::reason(503, &reason),
    }
}

fn progress_of(campaign: &str) -> Answer {
    let Some(mut progress) = progress::of(&Engine, campaign) else {
        return Answer::not_found();
    };
    let remaining = progress.remaining.filter(|it| *it > 0);
    if let (CampaignState::Running, Some(remaining)) = (progress.state, remaining) {
        progress.ends_at = end(campaign, remaining).map(|end| end.to_string());
    }
    Answer::json(&progress)
}

/// Estimates the end of a campaign, to the second.
fn end(campaign: &str, remaining: u32) -> Option<Timestamp> {
    let campaign = RunId::read(campaign)?;
    let begun = api().and_then(|api| list::creations(&api, &campaign));
    let begun = begun.map_err(|why| log::warn(&format!("no estimate of the end: {why}")));
    let now = Timestamp::from_second(wall_clock::now().seconds.try_into().ok()?).ok()?;
    estimate::end(remaining, &begun.ok()?, now)?
        .round(Unit::Second)
        .ok()
}

/// Submits another campaign for the contacts that are `not_created`, and returns its progress.
fn retry(id: &str) -> Answer {
    let Some(id) = RunId::read(id).filter(|id| campaign::exists(&Engine, id.as_str())) else {
        return Answer::not_found();
    };
    let api = api().map_err(|reason| (503, reason));
    match api.and_then(|api| retry::submit(&Engine, &api, &id)) {
        Ok(other) => progress_of(other.as_str()),
        Err((status, reason)) => Answer::reason(status, &reason),
    }
}

/// Answers the question of a run.
fn answer(campaign: &str, run: &str, request: &IncomingRequest) -> Answer {
    if !campaign::exists(&Engine, campaign) {
        return Answer::not_found();
    }
    let Some(body) = read(request) else {
        let reason = format!("the body ended early, or has more than {MOST_BODY_BYTES} bytes");
        return Answer::reason(400, &reason);
    };
    let decision = match question::read(&body) {
        Ok(decision) => json!(decision).to_string(),
        Err(reason) => return Answer::reason(400, &reason),
    };
    let Some(question) = campaign::questions(&Engine, run).next() else {
        return Answer::reason(409, "the run has no open question");
    };
    let why = match api().and_then(|api| api.stub(&question, &decision)) {
        Ok(200) => return progress_of(campaign),
        Ok(409) => return Answer::reason(409, "the question was answered meanwhile"),
        Ok(status) => format!("the engine answered {status}"),
        Err(reason) => reason,
    };
    Answer::reason(503, &format!("the answer could not be written: {why}"))
}

/// Reads a body. Returns `None` if it ends early or is too large.
fn read(request: &IncomingRequest) -> Option<Vec<u8>> {
    let body = request.consume().ok()?;
    let stream = body.stream().ok()?;
    let mut bytes = Vec::new();
    let limit = MOST_BODY_BYTES as u64 + 1;
    stream.take(limit).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MOST_BODY_BYTES).then_some(bytes)
}

fn send_order(order: Order, id: &str) -> Answer {
    if !campaign::exists(&Engine, id) {
        return Answer::not_found();
    }
    if !campaign::takes_orders(&Engine, id) {
        return Answer::reason(409, order::OVER);
    }
    match engine::send_order(order, id) {
        OrderResult::Yes => progress_of(id),
        OrderResult::No(error) => {
            let (status, reason) = order::refusal(error.as_deref());
            Answer::reason(status, &reason)
        }
        OrderResult::NotYet(execution) => {
            let reason = "accepted, but not carried out yet";
            let body = json!({ "reason": reason, "execution_id": execution });
            Answer::new(202, body.to_string())
        }
    }
}

fn results_of(id: &str, format: Format, response_out: ResponseOutparam) {
    if !campaign::exists(&Engine, id) {
        return Answer::not_found().send(response_out);
    }
    let headers = [("content-type", format.content_type())];
    stream(200, &headers, response_out, |stream| {
        results::stream(&Engine, id, format, stream)
    });
}

/// Streams what `write_body` writes. That fails only if the peer is gone, so its error is ignored.
fn stream(
    status: u16,
    headers: &[(&str, &str)],
    response_out: ResponseOutparam,
    write_body: impl FnOnce(&mut OutputStream) -> io::Result<()>,
) {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    // Responses contain phone numbers, which must not be cached.
    let uncached = [("cache-control", "no-store")];
    let headers: Vec<_> = headers.iter().chain(&uncached).map(pair).collect();
    let headers = Fields::from_list(&headers).unwrap_or_else(|_| Fields::new());
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(status);
    let body = response.body();
    ResponseOutparam::set(response_out, Ok(response));
    let Ok(body) = body else { return };
    let Ok(mut stream) = body.write() else { return };
    let is_written = write_body(&mut stream).is_ok() && stream.blocking_flush().is_ok();
    // The stream is a child of the body and must be dropped before it.
    drop(stream);
    if is_written {
        let _ = OutgoingBody::finish(body, None);
    }
}
