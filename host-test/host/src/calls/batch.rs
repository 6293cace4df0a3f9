//! Many dockets in one call. A component for WASI 0.2 returns their results as a list, one for
//! WASI 0.3 hands over each as it comes.

use crate::guest::in_flight::{LoneCall, alive};
use crate::load::kind::GuestKind;
use crate::load::plugin::types::*;
use crate::load::plugin::{Called, OnWasi};
use crate::load::sandbox::Running;
#[cfg(feature = "wasi-0-3")]
use anyhow::anyhow;
use std::fmt;
use wasmtime::component::TypedFunc;

pub(crate) const CREATE_DOCKETS_V2: &str = "bulk.create-dockets-v2";

/// What the function takes.
pub(crate) type Arguments = (Vec<DocketRequestV2>, u32, Option<CallOptions>);

type Listing = TypedFunc<Arguments, (Result<Vec<DocketResult>, RequestError>,)>;

/// What came of one request of a batch.
pub type DocketResult = Result<CreatedDocketV2, RequestError>;

/// What came of a request of a batch, and which it was.
#[cfg_attr(
    feature = "wasi-0-3",
    derive(wasmtime::component::ComponentType, wasmtime::component::Lift),
    component(record)
)]
#[derive(Clone, Debug, PartialEq)]
pub struct BatchResult {
    /// The index of the request, from 0.
    pub index: u32,
    /// As `dockets.create-docket-v2` would have returned it.
    pub outcome: DocketResult,
}

/// In the error of a batch whose instance ended in the middle: what had come until then. It is
/// found with [`anyhow::Error::downcast_ref`]; the error under it says why the instance ended.
#[derive(Debug)]
pub struct UnfinishedBatch {
    /// For each request its result. Where there is none, the docket may have been created.
    pub results: Vec<Option<DocketResult>>,
}

/// All that the service created is named: it may be shown nowhere else.
impl fmt::Display for UnfinishedBatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.results.iter().flatten().count();
        let all = self.results.len();
        write!(formatter, "the batch ended after {known} of {all} results")?;
        let mut begin = "; created: ";
        for (index, result) in self.results.iter().enumerate() {
            if let Some(Ok(created)) = result {
                write!(formatter, "{begin}{index}: {}", created.docket_id)?;
                begin = ", ";
            }
        }
        Ok(())
    }
}

/// The results of so many requests, in their order. What came until the batch ended is not
/// lost, whatever ended it.
#[cfg(feature = "wasi-0-3")]
pub(crate) fn in_order(
    count: usize,
    received: Vec<BatchResult>,
    ended: anyhow::Result<()>,
) -> anyhow::Result<Vec<DocketResult>> {
    let nothing_came = received.is_empty();
    let mut results = vec![None; count];
    let mut sound = Ok(());
    for BatchResult { index, outcome } in received {
        match results.get_mut(index as usize) {
            Some(place @ None) => *place = Some(outcome),
            Some(_) => {
                sound = Err(anyhow!(
                    "the component gave two results for request {index}"
                ))
            }
            None => {
                sound = Err(anyhow!(
                    "the component gave a result for an unknown request: {index}"
                ))
            }
        }
    }
    if let Some(index) = results.iter().position(Option::is_none) {
        sound = sound.and(Err(anyhow!(
            "the component gave no result for request {index}"
        )));
    }
    match ended.and(sound) {
        Ok(()) => Ok(results.into_iter().flatten().collect()),
        Err(error) if nothing_came => Err(error),
        Err(error) => Err(error.context(UnfinishedBatch { results })),
    }
}

