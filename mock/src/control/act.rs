//! What a click or a test does: it ends calls, orders faults, advances the clock, and resets.

use super::{Served, named, problem};
use crate::body::JsonObject;
use crate::call::Ending;
use crate::task::milliseconds;
use crate::{CallStatus, FaultOrder};
use anyhow::anyhow;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The content of a request: a JSON object.
type Form<T> = Result<Json<T>, JsonRejection>;

/// An answer without a body, or one that describes the error in the request.
type Done = Result<StatusCode, Response>;

/// The end of an attempt, which is the ringing one unless it is named. Missing fields have the values
/// of a scripted call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    attempt: Option<usize>,
    status: CallStatus,
    seconds: Option<f64>,
    disposition: Option<String>,
    interest: Option<String>,
    next_action: Option<String>,
    metadata: Option<JsonObject>,
}

pub(crate) async fn end(State(served): State<Served>, uri: Uri, form: Form<End>) -> Done {
    let form = read(form)?;
    let scripted = Ending::scripted(form.status);
    let seconds = form.seconds.unwrap_or(scripted.seconds);
    if seconds < 0.0 {
        let wrong = anyhow!("seconds is {seconds}; allowed: a number of at least 0");
        return Err(invalid(wrong));
    }
    let ending = Ending {
        status: form.status,
        seconds,
        disposition: form.disposition.unwrap_or(scripted.disposition),
        interest: form.interest.unwrap_or(scripted.interest),
        next_action: form.next_action.unwrap_or(scripted.next_action),
        metadata: form.metadata.unwrap_or(scripted.metadata),
    };
    let ended = served.mock.service.end(named(&uri), form.attempt, ending);
    ended.map_err(invalid)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A fault in the mock's syntax, such as `make-call:429:retry-after=1`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    order: String,
}

pub(crate) async fn order(State(served): State<Served>, form: Form<Order>) -> Done {
    let order: Result<FaultOrder, _> = read(form)?.order.parse();
    served.mock.order(order.map_err(invalid)?);
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn reset(State(served): State<Served>) -> StatusCode {
    served.mock.reset();
    StatusCode::NO_CONTENT
}

/// The time that passes at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Advance {
    advance_ms: u64,
}

pub(crate) async fn advance(
    State(served): State<Served>,
    form: Form<Advance>,
) -> Result<Json<Value>, Response> {
    let by = Duration::from_millis(read(form)?.advance_ms);
    served.mock.advance(by).map_err(invalid)?;
    Ok(Json(json!({"now_ms": milliseconds(served.mock.now())})))
}

pub(crate) async fn clear(State(served): State<Served>) -> StatusCode {
    served.mock.clear_orders();
    StatusCode::NO_CONTENT
}

fn read<T>(form: Form<T>) -> Result<T, Response> {
    match form {
        Ok(Json(form)) => Ok(form),
        Err(wrong) => Err(problem(wrong.status(), wrong.body_text())),
    }
}

fn invalid(error: anyhow::Error) -> Response {
    problem(StatusCode::UNPROCESSABLE_ENTITY, format!("{error:#}"))
}
