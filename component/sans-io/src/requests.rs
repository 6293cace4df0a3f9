//! The requests of a batch, which the host hands over in parts.

use crate::host::Host;
use crate::types::Effect;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::iter::repeat;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll};
use voice_calling_core::types::DocketRequestV2;
use voice_calling_core::{Item, Source};

/// Requests that were handed over and have not begun.
#[derive(Default)]
pub(crate) struct Queue {
    requests: VecDeque<(DocketRequestV2, Option<String>)>,
    /// The number of requests that have begun.
    begun: usize,
    /// Whether more requests were asked for and have not come.
    is_asked: bool,
    /// Whether the last requests have come.
    is_ended: bool,
}

impl Queue {
    /// Adds requests from the host.
    pub(crate) fn add(
        &mut self,
        requests: Vec<DocketRequestV2>,
        keys: Option<Vec<Option<String>>>,
        is_last: bool,
    ) {
        let keys = keys.into_iter().flatten().chain(repeat(None));
        self.requests.extend(requests.into_iter().zip(keys));
        self.is_asked = false;
        self.is_ended |= is_last;
    }
}

/// The source of the batch that is being polled.
pub(crate) struct HostRequests(pub(crate) Rc<Host>);

impl HostRequests {
    fn poll(&self, context: &Context<'_>) -> Poll<Option<Item<'_>>> {
        let number = self.0.polled.get();
        let polled = self.0.with(number, |operation| {
            let queue = &mut operation.queue;
            if let Some((request, key)) = queue.requests.pop_front() {
                queue.begun += 1;
                return Poll::Ready(Some(Item {
                    index: queue.begun - 1,
                    request: Cow::Owned(request),
                    key: key.map(Cow::Owned),
                }));
            }
            if queue.is_ended || operation.is_cancelled {
                return Poll::Ready(None);
            }
            if !mem::replace(&mut queue.is_asked, true) {
                self.0.effect(Effect::More(number));
            }
            operation.waiting(context);
            Poll::Pending
        });
        polled.unwrap_or(Poll::Ready(None))
    }
}

impl Source for HostRequests {
    async fn next(&self) -> Option<Item<'_>> {
        poll_fn(|context| self.poll(context)).await
    }
}
