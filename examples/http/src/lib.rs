//! An HTTP server that uses the client: `POST /dockets` creates a docket, and `POST /completions`
//! is the endpoint of the service's webhook. It runs wherever `wasi:http/incoming-handler` 0.2 is
//! served, once `voice-calling.wasm` is plugged into it.
//!
//! It does not authenticate its callers, and each `POST /dockets` makes a phone ring: put it behind
//! a proxy that does.

mod answer;

use answer::Answer;
use bindings::voice_calling::client::{dockets, webhooks};
use bindings::voice_calling::types::types::{
    DocketRequestV2, FailureKind, RequestError, Verification,
};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use wstd::future::FutureExt;
use wstd::http::body::util::BodyExt;
use wstd::http::{Body, Error, Method, Request, Response};
use wstd::time::Duration;

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types", "../../wit"],
        world: "voice-calling:client/imports",
        generate_all,
    });
}

const MOST_BODY_BYTES: usize = 1_048_576;

/// The time limit for reading a body.
const READ_S: u64 = 10;

/// The body of `POST /dockets`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDocket {
    agent_id: i64,
    to_phone_number: String,
    /// Passed on unchanged.
    call_context: Box<RawValue>,
    external_id: Option<String>,
}

#[allow(unsafe_code)]
mod export {
    use super::*;

    #[wstd::http_server]
    async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
        serve(request).await.into_response()
    }
}

async fn serve(request: Request<Body>) -> Answer {
    let (head, body) = request.into_parts();
    let take: fn(&str) -> Answer = match head.uri.path() {
        "/dockets" => create,
        "/completions" => complete,
        _ => return Answer::error(404, "not found"),
    };
    if head.method != Method::POST {
        return Answer::error(405, "only POST is allowed").with_header("allow", "POST");
    }
    let body = read(body).timeout(Duration::from_secs(READ_S)).await;
    let body = body.unwrap_or_else(|_| {
        let late = format!("the body took longer than {READ_S} s");
        Err(Answer::error(408, late))
    });
    match body.map(String::from_utf8) {
        Ok(Ok(text)) => take(&text),
        Ok(Err(_)) => Answer::error(400, "the body is not UTF-8"),
        Err(answer) => answer,
    }
}

async fn read(body: Body) -> Result<Vec<u8>, Answer> {
    let mut body = body.into_boxed_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Answer::error(400, "the body ended early"))?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |chunk| chunk));
        if bytes.len() > MOST_BODY_BYTES {
            let large = format!("the body is larger than {MOST_BODY_BYTES} bytes");
            return Err(Answer::error(413, large));
        }
    }
    Ok(bytes)
}

/// Makes a phone ring, once: the client itself retries what is safe to retry.
fn create(body: &str) -> Answer {
    let new: NewDocket = match serde_json::from_str(body) {
        Ok(new) => new,
        Err(error) if error.is_data() => return Answer::error(422, error.to_string()),
        Err(error) => return Answer::error(400, format!("the body is not JSON: {error}")),
    };
    let request = DocketRequestV2 {
        agent_id: new.agent_id,
        to_phone_number: new.to_phone_number,
        call_context: new.call_context.get().to_owned(),
        external_id: new.external_id,
        extra: None,
    };
    match dockets::create_docket_v2(&request, None) {
        Ok(created) => {
            let may_be_duplicate = created.may_be_duplicate;
            let docket_id = created.docket_id;
            let body = json!({ "docket_id": docket_id, "may_be_duplicate": may_be_duplicate });
            Answer::new(201, body)
        }
        Err(error) => Answer::of(&error),
    }
}

/// Deliveries are not known to be signed: only what the service confirms is trusted.
fn complete(body: &str) -> Answer {
    match webhooks::verify_docket_completed(body, None) {
        Ok(Verification::Confirmed(completion)) => {
            // Process the completed docket here. It may be delivered twice.
            let docket_id = completion.delivered.docket_id;
            Answer::new(200, json!({ "confirmed": docket_id }))
        }
        Ok(Verification::NotACompletion) => Answer::new(200, json!({ "confirmed": null })),
        Ok(Verification::Contradicted(completion)) => Answer::error(
            409,
            format!(
                "the service disagrees: {}",
                completion.contradicted.join(", ")
            ),
        ),
        Err(RequestError::Permanent(failure)) if failure.kind == FailureKind::NotFound => {
            Answer::error(404, "the service does not know the docket")
        }
        Err(error) => Answer::of(&error),
    }
}
