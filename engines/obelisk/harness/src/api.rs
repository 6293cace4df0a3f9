//! The HTTP API of a node.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

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
    ///
    /// # Errors
    /// Where it ended otherwise; with how.
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

/// An answer that was not the one that was wanted. It is the cause of the errors of [`Api`],
/// for tests that distinguish statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `PUT /v1/…`
    pub request: String,
    pub status: u16,
    pub body: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            request,
            status,
            body,
        } = self;
        write!(
            f,
            "{request} was answered with {status}: {}",
            body.trim_end()
        )
    }
}

impl std::error::Error for Refusal {}

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
        Err(self.refusal().into())
    }

    fn refusal(self) -> Refusal {
        Refusal {
            request: self.request,
            status: self.status.as_u16(),
            body: self.body,
        }
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
    ///
    /// # Errors
    /// Where the node does not answer, as everywhere here.
    pub async fn deployment_id(&self) -> Result<String> {
        let answer = self.get("/v1/deployment-id").await?.json_if_ok()?;
        let id = answer.as_str();
        let id = id.with_context(|| format!("the deployment's id is not a string: {answer}"))?;
        Ok(id.to_owned())
    }

    /// Submits an execution under an id that the caller chose, so that it can be repeated
    /// where nobody knows what became of it.
    ///
    /// # Errors
    /// Where the id stands for something else (status 409), there is no such function (404),
    /// or it does not take these parameters (400).
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
    ///
    /// # Errors
    /// Where the answer is neither.
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
    ///
    /// # Errors
    /// Where execution not found (status 404).
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
    ///
    /// # Errors
    /// Where it has not within `limit`, with its status and its last events; and where there
    /// is no such execution.
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

    /// Waits until an execution, which need not exist yet, has the status `wanted`. One that
    /// it has only for a moment may be missed.
    ///
    /// # Errors
    /// Where it has not within `limit`, and as soon as it never will, since it has ended; with
    /// its last events.
    pub async fn wait_until_status(
        &self,
        id: &str,
        wanted: &str,
        limit: Duration,
    ) -> Result<ExecutionStatus> {
        let begin = Instant::now();
        loop {
            match self.status(id).await? {
                Some(found) if found.status == wanted => return Ok(found),
                Some(found) if found.status == "finished" => {
                    let situation = self.situation(id).await;
                    bail!("{id} has ended, and so will never be {wanted}; {situation}");
                }
                _ => {}
            }
            if begin.elapsed() >= limit {
                let situation = self.situation(id).await;
                bail!("{id} was not {wanted} within {limit:?}; {situation}");
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
    ///
    /// # Errors
    /// Where it has another already (status 409), execution not found (404), or the
    /// value is not of its type (422).
    pub async fn stub(&self, id: &str, value: &Value) -> Result<()> {
        let path = format!("/v1/executions/{id}/stub");
        self.put(&path, Some(value)).await?.json_if_ok()?;
        Ok(())
    }

    /// Ends a delay before its time: what waits for it continues at once.
    ///
    /// # Errors
    /// Where it is over (status 409), or there is none (404).
    pub async fn cancel_delay(&self, delay_id: &str) -> Result<()> {
        let path = format!("/v1/delays/{delay_id}/cancel");
        self.put(&path, None).await?.json_if_ok()?;
        Ok(())
    }

    /// Ends an activity or a stub as a failed execution.
    ///
    /// # Errors
    /// Where it has ended (status 409), is no activity (422), or does not exist (404).
    pub async fn cancel_activity(&self, id: &str) -> Result<()> {
        self.order(id, "cancel").await
    }

    /// Stops an execution for a while.
    ///
    /// # Errors
    /// Where the node refuses: an activity that runs (status 422).
    pub async fn pause(&self, id: &str) -> Result<()> {
        self.order(id, "pause").await
    }

    async fn order(&self, id: &str, order: &str) -> Result<()> {
        let path = format!("/v1/executions/{id}/{order}");
        self.put(&path, None).await?.json_if_ok()?;
        Ok(())
    }

    /// All events of an execution, in order: its history.
    ///
    /// # Errors
    /// Where the node refuses.
    pub async fn events(&self, id: &str) -> Result<Vec<Value>> {
        let path = |version: u64| {
            format!(
                "/v1/executions/{id}/events?version={version}&including_cursor=true&length={PAGE}"
            )
        };
        let mut events = Vec::new();
        let mut version = 0;
        loop {
            let page = self.get(&path(version)).await?.json_if_ok()?;
            let Some(last) = take_page(page, "events", &mut events)? else {
                return Ok(events);
            };
            let last = last["version"].as_u64();
            version = last.context("an event has no version")? + 1;
        }
    }

    /// All responses to an execution, in order: what the children and delays that it waits
    /// for came to.
    ///
    /// # Errors
    /// Where the node refuses.
    pub async fn responses(&self, id: &str) -> Result<Vec<Value>> {
        let path =
            |cursor: u64| format!("/v1/executions/{id}/responses?cursor={cursor}&length={PAGE}");
        let mut responses = Vec::new();
        let mut cursor = 0;
        loop {
            let page = self.get(&path(cursor)).await?.json_if_ok()?;
            let Some(last) = take_page(page, "responses", &mut responses)? else {
                return Ok(responses);
            };
            let last = last["cursor"].as_u64();
            cursor = last.context("a response has no cursor")?;
        }
    }

    /// The states of up to 1000 executions, the newest first, children included.
    ///
    /// # Errors
    /// Where the node refuses.
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

    /// All that an execution and its children logged or wrote to a stream, in order. What is
    /// on its way to the database is not there yet.
    ///
    /// # Errors
    /// Where the node refuses.
    pub async fn logs(&self, id: &str) -> Result<Vec<Value>> {
        let first = format!("/v1/executions/{id}/logs?show_derived=true&length={PAGE_OF_LOGS}");
        let mut path = first.clone();
        let mut entries = Vec::new();
        loop {
            let page = array(self.get(&path).await?.json_if_ok()?)?;
            let Some(last) = page.last() else {
                return Ok(entries);
            };
            let cursor = last["cursor"].as_str();
            let cursor = cursor.context("an entry of a log has no cursor")?;
            // It is base64.
            let cursor = cursor.replace('+', "%2B").replace('=', "%3D");
            path = format!("{first}&cursor={cursor}&direction=newer");
            entries.extend(page);
        }
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

/// Moves the items of a page to those of the pages before, and gives the last of them; none
/// where the page has no items, since all were had.
fn take_page<'a>(
    mut page: Value,
    key: &str,
    items: &'a mut Vec<Value>,
) -> Result<Option<&'a Value>> {
    let page = array(page[key].take())?;
    if page.is_empty() {
        return Ok(None);
    }
    items.extend(page);
    Ok(items.last())
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
}
