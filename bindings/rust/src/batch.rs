//! Many dockets in one call, as a stream of results.

use crate::cancellation::Cancellation;
use crate::client::{self, Client};
use crate::error::Error;
use crate::operation::{self, DroppedCreate, warn_dropped};
use crate::telemetry::{self, operation_span};
use futures_util::Stream;
use futures_util::future::{Either, select};
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::hash::BuildHasher;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle as Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinError, JoinHandle};
use tracing::instrument::{Instrument, WithSubscriber};
use voice_calling_core as core;
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::{CreatedDocketV2, DocketRequestV2};
use voice_calling_core::{ResultSink, Source};

/// A request of a batch, with its key in the ledger if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRequest {
    /// The key in the ledger, as for `Client::with_key`.
    pub key: Option<String>,
    /// The request.
    pub request: DocketRequestV2,
}

impl From<DocketRequestV2> for BatchRequest {
    fn from(request: DocketRequestV2) -> Self {
        Self { key: None, request }
    }
}

impl<K: Into<String>> From<(K, DocketRequestV2)> for BatchRequest {
    fn from((key, request): (K, DocketRequestV2)) -> Self {
        Self {
            key: Some(key.into()),
            request,
        }
    }
}

/// The results of a batch, each with the index of its request, in the order in which they arrive.
///
/// Nothing is sent before the first result is read, or [`start`](Self::start) is called. Once it is
/// dropped, nothing more is begun. Open requests are finished, and a [`tracing`] warning has the id
/// of each docket whose result was not read.
///
/// If the iterator of the requests panics, or anything else in the task of the batch, those that
/// were taken before are sent if they still can be, and the panic follows their results.
///
/// # Examples
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), voice_calling::Error> {
/// use std::time::Duration;
/// use voice_calling::DocketRequestV2;
///
/// # let client = voice_calling::testing::ScriptedService::new().client();
/// let numbers = ["910000000000", "910000000001", "910000000002"];
/// let requests = numbers.map(|number| DocketRequestV2::new(7, number));
/// let mut batch = client.create_dockets_v2(requests, Duration::from_secs(3600))?;
/// while let Some((index, result)) = batch.next().await {
///     println!("{}: docket {}", numbers[index], result?.docket_id);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Batch {
    results: Receiver<Item>,
    panic: SourcePanic,
    stop: Cancellation,
    task: Option<Task>,
}

/// The task of a batch.
enum Task {
    NotStarted(Runtime, Pin<Box<dyn Future<Output = ()> + Send>>),
    Started(JoinHandle<()>),
}

/// The result of a request of a batch.
type DocketResult = Result<Recorded<CreatedDocketV2>, Error>;

/// A result that is logged if it is dropped before it is read.
#[derive(Debug)]
struct Item {
    index: usize,
    account: Option<String>,
    key: Option<String>,
    external_id: Option<String>,
    result: Option<DocketResult>,
}

impl Batch {
    pub(crate) fn new(
        client: &Client,
        requests: impl Stream<Item = BatchRequest> + Send + 'static,
        timeout_ms: u32,
    ) -> Result<Self, Error> {
        let runtime = client::runtime()?;
        let (core, options) = (client.core.clone(), client.options());
        core.check_batch(timeout_ms, options.clone())?;
        let caller = client.caller(FUNCTION).of_batch();
        let (stop, panic) = (Cancellation::new(), SourcePanic::default());
        let (sender, results) = channel(UNREAD_RESULTS);
        let source = Requests {
            requests: tokio::sync::Mutex::new((0, Some(Box::pin(requests)))),
            seen: Mutex::default(),
            panic: panic.clone(),
            stop: stop.clone(),
        };
        let sink = ResultSender {
            results: sender,
            account: caller.account.clone(),
            stop: stop.clone(),
            is_breaker_open: AtomicBool::new(false),
        };
        let task = async move {
            if let Ok(batch) = core.begin_batch(source, timeout_ms, options) {
                batch.run(&sink).await;
            }
        };
        let task = operation::run(caller, task);
        let task = client.clock.clone().watch(task);
        let task = task.instrument(operation_span!("create_dockets_v2"));
        let task = Box::pin(task.with_current_subscriber());
        Ok(Self {
            results,
            panic,
            stop,
            task: Some(Task::NotStarted(runtime, task)),
        })
    }

    /// Starts the batch, whose time begins now, in a task of the runtime in which it was made.
    /// Reading the first result does this too.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// # let requests = [voice_calling::DocketRequestV2::new(7, "910000000000")];
    /// let mut batch = client.create_dockets_v2(requests, std::time::Duration::from_secs(60))?;
    /// batch.start();
    /// # while let Some((_, result)) = batch.next().await { result?; }
    /// # assert_eq!(service.requests().len(), 1);
    /// # Ok(()) }
    /// ```
    pub fn start(&mut self) {
        self.task = match self.task.take() {
            Some(Task::NotStarted(runtime, task)) => Some(Task::Started(runtime.spawn(task))),
            task => task,
        };
    }

    /// Begins nothing further. Requests that are open are finished, and their results can still be
    /// read. The result of each other request is an error of the kind
    /// [`NotBegun`](crate::FailureKind::NotBegun).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// use voice_calling::FailureKind;
    ///
    /// # let requests = [voice_calling::DocketRequestV2::new(7, "910000000000")];
    /// # let mut batch = client.create_dockets_v2(requests, std::time::Duration::from_secs(60))?;
    /// batch.stop();
    /// while let Some((_, result)) = batch.next().await {
    ///     assert_eq!(result.unwrap_err().kind(), FailureKind::NotBegun);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns the next result with the index of its request, or `None` at the end of the batch.
    pub async fn next(&mut self) -> Option<(usize, DocketResult)> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Ends the batch: nothing more is begun. Waits until the open requests are finished, and logs
    /// what was created and not read, as dropping it does.
    pub async fn close(self) {
        self.stop();
        drop(self.results);
        if let Some(Task::Started(task)) = self.task {
            // A panic has printed its message, and its reader is gone.
            let _ = task.await;
        }
    }
}

