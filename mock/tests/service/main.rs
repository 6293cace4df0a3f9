//! The mock service: its answers, the phones that it rings, and its reports.

mod control;
mod end;
mod endpoints;
mod faults;
mod telephone;
mod webhook;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::task::yield_now;
use voice_calling_mock::{MockService, Options};
use voice_calling_peer::{Behaviour, Peer};

const NUMBER: &str = "919876543210";
const CONTEXT: &str = r#"{"name":"Asha"}"#;
const V1: &str = "/api/v1/dockets";
const V2: &str = "/api/v2/dockets";
const MAKE_CALL: &str = "/make_call";

/// Fails instead of hanging: the future must complete soon.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, what).await.expect("no hang")
}

/// Polls until the condition holds.
async fn until(condition: impl AsyncFn() -> bool) {
    let asking = async {
        while !condition().await {
            yield_now().await;
        }
    };
    soon(asking).await;
}

struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    base_url: String,
    token: String,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn id(&self, name: &str) -> String {
        self.json()[name].as_str().expect(name).to_owned()
    }
}

impl Client {
    async fn send(&self, head: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = head.split_once(' ').expect("METHOD /path");
        let uri = format!("{}{path}", self.base_url);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).expect("request");
        let reply = soon(self.http.request(request)).await;
        let reply = reply.expect("an answer");
        Reply {
            status: reply.status().as_u16(),
            headers: reply.headers().clone(),
            body: reply.into_body().collect().await.expect("body").to_bytes(),
        }
    }

    async fn get(&self, path: &str) -> Reply {
        let headers = [("auth_token", &*self.token)];
        self.send(&format!("GET {path}"), &headers, "").await
    }

    async fn post(&self, path: &str, body: &str) -> Reply {
        let json = ("content-type", "application/json");
        let headers = [("auth_token", &*self.token), json];
        self.send(&format!("POST {path}"), &headers, body).await
    }

    async fn docket(&self, body: &str) -> String {
        self.post(V2, body).await.id("docket_id")
    }

    async fn fetch(&self, docket_id: &str) -> Value {
        self.get(&format!("{V1}/{docket_id}")).await.json()
    }

    async fn call(&self) -> String {
        self.post(MAKE_CALL, &call_body()).await.id("task_id")
    }

    async fn details(&self, task_id: &str) -> Reply {
        self.get(&format!("/call_details/{task_id}")).await
    }
}

async fn started(options: Options) -> (MockService, Client) {
    let mock = MockService::start(options).await.expect("a mock");
    let client = Client {
        http: HttpClient::builder(TokioExecutor::new()).build_http(),
        base_url: mock.base_url(),
        token: format!("Bearer {}", mock.token()),
    };
    (mock, client)
}

/// Starts a mock with changed default options.
async fn with(change: impl FnOnce(&mut Options)) -> (MockService, Client) {
    let mut options = Options::default();
    change(&mut options);
    started(options).await
}

fn docket_body() -> String {
    let number_and_id = format!(r#""to_phone_number":"{NUMBER}","external_id":"crm-1""#);
    let extra_config = format!(r#"{{"call_context":{CONTEXT}}}"#);
    format!(r#"{{"agent_id":7,{number_and_id},"extra_config":{extra_config}}}"#)
}

/// Returns a creation for another number.
fn body_for(number: &str) -> String {
    docket_body().replace(NUMBER, number)
}

fn call_body() -> String {
    format!(r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}"}}"#)
}

async fn peer(behaviour: Behaviour) -> Peer {
    Peer::start([behaviour]).await.expect("a peer")
}

async fn receiver() -> Peer {
    let answer = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    peer(Behaviour::Send(answer)).await
}

fn notifying(receiver: &Peer) -> Options {
    let webhook = Some(format!("{}/hook?source=mock", receiver.base_url()));
    let options = Options::default();
    Options { webhook, ..options }
}

async fn until_received(receiver: &Peer) {
    soon(receiver.received(1)).await;
}

fn is_timestamp(value: &Value) -> bool {
    let as_zero = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let text = value.as_str().unwrap_or_default();
    text.chars().map(as_zero).collect::<String>() == "0000-00-00T00:00:00.000000"
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).expect("JSON")
}

fn fields(value: &Value) -> usize {
    value.as_object().expect("an object").len()
}

/// Returns the rows of a table whose columns are separated by `|`.
fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let rows = table.trim().lines();
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        cells.try_into().expect(row)
    })
}
