//! What the answers of the page are made of.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;
use voice_calling_mock::MockService;
use voice_calling_record::Secrets;

/// What each request is answered with.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) mock: Arc<MockService>,
    pub(crate) port: u16,
    /// What a click needs.
    pub(crate) token: Arc<str>,
    pub(crate) secrets: Secrets,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Served {
    /// Waits for the end of the page.
    pub(crate) fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.stopping.clone();
        async move { _ = stopping.wait_for(|stopping| *stopping).await }
    }

    /// JSON without tokens.
    pub(crate) fn masked(&self, value: &impl Serialize) -> Value {
        let json = serde_json::to_value(value).expect("the mock's structs are JSON");
        self.secrets.mask_json(&json)
    }
}

/// An answer that says what is wrong.
pub(crate) fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    (status, axum::Json(json!({"error": error.into()}))).into_response()
}
