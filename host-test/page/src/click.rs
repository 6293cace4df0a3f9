//! Clicks: calls are ended, faults are ordered.

use crate::json_form::{JsonForm, wrong};
use crate::{Served, problem};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use strum::VariantNames;
use voice_calling_mock::{Conversation, DeliveryFault, Ending, Endpoint, Fault, NotEnded};

const ATTEMPT: &str = "the number of the attempt, from 1";
const SECONDS: &str = "a number of at least 0";
const METADATA: &str = "a JSON object";
const STATUS: &str = "ANSWERED, BUSY or NO_ANSWER";
const FAULT: &str = "503, 429, created-then-unanswered, hang or completed-first";
const RETRY_AFTER: &str = "a whole number of seconds, with the fault 429 only";

pub(crate) async fn end(
    State(served): State<Served>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let ended = read_ending(&body).map(|(attempt, ending)| {
        let ended = served.mock.end_call(&id, attempt, ending);
        ended.map_or_else(not_ended, |()| done())
    });
    ended.unwrap_or_else(invalid)
}

pub(crate) async fn leave(
    State(served): State<Served>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let left = read_attempt(&body).map(|attempt| {
        let left = served.mock.leave_call(&id, attempt);
        left.map_or_else(not_ended, |()| done())
    });
    left.unwrap_or_else(invalid)
}

pub(crate) async fn order(State(served): State<Served>, body: Bytes) -> Response {
    let ordered = read_order(&body).map(|(endpoint, fault)| {
        match endpoint {
            Some(endpoint) => served.mock.on_next(endpoint, fault),
            None => served.mock.on_next_anywhere(fault),
        }
        done()
    });
    ordered.unwrap_or_else(invalid)
}

pub(crate) async fn order_delivery(State(served): State<Served>, body: Bytes) -> Response {
    let ordered = read_delivery_fault(&body).map(|fault| {
        served.mock.on_next_delivery(fault);
        done()
    });
    ordered.unwrap_or_else(invalid)
}

pub(crate) async fn clear(State(served): State<Served>) -> Response {
    served.mock.clear_orders();
    done()
}

fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

fn invalid(error: String) -> Response {
    problem(StatusCode::UNPROCESSABLE_ENTITY, error)
}

fn not_ended(why: NotEnded) -> Response {
    let status = match why {
        NotEnded::Unknown(_) => StatusCode::NOT_FOUND,
        NotEnded::NotRinging { .. } => StatusCode::CONFLICT,
        NotEnded::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    problem(status, why.to_string())
}

fn read_attempt(body: &[u8]) -> Result<usize, String> {
    let mut form = JsonForm::read(body)?;
    let attempt = form.required("attempt", ATTEMPT)?;
    form.finish()?;
    Ok(attempt)
}

fn read_ending(body: &[u8]) -> Result<(usize, Ending), String> {
    let mut form = JsonForm::read(body)?;
    let attempt = form.required("attempt", ATTEMPT)?;
    let status: String = form.required("status", STATUS)?;
    let ending = match &*status {
        "ANSWERED" => Ending::Answered(read_conversation(&mut form)?),
        "BUSY" => Ending::Busy,
        "NO_ANSWER" => Ending::NoAnswer,
        _ => return Err(wrong("status", &format!("{status:?}"), STATUS)),
    };
    form.finish()?;
    Ok((attempt, ending))
}

/// What was said; what is missing is what a call of a script yields.
fn read_conversation(form: &mut JsonForm) -> Result<Conversation, String> {
    let default = Conversation::default();
    let metadata = match form.text("metadata") {
        Some(json) if json.get().starts_with('{') => json.get().to_owned(),
        Some(json) => return Err(wrong("metadata", json.get(), METADATA)),
        None => default.metadata,
    };
    let seconds: Option<f64> = form.optional("seconds", SECONDS)?;
    let mut text = |name, default| {
        let text = form.optional(name, "a string")?;
        Ok::<_, String>(text.unwrap_or(default))
    };
    Ok(Conversation {
        seconds: seconds.unwrap_or(default.seconds),
        disposition: text("disposition", default.disposition)?,
        interest: text("interest", default.interest)?,
        next_action: text("next_action", default.next_action)?,
        metadata,
    })
}

fn read_order(body: &[u8]) -> Result<(Option<Endpoint>, Fault), String> {
    let mut form = JsonForm::read(body)?;
    let endpoints = format!("null, {}", Endpoint::VARIANTS.join(", "));
    let endpoint: Option<String> = form.optional("endpoint", &endpoints)?;
    let endpoint = endpoint.map(|name| {
        let endpoint = name.parse::<Endpoint>();
        endpoint.map_err(|_| wrong("endpoint", &format!("{name:?}"), &endpoints))
    });
    let endpoint = endpoint.transpose()?;
    let fault: String = form.required("fault", FAULT)?;
    let fault = match &*fault {
        "503" => Fault::status(503),
        "429" => {
            let seconds: Option<u32> = form.optional("retry_after_s", RETRY_AFTER)?;
            Fault::rate_limited(seconds.map(|seconds| seconds.to_string()).as_deref())
        }
        "created-then-unanswered" => Fault::created_then_unanswered(),
        "hang" => Fault::hang(),
        "completed-first" => Fault::completed_first(),
        _ => return Err(wrong("fault", &format!("{fault:?}"), FAULT)),
    };
    if let Some(found) = form.text("retry_after_s") {
        return Err(wrong("retry_after_s", found.get(), RETRY_AFTER));
    }
    form.finish()?;
    Ok((endpoint, fault))
}

fn read_delivery_fault(body: &[u8]) -> Result<DeliveryFault, String> {
    let mut form = JsonForm::read(body)?;
    let allowed = DeliveryFault::VARIANTS.join(" or ");
    let fault: String = form.required("fault", &allowed)?;
    form.finish()?;
    let read = fault.parse();
    read.map_err(|_| wrong("fault", &format!("{fault:?}"), &allowed))
}
