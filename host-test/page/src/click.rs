//! Clicks, which end calls and order faults.

use crate::{Served, problem};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use voice_calling_mock::{
    CallStatus, Conversation, DeliveryFault, Ending, Fault, FaultOrder, NotEnded,
};

/// The content of a click: a JSON object.
type Form<T> = Result<Json<T>, JsonRejection>;

/// An answer without a body, or one that describes the error in the click.
type Clicked = Result<StatusCode, Response>;

/// The end of an attempt. Missing fields have the values of a scripted call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct End {
    attempt: usize,
    status: CallStatus,
    seconds: Option<f64>,
    disposition: Option<String>,
    interest: Option<String>,
    next_action: Option<String>,
    /// The text of the JSON, with all digits.
    metadata: Option<Box<RawValue>>,
}

pub(crate) async fn end(
    State(served): State<Served>,
    Path(id): Path<String>,
    form: Form<End>,
) -> Clicked {
    let form = read(form)?;
    let default = Conversation::default();
    let metadata = form.metadata.map(|json| json.get().to_owned());
    let ending = match form.status {
        CallStatus::Busy => Ending::Busy,
        CallStatus::NoAnswer => Ending::NoAnswer,
        CallStatus::Answered => Ending::Answered(Conversation {
            seconds: form.seconds.unwrap_or(default.seconds),
            disposition: form.disposition.unwrap_or(default.disposition),
            interest: form.interest.unwrap_or(default.interest),
            next_action: form.next_action.unwrap_or(default.next_action),
            metadata: metadata.unwrap_or(default.metadata),
        }),
    };
    let ended = served.mock.end_call(&id, form.attempt, ending);
    ended.map_or_else(not_ended, done)
}

/// A fault in the mock's syntax, such as `429:retry-after=1`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The endpoint; null is any.
    endpoint: Option<String>,
    fault: String,
}

pub(crate) async fn order(State(served): State<Served>, form: Form<Order>) -> Clicked {
    let Order { endpoint, fault } = read(form)?;
    let ordered = match endpoint {
        Some(endpoint) => {
            let order = format!("{endpoint}:{fault}").parse();
            order.and_then(|order: FaultOrder| served.mock.order(order))
        }
        None => fault
            .parse()
            .map(|fault: Fault| served.mock.on_next_anywhere(fault)),
    };
    let invalid = |error| problem(StatusCode::UNPROCESSABLE_ENTITY, format!("{error:#}"));
    ordered.map_err(invalid).and_then(done)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryOrder {
    fault: DeliveryFault,
}

pub(crate) async fn order_delivery(
    State(served): State<Served>,
    form: Form<DeliveryOrder>,
) -> Clicked {
    served.mock.on_next_delivery(read(form)?.fault);
    done(())
}

pub(crate) async fn clear(State(served): State<Served>) -> Clicked {
    served.mock.clear_orders();
    done(())
}

fn read<T>(form: Form<T>) -> Result<T, Response> {
    match form {
        Ok(Json(form)) => Ok(form),
        Err(wrong) => Err(problem(wrong.status(), wrong.body_text())),
    }
}

fn done((): ()) -> Clicked {
    Ok(StatusCode::NO_CONTENT)
}

fn not_ended(why: NotEnded) -> Clicked {
    let status = match why {
        NotEnded::Unknown(_) => StatusCode::NOT_FOUND,
        NotEnded::NotRinging { .. } => StatusCode::CONFLICT,
        NotEnded::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    Err(problem(status, why.to_string()))
}
