//! A Rust client as many programs have it: reqwest with a middleware for retries.

use super::load::Caller;
use super::native::{TIMEOUT, body, check};
use super::subject::TOKEN;
use anyhow::{Result, anyhow};
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use rustls::crypto::ring;

/// The number of retries, as by default in the client for Rust programs.
const RETRIES: u32 = 3;

/// A client with pooled connections.
#[derive(Clone)]
pub(super) struct ReqwestClient {
    client: ClientWithMiddleware,
    url: String,
}

impl ReqwestClient {
    pub(super) fn new(base_url: &str) -> Result<Self> {
        ring::default_provider()
            .install_default()
            .map_err(|_| anyhow!("the process has another provider of cryptography"))?;
        let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT);
        let policy = ExponentialBackoff::builder().build_with_max_retries(RETRIES);
        let retries = RetryTransientMiddleware::new_with_policy(policy);
        Ok(Self {
            client: ClientBuilder::new(client.build()?).with(retries).build(),
            url: format!("{base_url}/api/v2/dockets"),
        })
    }
}

impl Caller for ReqwestClient {
    async fn call(&self) -> Result<()> {
        let request = self
            .client
            .post(&self.url)
            .header("auth_token", format!("Bearer {TOKEN}"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body()?);
        let response = request.send().await?;
        check(response.status(), &response.bytes().await?)
    }
}
