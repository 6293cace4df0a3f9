//! Runs operations as far as they can go.

use crate::call::OperationResult;
use crate::host::Host;
use crate::types::OperationId;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, Stream};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// An operation in progress. While it is polled the host knows its number.
pub(crate) struct Running {
    pub(crate) host: Rc<Host>,
    pub(crate) operation: OperationId,
    pub(crate) future: LocalBoxFuture<'static, OperationResult>,
}

impl Future for Running {
    type Output = (OperationId, OperationResult);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let operation = self.operation;
        self.host.polled.set(operation);
        let polled = self.future.as_mut().poll(context);
        polled.map(|outcome| (operation, outcome))
    }
}

/// All operations in progress. Only woken ones are polled, in the order in which they were woken.
pub(crate) struct Executor {
    running: FuturesUnordered<Running>,
    woken: Arc<Woken>,
    waker: Waker,
}

impl Default for Executor {
    fn default() -> Self {
        let woken = Arc::new(Woken::default());
        Self {
            running: FuturesUnordered::new(),
            waker: Waker::from(woken.clone()),
            woken,
        }
    }
}

impl Executor {
    pub(crate) fn begin(&self, running: Running) {
        self.running.push(running);
    }

    /// Runs until an operation ends; returns `None` if all of them wait.
    pub(crate) fn next_ended(&mut self) -> Option<(OperationId, OperationResult)> {
        let mut context = Context::from_waker(&self.waker);
        loop {
            match Pin::new(&mut self.running).poll_next(&mut context) {
                Poll::Ready(ended) => return ended,
                // It may only have yielded.
                Poll::Pending if self.woken.0.swap(false, Ordering::Relaxed) => {}
                Poll::Pending => return None,
            }
        }
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
