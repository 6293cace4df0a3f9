//! Batches of dockets, whose requests Python gives one by one, when they can be sent.

use crate::client::docket_request;
use crate::errors::exception;
use crate::operation::{Answer, Operation};
use crate::process::{self, Own, lock};
use futures_core::Stream;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use voice_calling::{BatchRequest, Cancellation, Client, CreatedDocketV2, Error, Recorded};

/// `agent_id`, `to_phone_number`, `call_context`, `external_id`, `extra`.
pub(crate) type Request = (i64, String, String, Option<String>, Option<String>);

/// A batch of dockets.
#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct Batch {
    unbegun: Mutex<Option<Own<Unbegun>>>,
    begun: Mutex<Option<Own<Arc<Begun>>>>,
    stop: Cancellation,
    /// Where requests are given, until there are no more.
    given: Mutex<Option<UnboundedSender<BatchRequest>>>,
}

/// The parts of a batch that has not started.
struct Unbegun {
    client: Client,
    requests: Requests,
    timeout: Duration,
    wanted: Option<UnboundedReceiver<()>>,
}

enum Requests {
    List(Vec<BatchRequest>),
    Given(Given),
}

/// A batch that has begun, of which one reader at a time takes the results.
type Begun = tokio::sync::Mutex<Option<Reader>>;

struct Reader {
    results: voice_calling::Batch,
    /// Each time that one more request can be sent.
    wanted: Option<UnboundedReceiver<()>>,
}

impl Batch {
    pub(crate) fn new(
        client: &Client,
        requests: Option<Vec<(Request, Option<String>)>>,
        timeout: Duration,
    ) -> Self {
        let stop = Cancellation::new();
        let client = client.with_cancellation(&stop);
        let mut given = None;
        let (requests, wanted) = match requests {
            Some(requests) => {
                let requests = requests.into_iter().map(batch_request);
                (Requests::List(requests.collect()), None)
            }
            None => {
                let (wants, wanted) = unbounded_channel();
                let (sender, requests) = unbounded_channel();
                given = Some(sender);
                let is_wanted = false;
                let requests = Given {
                    wants,
                    requests,
                    is_wanted,
                };
                (Requests::Given(requests), Some(wanted))
            }
        };
        Self {
            unbegun: Mutex::new(Some(Own::new(Unbegun {
                client,
                requests,
                timeout,
                wanted,
            }))),
            begun: Mutex::default(),
            stop,
            given: Mutex::new(given),
        }
    }
}

fn batch_request((request, key): (Request, Option<String>)) -> BatchRequest {
    let request = docket_request(request);
    BatchRequest { key, request }
}

#[pymethods]
impl Batch {
    /// Begins it, unless it has begun.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let unbegun = lock(&self.unbegun).take().and_then(Own::into_inner);
        let Some(unbegun) = unbegun else {
            return Ok(());
        };
        let runtime = process::runtime(py)?;
        let _context = runtime.enter();
        let (client, timeout) = (unbegun.client, unbegun.timeout);
        let results = match unbegun.requests {
            Requests::List(requests) => client.create_dockets_v2(requests, timeout),
            Requests::Given(requests) => client.create_dockets_v2_from(requests, timeout),
        };
        let mut results = results.map_err(|error| exception(py, &error))?;
        results.start();
        let wanted = unbegun.wanted;
        let begun = Arc::new(Begun::new(Some(Reader { results, wanted })));
        *lock(&self.begun) = Some(Own::new(begun));
        Ok(())
    }

    /// Returns the next event: an index and a result, `True` if one more request can be sent, or
    /// `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Operation> {
        self.start(py)?;
        let begun = lock(&self.begun).as_ref().and_then(Own::get).cloned();
        let begun = begun
            .ok_or_else(|| PyRuntimeError::new_err("the batch is closed, or of another process"))?;
        Ok(Operation::new(async move {
            let mut reader = begun.lock().await;
            Ok(match &mut *reader {
                Some(reader) => reader.next().await,
                None => Event::End,
            })
        }))
    }

    /// Gives it the request that it wants.
    fn give(&self, request: Request, key: Option<String>) {
        if let Some(given) = &*lock(&self.given) {
            // If it has ended, the request is not begun.
            let _ = given.send(batch_request((request, key)));
        }
    }

    /// Tells it that there are no more requests.
    fn give_no_more(&self) {
        *lock(&self.given) = None;
    }

    /// Begins nothing further: the results of other requests are errors of the kind `not-begun`.
    fn stop(&self) {
        self.stop.cancel();
    }

    /// Begins nothing further. Open requests are finished, and logged.
    fn close(&self) {
        let unbegun = lock(&self.unbegun).take();
        let begun = lock(&self.begun).take();
        drop((unbegun, begun));
    }
}

impl Reader {
    async fn next(&mut self) -> Event {
        let Some(wanted) = &mut self.wanted else {
            return Event::of(self.results.next().await);
        };
        tokio::select! {
            biased;
            result = self.results.next() => Event::of(result),
            Some(()) = wanted.recv() => Event::Wanted,
        }
    }
}

/// The requests that Python gives.
struct Given {
    wants: UnboundedSender<()>,
    requests: UnboundedReceiver<BatchRequest>,
    /// Whether the next one was asked for.
    is_wanted: bool,
}

impl Stream for Given {
    type Item = BatchRequest;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<BatchRequest>> {
        if !self.is_wanted {
            self.is_wanted = true;
            // Without a reader the batch ends, and with it this stream.
            let _ = self.wants.send(());
        }
        let request = ready!(self.requests.poll_recv(context));
        self.is_wanted = false;
        Poll::Ready(request)
    }
}

/// An item for the reader of a batch.
enum Event {
    Result(usize, Result<Recorded<CreatedDocketV2>, Error>),
    Wanted,
    End,
}

impl Event {
    fn of(result: Option<(usize, Result<Recorded<CreatedDocketV2>, Error>)>) -> Self {
        match result {
            Some((index, result)) => Self::Result(index, result),
            None => Self::End,
        }
    }
}

impl Answer for Event {
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (index, created, error) = match self {
            Self::Result(index, Ok(created)) => (index, Some(created.result(py)?), None),
            Self::Result(index, Err(error)) => (index, None, Some(exception(py, error))),
            Self::Wanted => return Ok(true.into_pyobject(py)?.to_owned().into_any().unbind()),
            Self::End => return Ok(py.None()),
        };
        Ok((index, created, error)
            .into_pyobject(py)?
            .into_any()
            .unbind())
    }

    fn created_id(&self) -> Option<String> {
        match self {
            Self::Result(_, Ok(created)) => created.created_id(),
            _ => None,
        }
    }
}
