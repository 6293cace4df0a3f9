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
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    creates: HashMap<u64, Create>,
    polls: u32,
}

/// A create that was sent, or is being sent.
struct Create {
    request: Bytes,
    item: Option<u32>,
    answer: Vec<u8>,
}

/// A create that is open until this is dropped, which the core does when it has judged it.
pub(crate) struct OpenCreate {
    operation: Arc<Operation>,
    number: u64,
}

impl Operation {
    fn new(on_progress: Option<OnProgress>) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            on_progress,
            open: Mutex::default(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCreate {
    /// Keeps a piece of the answer.
    pub(crate) fn received(&self, piece: &[u8]) {
        if let Some(create) = self.operation.open().creates.get_mut(&self.number) {
            create.answer.extend_from_slice(piece);
        }
    }
}

impl Drop for OpenCreate {
    fn drop(&mut self) {
        self.operation.open().creates.remove(&self.number);
    }
}

/// Records that the current operation sends a create.
pub(crate) fn open_create(request: Bytes, item: Option<u32>) -> OpenCreate {
    let operation = CURRENT.with(Arc::clone);
    let mut open = operation.open();
    let number = open.next;
    open.next += 1;
    let answer = Vec::new();
    open.creates.insert(
        number,
        Create {
            request,
            item,
            answer,
        },
    );
    drop(open);
    OpenCreate { operation, number }
}

/// Reports an answer to the current operation's caller.
pub(crate) fn answered(status: u16) {
    CURRENT.with(|operation| {
        let Some(on_progress) = &operation.on_progress else {
            return;
        };
        let polls = {
            let mut open = operation.open();
            open.polls += 1;
            open.polls
        };
        on_progress(Progress {
            answers: polls,
            status,
            elapsed: operation.began.elapsed(),
        });
    });
}

/// Runs an operation of the core.
pub(crate) fn run<F: Future>(walk: F, on_progress: Option<OnProgress>) -> Run<F> {
    let operation = Operation::new(on_progress);
    Run {
        watch: Watch(operation.clone()),
        walk: CURRENT.scope(operation, walk),
    }
}

pin_project! {
    /// An operation of the core. Creates that are open when it is dropped are logged.
    pub(crate) struct Run<F> {
        // Dropped first, while the operation's creates are still open.
        watch: Watch,
        #[pin]
        walk: TaskLocalFuture<Arc<Operation>, F>,
    }
}

impl<F: Future> Future for Run<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().walk.poll(context)
    }
}

/// Logs the creates that are open when it is dropped.
struct Watch(Arc<Operation>);

impl Drop for Watch {
    fn drop(&mut self) {
        let creates = mem::take(&mut self.0.open().creates);
        for create in creates.into_values() {
            let external_id = member(&create.request, &["external_id"]);
            let created_id = member(&create.answer, &["docket_id", "task_id", "agent_id"]);
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
