//! The core's transport on reqwest.

use crate::operation::OpenCreate;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::error::Error as StdError;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use tracing::{Instrument, debug_span};
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::{
    Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

/// Sends requests with a [`reqwest::Client`], in the task that polls the operation.
pub(crate) struct ReqwestTransport {
    http: reqwest::Client,
    /// The client for a service on this machine. A proxy of the environment that got such a request
    /// would read the token in clear text.
    loopback: reqwest::Client,
    began: Instant,
}

impl ReqwestTransport {
    pub(crate) fn new(http: reqwest::Client, loopback: reqwest::Client) -> Self {
        Self {
            http,
            loopback,
            began: Instant::now(),
        }
    }
}

impl Transport for ReqwestTransport {
    type Response = ReqwestResponse;

    async fn send(&self, request: &Request, _limits: Limits) -> Result<ReqwestResponse, SendError> {
        let scheme = match request.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let service = format!("{scheme}://{}", request.authority);
        let http = match BaseUrl::parse(&service).is_ok_and(|service| service.is_loopback()) {
            true => &self.loopback,
            false => &self.http,
        };
        let url = service + &request.path_and_query;
        let mut sending = match request.method {
            Method::Get => http.get(url),
            Method::Post => http.post(url),
        };
        // The HTTP library determines the length itself.
        let headers = request.headers.iter();
        for (name, value) in headers.filter(|(name, _)| *name != "content-length") {
            sending = sending.header(*name, value);
        }
        let mut create = None;
        let mut has_started = None;
        if request.method == Method::Post {
            let content = Bytes::from(request.body.clone());
            let body = CreateBody::new(content.clone());
            has_started = Some(body.has_started.clone());
            create = Some(OpenCreate::begin(content, request.item));
            sending = sending.body(reqwest::Body::wrap(body));
        }
        let attempt = debug_span!("attempt", method = request.method.as_str());
        let response = sending.send().instrument(attempt).await.map_err(|error| {
            let has_started =
                has_started.is_some_and(|has_started| has_started.load(Ordering::Acquire));
            let delivery = if error.is_builder() {
                Delivery::Refused
            } else if error.is_connect() && !has_started {
                Delivery::NotSent
            } else {
                Delivery::Unknown
            };
            SendError {
                delivery,
                message: chain(&error),
            }
        })?;
        Ok(ReqwestResponse { response, create })
    }

    async fn sleep(&self, duration_ms: u64) {
        tokio::time::sleep(Duration::from_millis(duration_ms)).await;
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn unix_time_s(&self) -> u64 {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        since_1970.map_or(0, |since| since.as_secs())
    }

    fn random(&self) -> u64 {
        RandomState::new().build_hasher().finish()
    }

    async fn log(&self, line: &str) {
        tracing::info!(target: "voice_calling::attempts", "{line}");
    }
}

/// A response whose head has arrived.
pub(crate) struct ReqwestResponse {
    response: reqwest::Response,
    /// The create that it responds to.
    create: Option<OpenCreate>,
}

impl Response for ReqwestResponse {
    fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    fn header(&self, name: &str) -> Option<Vec<u8>> {
        let value = self.response.headers().get(name)?;
        Some(value.as_bytes().to_vec())
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| chain(&error))?;
        if let (Some(create), Some(chunk)) = (&mut self.create, &chunk) {
            create.append_response(chunk);
        }
        Ok(chunk.map(Vec::from))
    }
}

/// The body of a create. It can be sent once: neither the HTTP library nor a user's layer can
/// repeat it, and the request counts as sent once its first byte was read.
struct CreateBody {
    content: Option<Bytes>,
    has_started: Arc<AtomicBool>,
}

impl CreateBody {
    fn new(content: Bytes) -> Self {
        Self {
            content: Some(content),
            has_started: Arc::default(),
        }
    }
}

impl Body for CreateBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.has_started.store(true, Ordering::Release);
        Poll::Ready(self.content.take().map(|content| Ok(Frame::data(content))))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let bytes = self.content.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(bytes as u64)
    }
}

/// Formats an error with its causes, without the URL, whose path may contain a task id and whose
/// query an organization.
fn chain(error: &reqwest::Error) -> String {
    let mut text = match error.is_timeout() {
        true => "timed out".to_owned(),
        false => "the request failed".to_owned(),
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
