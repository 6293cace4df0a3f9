//! The HTTP API of a node.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// The time limit for an answer. A node that shares its machine with a compiler is slow.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The interval between polls of the node.
const POLL: Duration = Duration::from_millis(20);

/// The number of events of an execution's history that an error shows.
const LAST_EVENTS: usize = 5;

const JSON: &str = "application/json";

/// The API token that every node of the tests accepts.
pub(crate) const TOKEN: &str = "loopback-api-token";

/// The API of one node. Clones share connections; a request that may have reached the node is not
/// retried.
///
/// Ids of executions and names of functions contain no characters that a URL must escape.
#[derive(Clone)]
pub struct Api {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// The status and the body of any answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

/// How an execution ended. A payload that the function's type does not have is null.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The function returned `ok`.
    Ok(Value),
    /// The function returned `err`.
    Err(Value),
    /// The function returned nothing: it ran out of time, trapped, was cancelled, ….
    ExecutionFailed(Value),
}

impl Ending {
    /// Returns the function's `ok` value, or an error if there is none.
    pub fn ok(self) -> Result<Value> {
        match self {
            Ending::Ok(value) => Ok(value),
            Ending::Err(value) => bail!("the function returned an error: {value}"),
            Ending::ExecutionFailed(value) => bail!("the execution failed: {value}"),
        }
    }
}

impl Api {
    /// Returns the API of the node that listens at `address`, if one does.
    pub fn at(address: SocketAddr) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { address, client }
    }

    /// Returns the address at which the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the id of the node's active deployment.
    pub async fn deployment_id(&self) -> Result<Value> {
        self.get("/v1/deployment-id").await
    }

    /// Submits an execution under an id that the caller chose, so that the caller can retry if the
    /// result is unknown. Returns `true` if the execution is new, and `false` if it existed
    /// already, with the same function and parameters.
    pub async fn submit(&self, id: &str, ffqn: &str, params: &Value) -> Result<bool> {
        let path = format!("/v1/executions/{id}");
        let submission = json!({ "ffqn": ffqn, "params": params });
        let answer = self.ask(Method::PUT, &path, Some(&submission)).await?;
        match answer.status {
            201 => Ok(true),
            200 => Ok(false),
            409 => bail!("{id} is already the id of another function or of other parameters"),
            _ => bail!("cannot submit {ffqn}: {answer:?}"),
        }
    }

    /// Returns the status of an execution (`locked`, `pending_at`, `blocked_by_join_set`, `paused`
    /// or `finished`), or `None` if the node knows no such execution.
    pub async fn status(&self, id: &str) -> Result<Option<String>> {
        let path = format!("/v1/executions/{id}/status");
        let answer = self.ask(Method::GET, &path, None).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        let found: Value = serde_json::from_str(&answer.body)?;
        let status = found["pending_state"]["status"].as_str();
        Ok(Some(
            status.with_context(|| answer.body.clone())?.to_owned(),
        ))
    }

    /// Returns how an execution ended, or `None` if it has not.
    pub async fn result(&self, id: &str) -> Result<Option<Ending>> {
        let path = format!("/v1/executions/{id}");
        let answer = self.ask(Method::GET, &path, None).await?;
        match answer.status {
            425 => Ok(None),
            200 => Ok(Some(serde_json::from_str(&answer.body)?)),
            _ => bail!("{path}: {answer:?}"),
        }
    }

    /// Waits until an execution has ended, and returns how.
    pub async fn wait_for_result(&self, id: &str, limit: Duration) -> Result<Ending> {
        let begin = Instant::now();
        while begin.elapsed() < limit {
            if let Some(ending) = self.result(id).await? {
                return Ok(ending);
            }
            sleep(POLL).await;
        }
        let status = self.status(id).await?;
        let events = self.events(id).await?;
        let last = &events[events.len().saturating_sub(LAST_EVENTS)..];
        bail!("{id} has not ended within {limit:?}: {status:?}, and its last events are {last:?}")
    }

    /// Sets the return value of a stub: `{"ok": …}` or `{"err": …}`.
    pub async fn stub(&self, id: &str, value: &Value) -> Result<()> {
        self.order(id, "stub", Some(value)).await
    }

    /// Ends an activity or a stub as a failed execution.
    pub async fn cancel_activity(&self, id: &str) -> Result<()> {
        self.order(id, "cancel", None).await
    }

    /// Pauses an execution.
    pub async fn pause(&self, id: &str) -> Result<()> {
        self.order(id, "pause", None).await
    }

    async fn order(&self, id: &str, order: &str, body: Option<&Value>) -> Result<()> {
        let path = format!("/v1/executions/{id}/{order}");
        let answer = self.ask(Method::PUT, &path, body).await?;
        ensure!(
            answer.status == 200,
            "{path} was answered with {}: {}",
            answer.status,
            answer.body
        );
        Ok(())
    }

    /// Returns the first 500 events of an execution, in order.
    pub async fn events(&self, id: &str) -> Result<Vec<Value>> {
        let path = format!("/v1/executions/{id}/events?version=0&including_cursor=true&length=500");
        Ok(serde_json::from_value(
            self.get(&path).await?["events"].take(),
        )?)
    }

    /// Returns the states of up to 1000 executions, the newest first, children included. The
    /// parameters of `filter` select them, for example `ffqn_prefix=…&hide_finished=true`.
    pub async fn list(&self, filter: &str) -> Result<Vec<Value>> {
        let path = format!("/v1/executions?show_derived=true&length=1000&{filter}");
        Ok(serde_json::from_value(self.get(&path).await?)?)
    }

    /// Returns the first 200 lines that an execution and its children logged or wrote to a stream.
    pub async fn logs(&self, id: &str) -> Result<Value> {
        let path = format!("/v1/executions/{id}/logs?show_derived=true&length=200");
        self.get(&path).await
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let answer = self.ask(Method::GET, path, None).await?;
        ensure!(answer.status == 200, "{path}: {answer:?}");
        Ok(serde_json::from_str(&answer.body)?)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            // Without it the engine answers in plain text.
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, JSON)
            .header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        let body = body.map(Value::to_string).unwrap_or_default();
        let exchange = self.exchange(request, body);
        let answer = timeout(ANSWER_LIMIT, exchange).await;
        answer
            .with_context(|| format!("{path}: no answer within {ANSWER_LIMIT:?}"))?
            .with_context(|| format!("{path}: no answer from {}", self.address))
    }

    /// Sends any request to any server over the connections of this API.
    pub(crate) async fn exchange(
        &self,
        request: request::Builder,
        body: impl Into<Bytes>,
    ) -> Result<Answer> {
        let request = request.body(Full::new(body.into()))?;
        let response = self.client.request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status, body })
    }
}

/// Returns the id of a new top-level execution: `E_` and a ULID, which is 128 bits as 26 digits of
/// Crockford's base 32.
///
/// A UUID of version 7 has the layout of a ULID, milliseconds since 1970 followed by random bits,
/// so these ids sort by time as the engine's own do.
pub fn execution_id() -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let bits = Uuid::now_v7().as_u128();
    let digit = |place: u32| char::from(DIGITS[(bits >> (5 * place)) as usize & 31]);
    let ulid: String = (0..26).rev().map(digit).collect();
    format!("E_{ulid}")
}
