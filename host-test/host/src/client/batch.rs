//! The results of a batch, each as soon as it is known.

use super::Waiting;
use super::operation::OfBatch;
use crate::calls::batch::BatchResult;
use crate::guest::in_flight::InFlight;
use crate::load::plugin::Called;
use crate::load::plugin::types::RequestError;
use anyhow::{Result, anyhow};
use futures_util::stream::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
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
        told: mpsc::UnboundedReceiver<OfBatch>,
        waiting: Waiting,
        place: OwnedSemaphorePermit,
    ) -> Called<Self> {
        let mut batch = Self {
            told,
            first: None,
            waiting: Some(waiting),
            _place: place,
        };
        match batch.told.recv().await {
            Some(OfBatch::Begun) => Ok(Ok(batch)),
            Some(OfBatch::Result(result)) => {
                batch.first = Some(result);
                Ok(Ok(batch))
            }
            ended => {
                batch.has_heard();
                match ended {
                    Some(OfBatch::Ended(Ok(Err(error)))) => Ok(Err(error)),
                    Some(OfBatch::Ended(Err(error))) => Err(error),
                    Some(_) => Ok(Ok(batch)),
                    None => Err(gone()),
                }
            }
        }
    }

    pub(super) fn call(&self) -> Option<Arc<InFlight>> {
        self.waiting.as_ref()?.call()
    }

    fn has_heard(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.has_heard();
        }
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
            self.has_heard();
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

impl Drop for Batch {
    fn drop(&mut self) {
        let Some(waiting) = self.waiting.take() else {
            return;
        };
        let call = waiting.call();
        // What the batch gets by that is unread as well.
        drop(waiting);
        // From now on, results are logged where they are reported.
        self.told.close();
        let first = self.first.take().map(OfBatch::Result);
        let others = std::iter::from_fn(|| self.told.try_recv().ok());
        for unread in first.into_iter().chain(others) {
            if let Some(call) = &call {
                unread.log(call);
            }
        }
    }
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
