//! A receiver of webhooks on loopback, as a user of the service would run one.

use anyhow::{Context, Result};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const PATH: &str = "/voice-calling/webhook";

/// Answers every delivery with 200 and queues its body.
pub struct WebhookReceiver {
    server: MockServer,
    bodies: UnboundedReceiver<Vec<u8>>,
}

impl WebhookReceiver {
    /// Starts a receiver on a free port, which ends when it is dropped.
    pub async fn start() -> Self {
        let (sender, bodies) = unbounded_channel();
        let server = MockServer::start().await;
        let deliveries = Mock::given(method("POST")).and(path(PATH));
        deliveries.respond_with(HandOn(sender)).mount(&server).await;
        Self { server, bodies }
    }

    /// Returns the URL for deliveries.
    pub fn url(&self) -> String {
        format!("{}{PATH}", self.server.uri())
    }

    /// Returns the body of the next delivery. Fails if none comes within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<String> {
        let delivery = timeout(limit, self.bodies.recv()).await;
        let body = delivery.with_context(|| format!("no webhook came within {limit:?}"))?;
        let body = body.context("the webhook receiver has ended")?;
        String::from_utf8(body).context("the webhook is not UTF-8")
    }
}

struct HandOn(UnboundedSender<Vec<u8>>);

impl Respond for HandOn {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        // An error means that the receiver of bodies is gone.
        let _ = self.0.send(request.body.clone());
        ResponseTemplate::new(200)
    }
}