impl Stream for Batch {
    type Item = (usize, DocketResult);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.start();
        if let Some(item) = ready!(self.results.poll_recv(context)) {
            return Poll::Ready(Some(item.into_result()));
        }
        if let Some(panic) = lock(&self.panic).take() {
            panic::resume_unwind(panic);
        }
        // A batch whose task did not end by itself has not sent all of its requests.
        if let Some(Task::Started(task)) = &mut self.task {
            let ended = ready!(Pin::new(task).poll(context));
            self.task = None;
            match ended.map_err(JoinError::try_into_panic) {
                Ok(()) => {}
                Err(Ok(panic)) => panic::resume_unwind(panic),
                Err(Err(error)) => panic!("the batch ended before its requests: {error}"),
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_started = !matches!(self.task, Some(Task::NotStarted(..)));
        formatter
            .debug_struct("Batch")
            .field("is_started", &is_started)
            .field("is_stopped", &self.stop.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl Item {
    fn into_result(mut self) -> (usize, DocketResult) {
        let result = self.result.take().expect("a result is taken once");
        (self.index, result)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        let created_id = match &self.result {
            // The ledger contains the others.
            Some(Ok(created)) if !created.from_ledger => Some(&*created.answer.docket_id),
            Some(Err(error)) if error.may_have_created() => None,
            _ => return,
        };
        warn_dropped(&DroppedCreate {
            function: FUNCTION,
            account: self.account.as_deref(),
            key: self.key.as_deref(),
            external_id: self.external_id.as_deref(),
            item: u32::try_from(self.index).ok(),
            created_id,
        });
    }
}

const FUNCTION: &str = "create_dockets_v2";

/// The maximum number of unread results. No further request is begun while there are as many.
const UNREAD_RESULTS: usize = 1_000;

/// The number of requests that are compared with each other, for the warning about equal ones.
const COMPARED_REQUESTS: usize = 10_000;

/// The panic of the iterator of the requests, until the reader of the results gets it.
type SourcePanic = Arc<Mutex<Option<Box<dyn Any + Send>>>>;

/// Requests with their keys, which are taken from a stream when they can be sent.
struct Requests<S> {
    /// The index of the next request, and the remaining ones, if there are any. One worker at a time
    /// waits for the stream.
    requests: tokio::sync::Mutex<(usize, Option<Pin<Box<S>>>)>,
    /// The hashes of the requests without keys.
    seen: Mutex<HashSet<u64>>,
    panic: SourcePanic,
    stop: Cancellation,
}

impl<S: Stream<Item = BatchRequest>> Source for Requests<S> {
    async fn next(&self) -> Option<core::Item<'_>> {
        let (index, BatchRequest { key, request }) = {
            let (index, requests) = &mut *self.requests.lock().await;
            let stream = requests.as_mut()?;
            let next = poll_fn(|context| {
                let poll = AssertUnwindSafe(|| stream.as_mut().poll_next(context));
                panic::catch_unwind(poll).unwrap_or_else(|panic| {
                    *lock(&self.panic) = Some(panic);
                    Poll::Ready(None)
                })
            });
            // A stream that does not say in time what it has left is not waited for.
            let Either::Left((Some(taken), _)) = select(next, pin!(self.stop.cancelled())).await
            else {
                *requests = None;
                return None;
            };
            *index += 1;
            (*index - 1, taken)
        };
        if key.is_none() {
            self.warn_of_equal(index, &request);
        }
        Some(core::Item {
            index,
            request: Cow::Owned(request),
            key: key.map(Cow::Owned),
        })
    }
}

impl<S> Requests<S> {
    /// Warns of a request that equals an earlier one, and would call the same person for the same
    /// reason.
    fn warn_of_equal(&self, index: usize, request: &DocketRequestV2) {
        let mut seen = lock(&self.seen);
        let hash = seen.hasher().hash_one(request);
        if seen.len() < COMPARED_REQUESTS && !seen.insert(hash) {
            tracing::warn!(
                index,
                external_id = request.external_id,
                "a request of a batch is equal to one before, and has no key: both are sent"
            );
        }
    }
}

/// Sends the results of a batch to its stream.
struct ResultSender {
    results: Sender<Item>,
    account: Option<String>,
    stop: Cancellation,
    /// Whether nothing further begins, since too many creates have failed.
    is_breaker_open: AtomicBool,
}

impl ResultSink for ResultSender {
    fn is_closed(&self) -> bool {
        self.results.is_closed()
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    fn on_breaker_open(&self) {
        if !self.is_breaker_open.swap(true, Relaxed) {
            telemetry::count_open_breaker(FUNCTION);
        }
    }

    async fn send(&self, item: &core::Item<'_>, result: core::DocketResult) {
        telemetry::count(FUNCTION, result.as_ref(), |it| it.may_be_duplicate);
        // If the stream is gone, the item is dropped, which logs it.
        let item = Item {
            index: item.index,
            account: self.account.clone(),
            key: item.key.as_deref().map(str::to_owned),
            external_id: item.request.external_id.clone(),
            result: Some(result.map_err(Error::from)),
        };
        let _is_gone = self.results.send(item).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
