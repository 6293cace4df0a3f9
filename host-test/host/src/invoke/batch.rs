//! The results of a batch on WASI 0.3, as JSON. They are converted by hand: wasmtime 48 reads no
//! stream of values whose type the host does not know.

use super::Answer;
use super::values::snake;
use crate::calls::batch::{BatchResult, DocketResult, collect, in_order};
use crate::guest::capabilities::Guest;
use crate::load::plugin::types::*;
use anyhow::Result;
use serde_json::{Map, Value, json};
use wasmtime::Store;
use wasmtime::component::{StreamReader, Val};

/// What a function returned as a stream, where it did.
pub(super) struct Streamed {
    pub(super) is_begun: bool,
    requests: usize,
    results: Vec<BatchResult>,
}

impl Streamed {
    /// The answer to these arguments.
    pub(super) fn to(arguments: &[Val]) -> Self {
        Self {
            is_begun: false,
            requests: match arguments {
                [Val::List(requests), ..] => requests.len(),
                _ => 0,
            },
            results: Vec::new(),
        }
    }

    /// Reads the stream to its end, where one was returned.
    pub(super) async fn collect(
        &mut self,
        store: &mut Store<Guest>,
        returned: &[Val],
    ) -> wasmtime::Result<()> {
        if let [Val::Result(Ok(Some(returned)))] = returned
            && let Val::Stream(stream) = &**returned
        {
            self.is_begun = true;
            let stream = StreamReader::try_from_stream_any(stream.clone())?;
            collect(store, stream, &mut self.results).await?;
        }
        Ok(())
    }

    /// A list, as a component for WASI 0.2 returns it.
    pub(super) fn answer(self, ended: wasmtime::Result<()>) -> Result<Answer> {
        let results = in_order(self.requests, self.results, ended.map_err(Into::into))?;
        let result = |result: &DocketResult| match result {
            Ok(docket) => json!({ "ok": created(docket) }),
            Err(error) => json!({ "error": request_error(error) }),
        };
        Ok(Ok(results.iter().map(result).collect()))
    }
}

fn created(docket: &CreatedDocketV2) -> Value {
    let CreatedDocketV2 {
        docket_id,
        status,
        created,
        raw_json,
        request_id,
        attempts,
        may_be_duplicate,
    } = docket;
    json!({
        "docket_id": docket_id,
        "status": status.as_ref().map(docket_status),
        "created": created,
        "raw_json": raw_json,
        "request_id": request_id,
        "attempts": all(attempts),
        "may_be_duplicate": may_be_duplicate,
    })
}

fn docket_status(status: &DocketStatus) -> Value {
    match status {
        DocketStatus::Open => json!("open"),
        DocketStatus::InProgress => json!("in_progress"),
        DocketStatus::Completed => json!("completed"),
        DocketStatus::Other(text) => json!({ "other": text }),
    }
}

fn request_error(error: &RequestError) -> Value {
    let case = snake(error.case());
    match error.failure() {
        Some(failure) => Value::Object(Map::from_iter([(case, self::failure(failure))])),
        None => json!(case),
    }
}

fn failure(failure: &Failure) -> Value {
    let Failure {
        message,
        problem,
        response,
        attempts,
        may_have_created,
    } = failure;
    let problem = problem.as_ref().map(|problem| {
        let Problem {
            subject,
            found,
            allowed,
        } = problem;
        json!({ "subject": subject, "found": found, "allowed": allowed })
    });
    json!({
        "message": message,
        "problem": problem,
        "response": response.as_ref().map(self::response),
        "attempts": all(attempts),
        "may_have_created": may_have_created,
    })
}

fn response(response: &HttpResponse) -> Value {
    let HttpResponse {
        status,
        body,
        body_cut,
        request_id,
        retry_after_ms,
    } = response;
    json!({
        "status": status,
        "body": body,
        "body_cut": body_cut,
        "request_id": request_id,
        "retry_after_ms": retry_after_ms,
    })
}

fn all(attempts: &[Attempt]) -> Value {
    let attempt = |attempt: &Attempt| {
        let Attempt {
            status,
            transport_error,
            started_ms,
            duration_ms,
        } = attempt;
        json!({
            "status": status,
            "transport_error": transport_error,
            "started_ms": started_ms,
            "duration_ms": duration_ms,
        })
    };
    attempts.iter().map(attempt).collect()
}
