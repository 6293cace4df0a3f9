//! The results of a batch, each as soon as it is known.

use super::Waiting;
use super::operation::OfBatch;
use crate::calls::batch::BatchResult;
use crate::load::plugin::Called;
use crate::load::plugin::types::RequestError;
use anyhow::{Result, anyhow};
use futures_util::stream::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// The results of a batch, each as soon as it is known: exactly one for each request, in the order
/// in which the requests are done. If this is dropped before the last of them, the batch is
/// abandoned, as a call whose future is dropped.
pub struct Batch {
    told: mpsc::UnboundedReceiver<OfBatch>,
    /// It came before it was known that the batch had begun.
    first: Option<BatchResult>,
    /// None after the last.
    waiting: Option<Waiting>,
    _place: OwnedSemaphorePermit,
}

impl Batch {
    /// A batch with which nothing is wrong as a whole.
    pub(super) async fn begun(
        mut told: mpsc::UnboundedReceiver<OfBatch>,
        waiting: Waiting,
        place: OwnedSemaphorePermit,
    ) -> Called<Self> {
        let mut waiting = Some(waiting);
        let mut heard = || {
            if let Some(waiting) = waiting.take() {
                waiting.has_heard();
            }
        };
        let first = match told.recv().await {
            Some(OfBatch::Begun) => None,
            Some(OfBatch::Result(result)) => Some(result),
            Some(OfBatch::Ended(Ok(Ok(())))) => {
                heard();
                None
            }
            Some(OfBatch::Ended(Ok(Err(error)))) => {
                heard();
                return Ok(Err(error));
            }
            Some(OfBatch::Ended(Err(error))) => {
                heard();
                return Err(error);
            }
            None => {
                heard();
                return Err(gone());
            }
        };
        Ok(Ok(Self {
            told,
            first,
            waiting,
            _place: place,
        }))
    }

    /// The next result; none after the last. An error if the instance has ended before anything
    /// was sent.
    pub async fn next(&mut self) -> Option<Result<BatchResult>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<BatchResult>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        while self.waiting.is_some() {
            let error = match ready!(self.told.poll_recv(context)) {
                Some(OfBatch::Begun) => continue,
                Some(OfBatch::Result(result)) => return Poll::Ready(Some(Ok(result))),
                Some(OfBatch::Ended(Ok(Ok(())))) => None,
                Some(OfBatch::Ended(Ok(Err(error)))) => Some(unlike(&error)),
                Some(OfBatch::Ended(Err(error))) => Some(error),
                None => Some(gone()),
            };
            if let Some(waiting) = self.waiting.take() {
                waiting.has_heard();
            }
            return Poll::Ready(error.map(Err));
        }
        Poll::Ready(None)
    }
}

fn gone() -> anyhow::Error {
    anyhow!("the client is gone")
}

/// A batch that has begun fails request by request.
fn unlike(error: &RequestError) -> anyhow::Error {
    anyhow!("the component ended a batch that had begun: {error:?}")
}

impl Stream for Batch {
    type Item = Result<BatchResult>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BatchResult>>> {
        self.poll(context)
    }
}