impl OnWasi {
    pub(crate) async fn create_dockets_v2(
        &mut self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<Vec<DocketResult>> {
        let arguments = (requests.to_owned(), timeout_ms, options);
        match self.running.kind {
            GuestKind::V0_2 | GuestKind::Steps => self.list_dockets_v2(arguments).await,
            #[cfg(feature = "wasi-0-3")]
            GuestKind::V0_3 => self.collect_dockets_v2(arguments).await,
            #[cfg(not(feature = "wasi-0-3"))]
            GuestKind::V0_3 => unreachable!("it is not loaded"),
        }
    }

    async fn list_dockets_v2(&mut self, arguments: Arguments) -> Called<Vec<DocketResult>> {
        let Running {
            store,
            instance,
            computing,
            ..
        } = &mut self.running;
        let place = self.places.create_dockets_v2;
        let function: Listing = instance.get_typed_func(alive(store)?, place)?;
        let mut call = LoneCall::begin(store, CREATE_DOCKETS_V2)?;
        let returning = function.call_async(&mut call.store, arguments);
        let returned = computing.count(returning).await;
        let (returned,) = call.end(returned)?;
        Ok(returned)
    }

    #[cfg(feature = "wasi-0-3")]
    async fn collect_dockets_v2(&mut self, arguments: Arguments) -> Called<Vec<DocketResult>> {
        let Running {
            store,
            instance,
            computing,
            ..
        } = &mut self.running;
        let place = self.places.create_dockets_v2;
        let function: Streaming = instance.get_typed_func(alive(store)?, place)?;
        let mut call = LoneCall::begin(store, CREATE_DOCKETS_V2)?;
        let count = arguments.0.len();
        let mut received = Vec::new();
        let collecting = async {
            match function.call_async(&mut call.store, arguments).await? {
                (Ok(stream),) => collect(&mut call.store, stream, &mut received)
                    .await
                    .map(Ok),
                (Err(error),) => Ok(Err(error)),
            }
        };
        let ended = computing.count(collecting).await;
        match call.end(ended) {
            Ok(Err(error)) => Ok(Err(error)),
            Ok(Ok(())) => in_order(count, received, Ok(())).map(Ok),
            Err(error) => in_order(count, received, Err(error.into())).map(Ok),
        }
    }
}

#[cfg(feature = "wasi-0-3")]
pub(crate) use streamed::{Reader, Streaming, collect};

#[cfg(feature = "wasi-0-3")]
mod streamed {
    use super::{Arguments, BatchResult};
    use crate::guest::capabilities::Guest;
    use crate::load::plugin::types::RequestError;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::sync::{mpsc, oneshot};
    use wasmtime::component::{Source, StreamConsumer, StreamReader, StreamResult, TypedFunc};
    use wasmtime::{Store, StoreContextMut};

    pub(crate) type Stream = StreamReader<BatchResult>;

    pub(crate) type Streaming = TypedFunc<Arguments, (Result<Stream, RequestError>,)>;

    /// Reads all that comes, at once, for as long as its caller waits for results.
    pub(crate) struct Reader {
        results: mpsc::UnboundedSender<BatchResult>,
        _is_open: oneshot::Sender<()>,
    }

    impl Reader {
        /// With what it reads, and what fails when it has read all.
        pub(crate) fn new() -> (
            Self,
            mpsc::UnboundedReceiver<BatchResult>,
            oneshot::Receiver<()>,
        ) {
            let (sender, results) = mpsc::unbounded_channel();
            let (is_open, ended) = oneshot::channel();
            let reader = Self {
                results: sender,
                _is_open: is_open,
            };
            (reader, results, ended)
        }
    }

    impl StreamConsumer<Guest> for Reader {
        type Item = BatchResult;

        fn poll_consume(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            mut store: StoreContextMut<'_, Guest>,
            mut source: Source<'_, BatchResult>,
            _: bool,
        ) -> Poll<wasmtime::Result<StreamResult>> {
            if self.results.is_closed() {
                return Poll::Ready(Ok(StreamResult::Dropped));
            }
            let mut results = Vec::with_capacity(source.remaining(&mut store));
            source.read(&mut store, &mut results)?;
            for result in results {
                let _nobody_waits = self.results.send(result);
            }
            Poll::Ready(Ok(StreamResult::Completed))
        }
    }

    /// Runs a guest until it has handed over all results. If it traps, those are there that came
    /// before.
    pub(crate) async fn collect(
        store: &mut Store<Guest>,
        stream: Stream,
        received: &mut Vec<BatchResult>,
    ) -> wasmtime::Result<()> {
        let (reader, mut results, _ended) = Reader::new();
        stream.pipe(&mut *store, reader)?;
        let ended = store
            .run_concurrent(async |_| {
                while let Some(result) = results.recv().await {
                    received.push(result);
                }
            })
            .await;
        while let Ok(result) = results.try_recv() {
            received.push(result);
        }
        ended
    }
}
