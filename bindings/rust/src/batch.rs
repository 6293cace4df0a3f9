//! Many dockets in one call, as a stream of results.

use crate::error::Error;
use crate::operation::{self, warn_dropped};
use crate::transport::ReqwestTransport;
use futures_core::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::{Instrument, info_span};
use voice_calling_core as core;
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::{CallOptions, CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_core::{DocketResult, Recipient};

/// The results of a batch, each with the index of its request, in the order in which they come.
///
/// If it is dropped, nothing more is begun. Requests that are open are finished, and a warning of
/// [`tracing`] has the id of each docket whose result was not read.
#[derive(Debug)]
pub struct Batch<R = CreatedDocketV2> {
    results: UnboundedReceiver<Item>,
    /// Makes the item of the stream from a success.
    shown: fn(Recorded<CreatedDocketV2>) -> R,
}

/// A result that is logged if it is dropped before it is read.
#[derive(Debug)]
struct Item {
    index: usize,
    external_id: Option<String>,
    result: Option<DocketResult>,
}

impl Batch {
    pub(crate) fn begin(
        core: Arc<core::Client<ReqwestTransport>>,
        requests: Vec<DocketRequestV2>,
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Self, Error> {
        // What is wrong with the batch as a whole is known before its task begins.
        core.begin_batch((&*requests).into(), timeout_ms, options.clone())?;
        let (recipient, results) = Results::of(&requests);
        let count = requests.len();
        let walk = async move {
            if let Ok(batch) = core.begin_batch(requests.into(), timeout_ms, options) {
                batch.run(&recipient).await;
            }
        };
        Ok(Self::spawn(walk, count, results, |created| created.answer))
    }
}

#[cfg(feature = "ledger")]
impl Batch<Recorded<CreatedDocketV2>> {
    pub(crate) fn begin_once(
        core: Arc<core::Client<ReqwestTransport>>,
        ledger: crate::Ledger,
        (keys, requests): (Vec<Option<String>>, Vec<DocketRequestV2>),
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Self, Error> {
        let has_keys = keys.iter().any(Option::is_some);
        core.begin_batch_once((&*requests).into(), timeout_ms, options.clone(), has_keys)?;
        let (recipient, results) = Results::of(&requests);
        let count = requests.len();
        let walk = async move {
            let batch = core.begin_batch_once(requests.into(), timeout_ms, options, has_keys);
            if let Ok(batch) = batch {
                let (store, waits) = (&ledger.store, ledger.waits_in_progress);
                batch.run_once(store, &keys, waits, &recipient).await;
            }
        };
        Ok(Self::spawn(walk, count, results, |created| created))
    }
}

impl<R> Batch<R> {
    fn spawn(
        walk: impl Future<Output = ()> + Send + 'static,
        count: usize,
        results: UnboundedReceiver<Item>,
        shown: fn(Recorded<CreatedDocketV2>) -> R,
    ) -> Self {
        let span = info_span!("create_dockets_v2", requests = count);
        tokio::spawn(operation::run(walk, None).instrument(span));
        Self { results, shown }
    }

    /// The next result with the index of its request, or `None` at the end of the batch.
    pub async fn next(&mut self) -> Option<(usize, Result<R, Error>)> {
        let (index, result) = self.results.recv().await?.read();
        Some((index, result.map(self.shown)))
    }
}

impl<R> Stream for Batch<R> {
    type Item = (usize, Result<R, Error>);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.results.poll_recv(context)).map(Item::read);
        Poll::Ready(item.map(|(index, result)| (index, result.map(self.shown))))
    }
}

impl Item {
    fn read(mut self) -> (usize, Result<Recorded<CreatedDocketV2>, Error>) {
        let result = self.result.take();
        let result = result.unwrap_or(Err(RequestError::ExecutionFailed));
        (self.index, result.map_err(Error::from))
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        let external_id = self.external_id.as_deref();
        let item = u32::try_from(self.index).ok();
        match &self.result {
            // The ledger contains the others.
            Some(Ok(created)) if !created.from_ledger => {
                warn_dropped(Some(&created.answer.docket_id), external_id, item);
            }
            Some(Err(error)) if Error::from(error.clone()).may_have_created() => {
                warn_dropped(None, external_id, item);
            }
            _ => {}
        }
    }
}

/// Where the results of a batch go.
struct Results {
    external_ids: Vec<Option<String>>,
    results: UnboundedSender<Item>,
}

impl Results {
    fn of(requests: &[DocketRequestV2]) -> (Self, UnboundedReceiver<Item>) {
        let (results, receiver) = unbounded_channel();
        let external_ids = requests.iter().map(|request| request.external_id.clone());
        let recipient = Self {
            external_ids: external_ids.collect(),
            results,
        };
        (recipient, receiver)
    }
}

impl Recipient for Results {
    fn is_there(&self) -> bool {
        !self.results.is_closed()
    }

    async fn take(&self, index: usize, result: DocketResult) {
        // If the stream is gone, the item is dropped, which logs it.
        let _is_gone = self.results.send(Item {
            index,
            external_id: self.external_ids.get(index).cloned().flatten(),
            result: Some(result),
        });
    }
}
