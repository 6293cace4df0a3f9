//! The parts from which the page's answers are made.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;
use voice_calling_mock::MockService;
use voice_calling_record::Secrets;

/// The state of the server.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) mock: Arc<MockService>,
    pub(crate) port: u16,
    /// The token that a click needs.
    pub(crate) token: Arc<str>,
    pub(crate) secrets: Secrets,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Served {
    /// Waits until the page is stopped.
    pub(crate) fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.stopping.clone();
        async move { _ = stopping.wait_for(|stopping| *stopping).await }
    }

    /// Returns the value as JSON, with tokens masked.
    pub(crate) fn masked(&self, value: &impl Serialize) -> Value {
        let json = serde_json::to_value(value).expect("the mock's structs are JSON");
        self.secrets.mask_json(&json)
    }
}

/// Returns an answer that describes the error.
pub(crate) fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    (status, axum::Json(json!({"error": error.into()}))).into_response()
}
