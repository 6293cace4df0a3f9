//! The state of an operation outside of the core: its open creates, so that none is forgotten if
//! the operation's future is dropped, and the progress that its caller asked for.

use crate::wait::{OnProgress, Progress};
use bytes::Bytes;
use pin_project_lite::pin_project;
use std::collections::HashMap;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;

tokio::task_local! {
    static CURRENT: Arc<Operation>;
}

/// The creates that an operation has sent, and the receiver of its progress.
pub(crate) struct Operation {
    began: Instant,
    on_progress: Option<OnProgress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    creates: HashMap<u64, Create>,
    responses: u32,
}

/// A create that was sent, or is being sent.
struct Create {
    request: Bytes,
    item: Option<u32>,
    response: Vec<u8>,
}

/// A create that is open until this is dropped, which the core does once it has decided what
/// follows.
pub(crate) struct OpenCreate {
    operation: Arc<Operation>,
    number: u64,
}

impl Operation {
    fn new(on_progress: Option<OnProgress>) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            on_progress,
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCreate {
    /// Appends a piece of the response.
    pub(crate) fn append_response(&self, piece: &[u8]) {
        if let Some(create) = self.operation.lock().creates.get_mut(&self.number) {
            create.response.extend_from_slice(piece);
        }
    }
}

impl Drop for OpenCreate {
    fn drop(&mut self) {
        self.operation.lock().creates.remove(&self.number);
    }
}

/// Records that the current operation sends a create.
pub(crate) fn open_create(request: Bytes, item: Option<u32>) -> OpenCreate {
    let operation = CURRENT.with(Arc::clone);
    let mut state = operation.lock();
    let number = state.next;
    state.next += 1;
    let response = Vec::new();
    state.creates.insert(
        number,
        Create {
            request,
            item,
            response,
        },
    );
    drop(state);
    OpenCreate { operation, number }
}

/// Reports a response to the current operation's caller.
pub(crate) fn report_response(status: u16) {
    CURRENT.with(|operation| {
        let Some(on_progress) = &operation.on_progress else {
            return;
        };
        let responses = {
            let mut state = operation.lock();
            state.responses += 1;
            state.responses
        };
        on_progress(Progress {
            answers: responses,
            status,
            elapsed: operation.began.elapsed(),
        });
    });
}

/// Runs an operation of the core.
pub(crate) fn run<F: Future>(future: F, on_progress: Option<OnProgress>) -> Run<F> {
    let operation = Operation::new(on_progress);
    Run {
        warn_on_drop: WarnOnDrop(operation.clone()),
        future: CURRENT.scope(operation, future),
    }
}

pin_project! {
    /// An operation of the core. Creates that are open when it is dropped are logged.
    pub(crate) struct Run<F> {
        // Dropped first, while the operation's creates are still open.
        warn_on_drop: WarnOnDrop,
        #[pin]
        future: TaskLocalFuture<Arc<Operation>, F>,
    }
}

impl<F: Future> Future for Run<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

/// Logs the creates that are open when it is dropped.
struct WarnOnDrop(Arc<Operation>);

impl Drop for WarnOnDrop {
    fn drop(&mut self) {
        let creates = mem::take(&mut self.0.lock().creates);
        for create in creates.into_values() {
            let external_id = member(&create.request, &["external_id"]);
            let created_id = member(&create.response, &["docket_id", "task_id", "agent_id"]);
            warn_dropped(created_id.as_deref(), external_id.as_deref(), create.item);
        }
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
