//! The HTTP API of a node.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// How long a request may take. A node that shares its machine with a compiler is slow.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// How often the node is asked for what is waited for.
const POLL: Duration = Duration::from_millis(20);

/// How many items are asked for at once. Of logs the engine never gives more than 200.
const PAGE: usize = 500;
const PAGE_OF_LOGS: usize = 200;
const PAGE_OF_EXECUTIONS: usize = 1000;

/// How much of an execution's history an error shows.
const LAST_EVENTS: usize = 5;

const JSON: &str = "application/json";

/// What every node of the tests accepts.
pub(crate) const TOKEN: &str = "loopback-api-token";

/// The API of one node. Clones share connections; a request that may have come to the node is
/// not repeated.
///
/// Ids of executions and names of functions have no character that a URL would need escaped.
#[derive(Clone)]
pub struct Api {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    Created,
    /// The execution existed already, of the same function with the same parameters.
    Same,
}

/// Where an execution is.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionStatus {
    /// `locked`, `pending_at`, `blocked_by_join_set`, `paused` or `finished`.
    pub status: String,
    /// All that the engine says.
    pub raw: Value,
}

/// How an execution ended. A payload that the function's type does not have is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The function returned `ok`.
    Ok(Value),
    /// The function returned `err`.
    Err(Value),
    /// The function returned nothing: it ran out of time, trapped, was cancelled, ….
    ExecutionFailure(Value),
}

impl Ending {
    /// What the function returned as `ok`.
    pub fn ok(self) -> Result<Value> {
        match self {
            Ending::Ok(value) => Ok(value),
            Ending::Err(value) => bail!("the function returned an error: {value}"),
            Ending::ExecutionFailure(value) => bail!("the execution failed: {value}"),
        }
    }

    fn read(answer: &Value) -> Option<Self> {
        let (case, payload) = answer.as_object()?.iter().next()?;
        let ending = match case.as_str() {
            "ok" => Ending::Ok,
            "err" => Ending::Err,
            "execution_failed" => Ending::ExecutionFailure,
            _ => return None,
        };
        Some(ending(payload.clone()))
    }
}

/// The status and the body of an answer, whatever they are.
struct Answer {
    request: String,
    status: StatusCode,
    body: String,
}

impl Answer {
    fn json(&self) -> Result<Value> {
        let value = serde_json::from_str(&self.body);
        value.with_context(|| format!("{} was not answered with JSON: {}", self.request, self.body))
    }

    fn json_if_ok(self) -> Result<Value> {
        if self.status == StatusCode::OK {
            return self.json();
        }
        Err(self.refusal())
    }

    fn refusal(self) -> anyhow::Error {
        let Self {
            request,
            status,
            body,
        } = self;
        let status = status.as_u16();
        anyhow!("{request} was answered with {status}: {}", body.trim_end())
    }
}

