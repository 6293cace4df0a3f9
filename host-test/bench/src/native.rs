//! The baseline: a Rust client of the service without a component. It sends the same request and
//! decodes the same answer.

use super::load::Caller;
use super::subject::{DOCKET, TOKEN};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::timeout;

/// The component's own time limit.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct NewDocket<'a> {
    agent_id: i64,
    to_phone_number: &'a str,
    extra_config: ExtraConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'a str>,
}

#[derive(Serialize)]
struct ExtraConfig<'a> {
    call_context: &'a RawValue,
}

/// A docket, as in the service's answer.
#[derive(Deserialize)]
struct Created {
    docket_id: String,
    status: Option<String>,
    created: Option<bool>,
}

/// A client with pooled connections.
#[derive(Clone)]
pub(super) struct NativeClient {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    authorization: HeaderValue,
}

impl NativeClient {
    pub(super) fn new(base_url: &str) -> Result<Self> {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(http);
        Ok(Self {
            client,
            uri: format!("{base_url}/api/v2/dockets").parse()?,
            authorization: format!("Bearer {TOKEN}").parse()?,
        })
    }
}

impl Caller for NativeClient {
    async fn call(&self) -> Result<()> {
        let json = HeaderValue::from_static("application/json");
        let request = Request::post(&self.uri)
            .header(HeaderName::from_static("auth_token"), &self.authorization)
            .header(CONTENT_TYPE, &json)
            .header(ACCEPT, &json)
            .body(Full::from(body()?))?;
        let exchange = async {
            let response = self.client.request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, body))
        };
        let (status, body) = timeout(TIMEOUT, exchange).await??;
        check(status, &body)
    }
}

pub(super) fn body() -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&NewDocket {
        agent_id: DOCKET.agent_id,
        to_phone_number: &DOCKET.to_phone_number,
        extra_config: ExtraConfig {
            call_context: serde_json::from_str(&DOCKET.call_context)?,
        },
        external_id: DOCKET.external_id.as_deref(),
    })?)
}

/// Decodes an answer, and checks that a docket was created.
pub(super) fn check(status: StatusCode, body: &[u8]) -> Result<()> {
    ensure!(status.is_success(), "the service answers {status}");
    let created: Created =
        serde_json::from_slice(body).context("the answer cannot be understood")?;
    let is_whole = created.status.is_some() && !created.docket_id.is_empty();
    ensure!(
        created.created == Some(true) && is_whole,
        "nothing was created"
    );
    Ok(())
}
