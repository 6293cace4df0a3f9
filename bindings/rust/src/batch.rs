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
use voice_calling_core::types::{CallOptions, CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_core::{DocketResult, Recipient};

/// The results of a batch, each with the index of its request, in the order in which they come.
///
/// If it is dropped, nothing more is begun. Requests that are open are finished, and a warning of
/// [`tracing`] has the id of each docket whose result was not read.
#[derive(Debug)]
pub struct Batch {
    results: UnboundedReceiver<Item>,
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
        let (results, receiver) = unbounded_channel();
        let external_ids = requests.iter().map(|request| request.external_id.clone());
        let recipient = Results {
            external_ids: external_ids.collect(),
            results,
        };
        let span = info_span!("create_dockets_v2", requests = requests.len());
        let walk = async move {
            if let Ok(batch) = core.begin_batch(requests.into(), timeout_ms, options) {
                batch.run(&recipient).await;
            }
        };
        tokio::spawn(operation::run(walk, None).instrument(span));
        Ok(Self { results: receiver })
    }

    /// The next result with the index of its request, or `None` at the end of the batch.
    pub async fn next(&mut self) -> Option<(usize, Result<CreatedDocketV2, Error>)> {
        self.results.recv().await.map(Item::read)
    }
}

impl Stream for Batch {
    type Item = (usize, Result<CreatedDocketV2, Error>);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(ready!(self.results.poll_recv(context)).map(Item::read))
    }
}

impl Item {
    fn read(mut self) -> (usize, Result<CreatedDocketV2, Error>) {
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
            Some(Ok(created)) => warn_dropped(Some(&created.docket_id), external_id, item),
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
