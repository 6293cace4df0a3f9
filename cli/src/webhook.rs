//! The service's webhook: what it delivers is verified, and kept in a file beside the results.

use anyhow::{Context, Result, bail};
use http::header::CONTENT_ENCODING;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use voice_calling::{Client, FailureKind, Verification};

const SECRET: &str = "VOICE_CALLING_WEBHOOK_SECRET";

const MAX_DELIVERY_BYTES: usize = 1_048_576;
const MAX_CONNECTIONS: usize = 64;
const LONGEST_CONNECTION: Duration = Duration::from_secs(60);

/// The receiver of deliveries.
struct Receiver {
    client: Client,
    /// The path that only the service knows: deliveries are not signed.
    path: String,
    deliveries: PathBuf,
    writing: Mutex<()>,
}

/// Receives deliveries at an address until the runtime ends.
pub(crate) async fn listen(address: SocketAddr, client: Client, deliveries: PathBuf) -> Result<()> {
    let secret = std::env::var(SECRET).unwrap_or_default();
    if secret.len() < 24 || !secret.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        bail!("{SECRET}: allowed: 24 or more ASCII letters and digits");
    }
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("--webhook {address}"))?;
    let receiver = Arc::new(Receiver {
        client,
        path: format!("/voice-calling/{secret}"),
        deliveries,
        writing: Mutex::default(),
    });
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::spawn(async move {
        while let Ok(permit) = connections.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let receiver = receiver.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| receiver.answer(request));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // A peer that is gone, or slow, has no answer.
                let _ = timeout(LONGEST_CONNECTION, connection).await;
                drop(permit);
            });
        }
    });
    Ok(())
}

impl Receiver {
    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, hyper::Error> {
        let mut response = Response::new(Empty::new());
        *response.status_mut() = self.receive(request).await;
        Ok(response)
    }

    async fn receive(&self, request: Request<Incoming>) -> StatusCode {
        if request.uri().path() != self.path {
            return StatusCode::NOT_FOUND;
        }
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        if request.headers().contains_key(CONTENT_ENCODING) {
            return StatusCode::UNSUPPORTED_MEDIA_TYPE;
        }
        let Ok(body) = Limited::new(request.into_body(), MAX_DELIVERY_BYTES)
            .collect()
            .await
        else {
            return StatusCode::PAYLOAD_TOO_LARGE;
        };
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        match self.client.verify_docket_completed(&body).await {
            Ok(Verification::Confirmed(confirmed)) => {
                match self.keep(&confirmed.delivered.raw_json) {
                    Ok(()) => StatusCode::NO_CONTENT,
                    Err(error) => {
                        let file = self.deliveries.display();
                        crate::say(format_args!(
                            "a delivery could not be kept: {file}: {error}"
                        ));
                        StatusCode::SERVICE_UNAVAILABLE
                    }
                }
            }
            Ok(Verification::NotACompletion) => StatusCode::NO_CONTENT,
            Err(error) if error.kind() == FailureKind::InvalidInput => StatusCode::BAD_REQUEST,
            // It should come again: the service does not show the docket as completed, or could not
            // be asked.
            Ok(Verification::Contradicted(_)) | Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Appends a delivery to the file, as a line.
    fn keep(&self, delivery: &str) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.deliveries)?;
        // JSON has line ends only between its words. The first one ends a line that a crash has cut.
        let line = delivery.replace(['\n', '\r'], " ");
        file.write_all(format!("\n{line}\n").as_bytes())?;
        file.sync_data()
    }
}
