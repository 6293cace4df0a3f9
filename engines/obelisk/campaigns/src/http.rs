//! The wasi:http handler.

use jiff::{Timestamp, Unit};
use voice_calling_obelisk_guest::campaign::Order;
use voice_calling_obelisk_guest::{Api, Reply, RunId, admits, body, stream};
use wasi::clocks::wall_clock;
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{IncomingRequest, Method, ResponseOutparam};

use crate::bindings::obelisk::log::log;
use crate::campaign;
use crate::engine::Engine;
use crate::list;
use crate::order;
use crate::progress::{self, CampaignState};
use crate::results;
use crate::retry;
use crate::route::{self, Action, Route, RouteError};

/// The variable that holds the token.
const TOKEN: &str = "VOICE_CALLING_OPERATOR_TOKEN";

/// The reason why a campaign accepts no orders.
const OVER: &str = "the campaign accepts no orders: it has ended or was stopped";

/// The form of a person's answer, which is the engine's.
const ALLOWED: &str = r#"allowed: {"ok": "<docket id>"} or {"err": "<reason>"}"#;

/// The maximum size of a person's answer.
const MOST_BODY_BYTES: usize = 16_384;

/// The exports of the component.
pub struct Endpoint;

impl Guest for Endpoint {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        match admit(&request) {
            Ok(Route::Campaigns) => campaigns().send(response_out),
            Ok(Route::Campaign { id, action }) => match action {
                Action::Progress => progress_of(&id).send(response_out),
                Action::Give(order) => send_order(order, &id).send(response_out),
                Action::Retry => retry(&id).send(response_out),
                Action::Answer(run) => answer(&id, &run, &request).send(response_out),
                Action::Results => results_of(&id, response_out),
            },
            Err(answer) => answer.send(response_out),
        }
    }
}

fn not_found() -> Reply {
    Reply::reason(404, "no such campaign")
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
fn api() -> Result<Api, String> {
    Api::of(&wasi::cli::environment::get_environment())
}

fn campaigns() -> Reply {
    match api().and_then(|api| list::campaigns(&Engine, &api)) {
        Ok(campaigns) => Reply::json(200, &campaigns),
        Err(reason) => Reply::reason(503, reason),
    }
}

fn progress_of(campaign: &str) -> Reply {
    let Some(mut progress) = progress::of(&Engine, campaign) else {
        return not_found();
    };
    let remaining = progress.remaining.filter(|it| *it > 0);
    if let (CampaignState::Running, Some(remaining)) = (progress.state, remaining) {
        progress.ends_at = end(campaign, remaining).map(|end| end.to_string());
    }
    Reply::json(200, &progress)
}

/// Estimates the end of a campaign, to the second.
fn end(campaign: &str, remaining: u32) -> Option<Timestamp> {
    let campaign = RunId::read(campaign)?;
    let begun = api().and_then(|api| list::creations(&api, &campaign));
    let begun = begun.map_err(|why| log::warn(&format!("no estimate of the end: {why}")));
    let now = Timestamp::from_second(wall_clock::now().seconds.try_into().ok()?).ok()?;
    progress::estimated_end(remaining, &begun.ok()?, now)?
        .round(Unit::Second)
        .ok()
}

/// Submits another campaign for the contacts that are `not_created`, and returns its progress.
fn retry(id: &str) -> Reply {
    let Some(id) = RunId::read(id).filter(|id| campaign::exists(&Engine, id.as_str())) else {
        return not_found();
    };
    let api = api().map_err(|reason| (503, reason));
    match api.and_then(|api| retry::submit(&Engine, &api, &id)) {
        Ok(other) => progress_of(other.as_str()),
        Err((status, reason)) => Reply::reason(status, reason),
    }
}

/// Answers the question of a run.
fn answer(campaign: &str, run: &str, request: &IncomingRequest) -> Reply {
    if !campaign::exists(&Engine, campaign) {
        return not_found();
    }
    let body = match body(request, MOST_BODY_BYTES) {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    let Some(question) = campaign::questions(&Engine, run).next() else {
        return Reply::reason(409, "the run has no open question");
    };
    let decision = String::from_utf8_lossy(&body);
    let why = match api().and_then(|api| api.stub(&question, &decision)) {
        Ok(200) => return progress_of(campaign),
        Ok(400 | 422) => return Reply::reason(400, ALLOWED),
        Ok(409) => return Reply::reason(409, "the question was answered meanwhile"),
        Ok(status) => format!("the engine answered {status}"),
        Err(reason) => reason,
    };
    Reply::reason(503, format!("the answer could not be written: {why}"))
}

fn send_order(order: Order, id: &str) -> Reply {
    if !campaign::exists(&Engine, id) {
        return not_found();
    }
    if !campaign::takes_orders(&Engine, id) {
        return Reply::reason(409, OVER);
    }
    match api().and_then(|api| order::give(&api, id, order)) {
        Ok(()) => progress_of(id),
        Err(_) if !campaign::takes_orders(&Engine, id) => Reply::reason(409, OVER),
        Err(why) => Reply::reason(503, format!("the order could not be written: {why}")),
    }
}

fn results_of(id: &str, response_out: ResponseOutparam) {
    if !campaign::exists(&Engine, id) {
        return not_found().send(response_out);
    }
    let headers = [("content-type", "application/x-ndjson")];
    stream(200, &headers, response_out, |stream| {
        results::stream(&Engine, id, stream)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_only_credentials() {
        let bearer = |headers: &[&str]| {
            let headers: Vec<_> = headers.iter().map(|it| it.as_bytes().to_vec()).collect();
            String::from_utf8(bearer(&headers).to_vec()).unwrap()
        };
        for header in ["Bearer abc", "bearer abc"] {
            assert_eq!(bearer(&[header]), "abc");
        }
        assert_eq!(bearer(&["Bearer  abc, x"]), " abc, x");
        let twice = ["Bearer abc"; 2];
        for headers in [
            &[][..],
            &[""],
            &["Bearer"],
            &["abc"],
            &["Basic abc"],
            &twice,
        ] {
            assert_eq!(bearer(headers), "", "{headers:?}");
        }
    }
}
