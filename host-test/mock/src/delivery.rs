//! Delivers notifications, only to loopback.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::{Authority, Scheme};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::lookup_host;
use uuid::Uuid;

/// The time limit for a receiver's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A message for the webhook.
#[derive(Debug)]
pub(super) struct Notification {
    /// The docket that it reports.
    pub(super) about: Uuid,
    pub(super) body: String,
}

/// A notification that was sent, or could not be.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The JSON text.
    pub body: String,
    /// The receiver's status, or the reason why there is none.
    pub outcome: Result<StatusCode, String>,
}

/// A receiver on a loopback host.
pub(super) struct Webhook {
    authority: Authority,
    path_and_query: String,
    /// The client keeps no connections.
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Webhook {
    /// Reads the receiver's URL.
    pub(super) fn at(url: &str) -> Result<Self> {
        let read = || {
            let uri: Uri = url.parse()?;
            let is_http = uri.scheme() == Some(&Scheme::HTTP);
            ensure!(is_http, "its scheme is not http");
            let authority = uri.authority().context("it has no host")?.clone();
            let host = authority.host();
            ensure!(
                is_loopback(host),
                "its host {host:?} is not loopback (127.0.0.1, [::1], localhost)"
            );
            let path_and_query = uri.path_and_query().map_or("/", |path| path.as_str());
            Ok(Self {
                path_and_query: path_and_query.to_owned(),
                authority,
                client: Client::builder(TokioExecutor::new())
                    .pool_max_idle_per_host(0)
                    .build_http(),
            })
        };
        read().with_context(|| format!("the webhook URL {url:?} is rejected"))
    }

    pub(super) async fn deliver(&self, body: &str) -> Result<StatusCode> {
        tokio::time::timeout(ANSWER_TIMEOUT, self.post(body.to_owned().into()))
            .await
            .context("the receiver did not answer in time")?
    }

    async fn post(&self, body: Bytes) -> Result<StatusCode> {
        let address = self.address().await?;
        let request = Request::post(format!("http://{address}{}", self.path_and_query))
            .header(HOST, self.authority.as_str())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let response = self.client.request(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok(status)
    }

    /// Returns the host's address. The one that `localhost` resolves to is checked as well.
    async fn address(&self) -> Result<SocketAddr> {
        let host = self.authority.host();
        let port = self.authority.port_u16().unwrap_or(80);
        let mut addresses = lookup_host(format!("{host}:{port}")).await?;
        match addresses.find(|address| address.ip().is_loopback()) {
            Some(address) => Ok(address),
            None => bail!("{host} does not resolve to a loopback address"),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<IpAddr, _> = address.parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Webhook;

    #[test]
    fn a_webhook_is_taken_only_on_a_loopback_host() {
        for url in [
            "http://127.0.0.1:8080/hook",
            "http://127.9.9.9",
            "http://localhost:1/a?b=c",
            "http://[::1]:8080/",
        ] {
            assert!(Webhook::at(url).is_ok(), "{url}");
        }
        for url in [
            "http://example.com/hook",
            "http://localhost.evil.example/",
            "http://127.0.0.1@evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://0.0.0.0/",
            "https://127.0.0.1/",
            "127.0.0.1:8080",
            "/hook",
            "",
        ] {
            assert!(Webhook::at(url).is_err(), "{url}");
        }
    }
}
