//! Whether an operation was dropped or cancelled, so that no open create is forgotten.

use crate::cancellation::Cancellation;
use crate::telemetry;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tracing::{Dispatch, dispatcher};
use voice_calling_core::Request;

tokio::task_local! {
    /// The operation that is being polled, or dropped.
    static CURRENT: Arc<Caller>;
}

/// An operation: as a warning about its creates names it, and what cancels it.
pub(crate) struct Caller {
    /// The method of [`Client`](crate::Client).
    pub(crate) function: &'static str,
    pub(crate) account: Option<String>,
    pub(crate) key: Option<Arc<str>>,
    cancellation: Option<Cancellation>,
    /// Whether a cancellation cuts off the request that is open as well. Those of a batch are
    /// finished.
    cuts_off: bool,
    /// Takes what is logged when the operation is dropped, wherever that is.
    log: Dispatch,
    is_dropped: AtomicBool,
    /// The items whose creates were open when the operation was dropped, and what the answers that
    /// had arrived have created.
    created: Mutex<Vec<(Option<u32>, String)>>,
}

impl Caller {
    pub(crate) fn new(
        function: &'static str,
        account: Option<String>,
        key: Option<Arc<str>>,
        cancellation: Option<Cancellation>,
    ) -> Self {
        Self {
            function,
            account,
            key,
            cancellation,
            cuts_off: true,
            log: dispatcher::get_default(Clone::clone),
            is_dropped: AtomicBool::new(false),
            created: Mutex::default(),
        }
    }

    /// Returns the caller of a batch, whose open requests are finished when it is cancelled.
    pub(crate) fn of_batch(self) -> Self {
        Self {
            cuts_off: false,
            ..self
        }
    }
}

/// Returns `true` if the current operation is cancelled.
pub(crate) fn is_cancelled() -> bool {
    let is_cancelled = |caller: &Arc<Caller>| {
        let cancellation = caller.cancellation.as_ref();
        cancellation.is_some_and(Cancellation::is_cancelled)
    };
    CURRENT.try_with(is_cancelled).unwrap_or(false)
}

/// Waits for a part of the current operation; `None` if what is cancelled ends before. What is there
/// counts before a cancellation does.
pub(crate) async fn unless_cancelled<F: Future>(future: F) -> Option<F::Output> {
    let caller = CURRENT.try_with(Clone::clone).ok();
    let caller = caller.filter(|caller| caller.cuts_off);
    let Some(cancellation) = caller.and_then(|caller| caller.cancellation.clone()) else {
        return Some(future.await);
    };
    match select(pin!(future), pin!(cancellation.cancelled())).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// A create that was given to a transport. The core drops it once its attempt has ended.
pub(crate) struct OpenCreate {
    caller: Arc<Caller>,
    item: Option<u32>,
    response: Vec<u8>,
}

impl OpenCreate {
    /// Records that the current operation sends a create.
    pub(crate) fn begin(item: Option<u32>) -> Self {
        Self {
            caller: CURRENT.with(Arc::clone),
            item,
            response: Vec::new(),
        }
    }

    /// Appends a piece of the response.
    pub(crate) fn append_response(&mut self, piece: &[u8]) {
        self.response.extend_from_slice(piece);
    }
}

/// If its operation is dropped, [`warn_of`] follows.
impl Drop for OpenCreate {
    fn drop(&mut self) {
        if self.caller.is_dropped.load(Relaxed)
            && let Some(id) = member(&self.response, &["docket_id", "task_id", "agent_id"])
        {
            let created = self.caller.created.lock();
            let mut created = created.unwrap_or_else(PoisonError::into_inner);
            created.push((self.item, id));
        }
    }
}

/// Runs an operation of the core.
pub(crate) async fn run<F: Future>(caller: Caller, future: F) -> F::Output {
    let caller = Arc::new(caller);
    let future = pin!(CURRENT.scope(caller.clone(), future));
    // Declared last, it is dropped first: open creates learn by it that their operation was dropped.
    let _dropped_first = DroppedFirst(caller);
    future.await
}

struct DroppedFirst(Arc<Caller>);

impl Drop for DroppedFirst {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Relaxed);
    }
}

/// Logs a create of the current operation, which is being dropped.
pub(crate) fn warn_of(create: &Request) {
    CURRENT.with(|caller| {
        let created = caller.created.lock();
        let created = created.unwrap_or_else(PoisonError::into_inner);
        let mut created = created.iter();
        let created_id = created.find_map(|(item, id)| (*item == create.item).then_some(&**id));
        let external_id = member(&create.body, &["external_id"]);
        let create = DroppedCreate {
            function: caller.function,
            account: caller.account.as_deref(),
            key: caller.key.as_deref(),
            external_id: external_id.as_deref(),
            item: create.item,
            created_id,
        };
        dispatcher::with_default(&caller.log, || {
            warn_dropped(&create);
            telemetry::count_dropped(create.function, create.created_id);
        });
    });
}

/// A create whose caller is gone.
pub(crate) struct DroppedCreate<'a> {
    pub(crate) function: &'static str,
    pub(crate) account: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) external_id: Option<&'a str>,
    pub(crate) item: Option<u32>,
    pub(crate) created_id: Option<&'a str>,
}

/// Logs it.
pub(crate) fn warn_dropped(create: &DroppedCreate<'_>) {
    let DroppedCreate {
        function,
        account,
        key,
        external_id,
        item,
        created_id,
    } = create;
    let what = match created_id {
        Some(_) => "after its create had succeeded",
        None => "after its create was sent: the call or docket may exist",
    };
    telemetry::unless_it_panics(|| {
        tracing::warn!(
            created_id,
            function,
            account,
            key,
            external_id,
            item,
            "an operation was dropped {what}"
        );
    });
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
