//! The requests of a batch, which the host hands over in parts.

use crate::host::{Awaited, Host};
use crate::types::{Effect, OperationId};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use voice_calling_core::types::DocketRequestV2;
use voice_calling_core::{Item, Source};

/// Requests that were handed over and have not begun.
#[derive(Default)]
pub(crate) struct Queue {
    requests: RefCell<VecDeque<(DocketRequestV2, Option<String>)>>,
    /// The number of requests that have begun.
    begun: Cell<usize>,
    /// Whether more requests were asked for and have not come.
    is_asked: Cell<bool>,
    /// Whether the last requests have come.
    is_ended: Cell<bool>,
    workers: Cell<u64>,
}

impl Queue {
    /// Adds requests from the host.
    pub(crate) fn add(
        &self,
        requests: Vec<DocketRequestV2>,
        keys: Option<Vec<Option<String>>>,
        is_last: bool,
    ) {
        let keys = keys.into_iter().flatten().chain(std::iter::repeat(None));
        self.requests
            .borrow_mut()
            .extend(requests.into_iter().zip(keys));
        self.is_asked.set(false);
        self.is_ended.set(self.is_ended.get() || is_last);
    }
}

/// The source of a batch.
pub(crate) struct HostRequests {
    host: Rc<Host>,
    operation: OperationId,
    queue: Rc<Queue>,
}

impl HostRequests {
    pub(crate) fn new(host: Rc<Host>, operation: OperationId) -> Self {
        Self {
            queue: host.open_queue(operation),
            host,
            operation,
        }
    }

    fn poll(&self, worker: u64, context: &Context<'_>) -> Poll<Option<Item<'_>>> {
        let queue = &*self.queue;
        if let Some((request, key)) = queue.requests.borrow_mut().pop_front() {
            let index = queue.begun.get();
            queue.begun.set(index + 1);
            return Poll::Ready(Some(Item {
                index,
                request: Cow::Owned(request),
                key: key.map(Cow::Owned),
            }));
        }
        if queue.is_ended.get() || self.host.is_cancelled(self.operation) {
            return Poll::Ready(None);
        }
        if !queue.is_asked.replace(true) {
            self.host.effect(Effect::More(self.operation));
        }
        let awaited = Awaited::Request(worker);
        self.host
            .set_waker(self.operation, awaited, context.waker());
        Poll::Pending
    }
}

impl Source for HostRequests {
    async fn next(&self) -> Option<Item<'_>> {
        let worker = self.queue.workers.get();
        self.queue.workers.set(worker + 1);
        let item = poll_fn(|context| self.poll(worker, context)).await;
        self.host
            .remove_waker(self.operation, Awaited::Request(worker));
        item
    }
}

impl Drop for HostRequests {
    fn drop(&mut self) {
        self.host.close_queue(self.operation);
    }
}
