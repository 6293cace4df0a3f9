//! Whether an operation was dropped or cancelled, so that no open create is forgotten.

use crate::cancellation::Cancellation;
use bytes::Bytes;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::task::futures::TaskLocalFuture;
use tracing::{Dispatch, dispatcher};
use voice_calling_core::{Departure, Request};

tokio::task_local! {
    static CURRENT: Current;
}

/// The operation that is being polled.
#[derive(Clone)]
struct Current {
    is_dropped: Arc<AtomicBool>,
    cancellation: Option<Cancellation>,
    /// Whether a cancellation cuts off the request that is open as well. Those of a batch are finished.
    cuts_off: bool,
    /// Takes what is logged when the operation is dropped, wherever that is.
    log: Dispatch,
}

/// Returns `true` if the current operation is cancelled.
pub(crate) fn is_cancelled() -> bool {
    let is_cancelled = |it: &Current| {
        it.cancellation
            .as_ref()
            .is_some_and(Cancellation::is_cancelled)
    };
    CURRENT.try_with(is_cancelled).unwrap_or(false)
}

/// Waits for a part of the current operation; `None` if what is cancelled ends before. What is there
/// counts before a cancellation does.
pub(crate) async fn unless_cancelled<F: Future>(future: F) -> Option<F::Output> {
    let current = CURRENT.try_with(Clone::clone).ok();
    let current = current.filter(|current| current.cuts_off);
    let Some(cancellation) = current.and_then(|current| current.cancellation) else {
        return Some(future.await);
    };
    let (mut future, mut cancelled) = (pin!(future), pin!(cancellation.cancelled()));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => cancelled.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// A create that was given to a transport. The core drops it once its attempt has ended. If it is
/// dropped because its operation is, and may have left, that is logged.
pub(crate) struct OpenCreate {
    current: Current,
    departure: Departure,
    content: Bytes,
    item: Option<u32>,
    response: Vec<u8>,
}

impl OpenCreate {
    /// Records that the current operation sends a create with this content.
    pub(crate) fn begin(request: &Request, content: Bytes) -> Self {
        Self {
            current: CURRENT.with(Clone::clone),
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
        if self.current.is_dropped.load(Relaxed) && !self.departure.withdraw() {
            let external_id = member(&self.content, &["external_id"]);
            let created_id = member(&self.response, &["docket_id", "task_id", "agent_id"]);
            dispatcher::with_default(&self.current.log, || {
                warn_dropped(created_id.as_deref(), external_id.as_deref(), self.item);
            });
        }
    }
}

/// Runs an operation of the core.
pub(crate) fn run<F: Future>(
    cancellation: Option<Cancellation>,
    cuts_off: bool,
    future: F,
) -> Run<F> {
    let is_dropped = Arc::new(AtomicBool::new(false));
    let current = Current {
        is_dropped: is_dropped.clone(),
        cancellation,
        cuts_off,
        log: dispatcher::get_default(Clone::clone),
    };
    Run {
        dropped_first: DroppedFirst(is_dropped),
        future: CURRENT.scope(current, future),
    }
}

pin_project! {
    /// An operation of the core.
    pub(crate) struct Run<F> {
        dropped_first: DroppedFirst,
        #[pin]
        future: TaskLocalFuture<Current, F>,
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