impl Api {
    /// The API of the node that listens there, if one does.
    pub fn at(address: SocketAddr) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { address, client }
    }

    /// Where the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The id of the node's active deployment.
    pub async fn deployment_id(&self) -> Result<String> {
        let answer = self.get("/v1/deployment-id").await?.json_if_ok()?;
        let id = answer.as_str();
        let id = id.with_context(|| format!("the deployment's id is not a string: {answer}"))?;
        Ok(id.to_owned())
    }

    /// Submits an execution under an id that the caller chose, so that it can be repeated
    /// where nobody knows what became of it.
    pub async fn submit(&self, id: &str, ffqn: &str, params: &Value) -> Result<Submitted> {
        let path = format!("/v1/executions/{id}");
        let submission = json!({ "ffqn": ffqn, "params": params });
        let answer = self.put(&path, Some(&submission)).await?;
        match answer.status {
            StatusCode::CREATED => Ok(Submitted::Created),
            StatusCode::OK => Ok(Submitted::Same),
            StatusCode::CONFLICT => Err(answer.refusal()).with_context(|| {
                format!("{id} is already the id of another function or of other parameters")
            }),
            _ => Err(answer.refusal()).with_context(|| format!("cannot submit {ffqn}")),
        }
    }

    /// Where an execution is; none where the node knows of no such execution.
    pub async fn status(&self, id: &str) -> Result<Option<ExecutionStatus>> {
        let answer = self.get(&format!("/v1/executions/{id}/status")).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let raw = answer.json_if_ok()?;
        let status = raw["pending_state"]["status"].as_str();
        let status = status.with_context(|| format!("no pending_state.status in {raw}"))?;
        let status = status.to_owned();
        Ok(Some(ExecutionStatus { status, raw }))
    }

    /// How an execution ended; none where it has not.
    pub async fn result(&self, id: &str) -> Result<Option<Ending>> {
        let answer = self.get(&format!("/v1/executions/{id}")).await?;
        if answer.status == StatusCode::TOO_EARLY {
            return Ok(None);
        }
        let answer = answer.json_if_ok()?;
        let ending = Ending::read(&answer);
        let ending = ending.with_context(|| {
            format!("a result is `ok`, `err` or `execution_failed`, not {answer}")
        })?;
        Ok(Some(ending))
    }

    /// Waits until an execution has ended, and gives how.
    pub async fn wait_for_result(&self, id: &str, limit: Duration) -> Result<Ending> {
        let begin = Instant::now();
        loop {
            if let Some(ending) = self.result(id).await? {
                return Ok(ending);
            }
            if begin.elapsed() >= limit {
                bail!(
                    "{id} has not ended within {limit:?}; {}",
                    self.situation(id).await
                );
            }
            sleep(POLL).await;
        }
    }

    /// For the message of an error: where an execution is, and how it came there.
    async fn situation(&self, id: &str) -> String {
        let status = match self.status(id).await {
            Ok(Some(found)) => found.raw["pending_state"].to_string(),
            Ok(None) => return "execution not found".to_owned(),
            Err(error) => return format!("its status is not available: {error:#}"),
        };
        match self.events(id).await {
            Ok(events) => {
                let last = &events[events.len().saturating_sub(LAST_EVENTS)..];
                let last: Vec<String> = last.iter().map(Value::to_string).collect();
                let all = events.len();
                let last = last.join("\n");
                format!("its state is {status}, and the last of its {all} events are:\n{last}")
            }
            Err(error) => format!("its state is {status}; its events are not available: {error:#}"),
        }
    }

    /// Gives a stub its return value: `{"ok": …}` or `{"err": …}`.
    pub async fn stub(&self, id: &str, value: &Value) -> Result<()> {
        let path = format!("/v1/executions/{id}/stub");
        self.put(&path, Some(value)).await?.json_if_ok()?;
        Ok(())
    }

    /// Ends an activity or a stub as a failed execution.
    pub async fn cancel_activity(&self, id: &str) -> Result<()> {
        self.order(id, "cancel").await
    }

    /// Stops an execution for a while.
    pub async fn pause(&self, id: &str) -> Result<()> {
        self.order(id, "pause").await
    }

    async fn order(&self, id: &str, order: &str) -> Result<()> {
        let path = format!("/v1/executions/{id}/{order}");
        self.put(&path, None).await?.json_if_ok()?;
        Ok(())
    }

    /// All events of an execution, in order: its history.
    pub async fn events(&self, id: &str) -> Result<Vec<Value>> {
        let path = |version: u64| {
            format!(
                "/v1/executions/{id}/events?version={version}&including_cursor=true&length={PAGE}"
            )
        };
        let mut events = Vec::new();
        let mut version = 0;
        loop {
            let mut page = self.get(&path(version)).await?.json_if_ok()?;
            let page = array(page["events"].take())?;
            let Some(last) = page.last() else {
                return Ok(events);
            };
            let last = last["version"].as_u64();
            version = last.context("an event has no version")? + 1;
            events.extend(page);
        }
    }

    /// The states of up to 1000 executions, the newest first, children included.
    pub async fn list(
        &self,
        ffqn_prefix: Option<&str>,
        execution_id_prefix: Option<&str>,
        hide_finished: bool,
    ) -> Result<Vec<Value>> {
        let mut path = format!(
            "/v1/executions?show_derived=true&hide_finished={hide_finished}\
             &length={PAGE_OF_EXECUTIONS}"
        );
        for (key, value) in [
            ("ffqn_prefix", ffqn_prefix),
            ("execution_id_prefix", execution_id_prefix),
        ] {
            if let Some(value) = value {
                path.push_str(&format!("&{key}={value}"));
            }
        }
        array(self.get(&path).await?.json_if_ok()?)
    }

    /// The first 200 lines that an execution and its children logged or wrote to a stream.
    pub async fn logs(&self, id: &str) -> Result<Vec<Value>> {
        let path = format!("/v1/executions/{id}/logs?show_derived=true&length={PAGE_OF_LOGS}");
        array(self.get(&path).await?.json_if_ok()?)
    }

    async fn get(&self, path: &str) -> Result<Answer> {
        self.ask(Method::GET, path, None).await
    }

    async fn put(&self, path: &str, body: Option<&Value>) -> Result<Answer> {
        self.ask(Method::PUT, path, body).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let name = format!("{method} {path}");
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            // Without it the engine answers in prose.
            .header(ACCEPT, JSON)
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        let bytes = match body {
            Some(value) => {
                request = request.header(CONTENT_TYPE, JSON);
                Bytes::from(serde_json::to_vec(value)?)
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(bytes));
        let request = request.with_context(|| format!("{name} is not a request"))?;
        let exchange = async {
            let response = self.client.request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, body))
        };
        let address = self.address;
        let answer = timeout(REQUEST_LIMIT, exchange).await;
        let answer = answer
            .with_context(|| format!("{name}: {address} did not answer in {REQUEST_LIMIT:?}"))?;
        let (status, body) = answer.with_context(|| format!("{name}: no answer from {address}"))?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer {
            request: name,
            status,
            body,
        })
    }
}

/// The digits of Crockford's base 32: no I, L, O and U, which are easily misread.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many of them 128 bits take.
const LENGTH: u32 = 26;

/// The id of a new top-level execution: `E_` and a ULID.
///
/// A UUID of version 7 has the layout of a ULID, milliseconds since 1970 and then random
/// bits, so that these ids sort by time as the engine's own do.
pub fn execution_id() -> String {
    named(Uuid::now_v7().as_u128())
}

fn named(bits: u128) -> String {
    let digit = |place: u32| {
        let value = (bits >> (5 * place)) & 31;
        char::from(DIGITS[value as usize])
    };
    let ulid: String = (0..LENGTH).rev().map(digit).collect();
    format!("E_{ulid}")
}

fn array(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("an array was expected, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_an_execution_ended() {
        let read = |answer| Ending::read(&answer);
        assert_eq!(read(json!({"ok": null})), Some(Ending::Ok(Value::Null)));
        assert_eq!(read(json!({"err": "no"})), Some(Ending::Err(json!("no"))));
        let failure = json!({"kind": "timed_out"});
        assert_eq!(
            read(json!({"execution_failed": failure.clone()})),
            Some(Ending::ExecutionFailure(failure))
        );
        assert_eq!(read(json!({"error": "not found"})), None);
    }

    #[test]
    fn an_execution_id_is_written_as_a_ulid() {
        assert_eq!(named(0), "E_00000000000000000000000000");
        assert_eq!(named(u128::MAX), "E_7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(named(32), "E_00000000000000000000000010");
    }
}
