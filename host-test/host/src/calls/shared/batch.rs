//! Batches on an instance with many calls in flight.

use super::{Job, SharedInstance, begin, end};
use crate::calls::batch::{
    Arguments, BatchResult, CREATE_DOCKETS_V2, DocketResult, Reader, Streaming, in_order,
};
use crate::guest::capabilities::Guest;
use crate::guest::in_flight::{Caller, InFlight};
use crate::load::plugin::Called;
use crate::load::plugin::types::{CallOptions, DocketRequestV2, RequestError};
use anyhow::Result;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use wasmtime::component::Accessor;

type Begun = wasmtime::Result<Result<(), RequestError>>;

/// The results of a batch, each as soon as it is known. If this is dropped before the last of
/// them, the batch is abandoned, as a call whose future is dropped.
pub struct BatchResults {
    results: mpsc::UnboundedReceiver<BatchResult>,
    instance: SharedInstance,
    /// Hears of the end that is not a trap.
    ended: Option<oneshot::Receiver<()>>,
    /// None after the last.
    caller: Option<Caller>,
}

impl BatchResults {
    /// The next result; none after the last. An error if the instance has ended before: the
    /// results until then still hold, and for each request without one a docket may have been
    /// created.
    pub async fn next(&mut self) -> Option<Result<BatchResult>> {
        if let Some(result) = self.results.recv().await {
            return Some(Ok(result));
        }
        if let Some(caller) = self.caller.take() {
            caller.has_heard();
        }
        match self.ended.take()?.await {
            Ok(()) => None,
            Err(_) => Some(Err(self.instance.ending().await)),
        }
    }
}

impl SharedInstance {
    /// `bulk.create-dockets-v2`, its results one by one. None is lost to a trap that comes after
    /// it. A reader that is slow holds up no request.
    pub async fn begin_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<BatchResults> {
        let arguments = (requests.to_owned(), timeout_ms, options);
        let function = self.functions.create_dockets_v2;
        let caller = Caller::of(CREATE_DOCKETS_V2);
        let in_flight = caller.call().clone();
        let (reader, results, read) = Reader::new();
        let (begun, has_begun) = oneshot::channel();
        let (at_end, ended) = oneshot::channel();
        let job: Job = Box::new(move |accessor| {
            Box::pin(async move {
                // Else its caller has gone before it began.
                if !begun.is_closed() {
                    let call = (function, arguments, in_flight);
                    batch(accessor, call, reader, begun, read).await;
                    let _nobody_waits = at_end.send(());
                }
            })
        });
        match self.returned(job, has_begun).await {
            Ok(Ok(())) => Ok(Ok(BatchResults {
                results,
                instance: self.clone(),
                ended: Some(ended),
                caller: Some(caller),
            })),
            Ok(Err(error)) => {
                caller.has_heard();
                Ok(Err(error))
            }
            Err(error) => {
                caller.has_heard();
                Err(error)
            }
        }
    }

    /// `bulk.create-dockets-v2`, its results in the order of the requests. If the instance ends in
    /// the middle, those that it had handed over are in the error:
    /// [`crate::UnfinishedBatch`].
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<Vec<DocketResult>> {
        let begun = self.begin_dockets_v2(requests, timeout_ms, options).await?;
        let mut results = match begun {
            Ok(results) => results,
            Err(error) => return Ok(Err(error)),
        };
        let mut received = Vec::new();
        let mut ended = Ok(());
        while let Some(next) = results.next().await {
            match next {
                Ok(result) => received.push(result),
                Err(error) => ended = Err(error),
            }
        }
        in_order(requests.len(), received, ended).map(Ok)
    }
}

/// A batch, from its beginning to its last result, whether its caller waits for them or not.
async fn batch(
    accessor: &Accessor<Guest>,
    (function, arguments, in_flight): (Streaming, Arguments, Arc<InFlight>),
    reader: Reader,
    begun: oneshot::Sender<Begun>,
    read: oneshot::Receiver<()>,
) {
    let (call, task) = match begin(accessor, function, arguments, &in_flight) {
        Ok(begun) => begun,
        Err(error) => {
            let _nobody_waits = begun.send(Err(error));
            return;
        }
    };
    let returned = function.finish_call_concurrent(accessor, call).await;
    let piped = returned.and_then(|(returned,)| match returned {
        Ok(stream) => accessor.with(|access| stream.pipe(access, reader)).map(Ok),
        Err(error) => Ok(Err(error)),
    });
    let _nobody_waits = begun.send(piped);
    // Until the reader is dropped, which it is already where there is nothing to read.
    let _dropped = read.await;
    end(accessor, task, &in_flight);
}
