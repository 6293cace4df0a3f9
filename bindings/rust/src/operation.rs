//! Whether an operation was dropped, so that no open create is forgotten.

use bytes::Bytes;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::task::futures::TaskLocalFuture;
use voice_calling_core::{Departure, Request};

tokio::task_local! {
    /// Whether the current operation was dropped.
    static IS_DROPPED: Arc<AtomicBool>;
}

/// A create that was given to a transport. The core drops it once its attempt has ended. If it is
/// dropped because its operation is, and may have left, that is logged.
pub(crate) struct OpenCreate {
    is_dropped: Arc<AtomicBool>,
    departure: Departure,
    content: Bytes,
    item: Option<u32>,
    response: Vec<u8>,
}

impl OpenCreate {
    /// Records that the current operation sends a create with this content.
    pub(crate) fn begin(request: &Request, content: Bytes) -> Self {
        Self {
            is_dropped: IS_DROPPED.with(Arc::clone),
            departure: request.departure.clone(),
            content,
            item: request.item,
            response: Vec::new(),
        }
    }

    /// Appends a piece of the response.
    pub(crate) fn append_response(&mut self, piece: &[u8]) {
        self.response.extend_from_slice(piece);
    }
}

impl Drop for OpenCreate {
    fn drop(&mut self) {
        if self.is_dropped.load(Relaxed) && !self.departure.withdraw() {
            let external_id = member(&self.content, &["external_id"]);
            let created_id = member(&self.response, &["docket_id", "task_id", "agent_id"]);
            warn_dropped(created_id.as_deref(), external_id.as_deref(), self.item);
        }
    }
}

/// Runs an operation of the core.
pub(crate) fn run<F: Future>(future: F) -> Run<F> {
    let is_dropped = Arc::new(AtomicBool::new(false));
    Run {
        dropped_first: DroppedFirst(is_dropped.clone()),
        future: IS_DROPPED.scope(is_dropped, future),
    }
}

pin_project! {
    /// An operation of the core.
    pub(crate) struct Run<F> {
        dropped_first: DroppedFirst,
        #[pin]
        future: TaskLocalFuture<Arc<AtomicBool>, F>,
    }
}

impl<F: Future> Future for Run<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

/// Is dropped before the future, whose open creates learn by it that their operation was dropped.
struct DroppedFirst(Arc<AtomicBool>);

impl Drop for DroppedFirst {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Logs a create whose caller is gone.
pub(crate) fn warn_dropped(created_id: Option<&str>, external_id: Option<&str>, item: Option<u32>) {
    match created_id {
        Some(created_id) => tracing::warn!(
            created_id,
            external_id,
            item,
            "an operation was dropped after its create had succeeded"
        ),
        None => tracing::warn!(
            external_id,
            item,
            "an operation was dropped after its create was sent: the call or docket may exist"
        ),
    }
}

/// Returns the first of these members that a JSON object has.
pub(crate) fn member(json: &[u8], names: &[&str]) -> Option<String> {
    let object: serde_json::Value = serde_json::from_slice(json).ok()?;
    let value = names
        .iter()
        .find_map(|name| object.get(name).filter(|it| !it.is_null()))?;
    Some(match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}
