//! The baseline: a Rust client of the service without a component. It sends the same request and
//! decodes the same answer.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::time::timeout;
use voice_calling_host::Trust;
use voice_calling_host::types::DocketRequestV2;

/// The component's own time limit.
const TIMEOUT: Duration = Duration::from_secs(10);

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
pub(super) struct Created {
    pub(super) docket_id: String,
    pub(super) status: Option<String>,
    pub(super) created: Option<bool>,
}

/// A client with pooled connections.
#[derive(Clone)]
pub(super) struct NativeClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
    authorization: HeaderValue,
}

impl NativeClient {
    pub(super) fn new(base_url: &str, token: &str, trust: &Trust) -> Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(trust.client()?)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            client,
            uri: format!("{base_url}/api/v2/dockets").parse()?,
            authorization: format!("Bearer {token}").parse()?,
        })
    }

    pub(super) async fn create_docket(&self, docket: &DocketRequestV2) -> Result<Created> {
        let body = serde_json::to_vec(&NewDocket {
            agent_id: docket.agent_id,
            to_phone_number: &docket.to_phone_number,
            extra_config: ExtraConfig {
                call_context: serde_json::from_str(&docket.call_context)?,
            },
            external_id: docket.external_id.as_deref(),
        })?;
        let json = HeaderValue::from_static("application/json");
        let request = Request::post(&self.uri)
            .header(HeaderName::from_static("auth_token"), &self.authorization)
            .header(CONTENT_TYPE, &json)
            .header(ACCEPT, &json)
            .body(Full::from(body))?;
        let exchange = async {
            let response = self.client.request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, body))
        };
        let (status, body) = timeout(TIMEOUT, exchange).await??;
        ensure!(status.is_success(), "the service answers {status}");
        serde_json::from_slice(&body).context("the answer cannot be understood")
    }
}
