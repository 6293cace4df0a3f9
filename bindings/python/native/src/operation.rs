//! The one place where futures of Rust meet Python: an operation is waited for by a thread, or by a
//! coroutine.

use crate::errors::exception;
use crate::process::{self, Own, drop_detached, lock};
use crate::records::{Fields, ToPython, make};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::task::AbortHandle;
use voice_calling::{CreatedAgent, CreatedDocket, CreatedDocketV2, Error, Recorded, StartedCall};

/// How often a thread that waits looks for signals, such as that of Ctrl-C.
const TURN: Duration = Duration::from_millis(50);

/// The logger of what has lost its caller.
const LOG: &str = "voice_calling::operation";

/// The outcome of an operation.
pub(crate) trait Answer: Send {
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;

    /// Returns the id of what was created now.
    fn created_id(&self) -> Option<String> {
        None
    }
}

impl<R: ToPython + Send> Answer for R {
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.to_python(py).map(Bound::unbind)
    }
}

impl<R: Created + Send> Answer for Recorded<R> {
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let arguments = PyDict::new(py);
        arguments.set_item("from_ledger", self.from_ledger)?;
        make(&arguments, &self.answer).map(Bound::unbind)
    }

    fn created_id(&self) -> Option<String> {
        self.answer.id().filter(|_| !self.from_ledger)
    }
}

/// The result of a create.
pub(crate) trait Created: Fields {
    /// Returns the id of what was created.
    fn id(&self) -> Option<String>;
}

macro_rules! created {
    ($($record:ident: $id:expr),*) => {$(
        impl Created for $record {
            fn id(&self) -> Option<String> {
                $id(self)
            }
        }
    )*};
}

created!(
    CreatedAgent: |it: &CreatedAgent| it.agent_id.map(|id| id.to_string()),
    CreatedDocket: |it: &CreatedDocket| Some(it.docket_id.clone()),
    CreatedDocketV2: |it: &CreatedDocketV2| Some(it.docket_id.clone()),
    StartedCall: |it: &StartedCall| Some(it.task_id.clone())
);

/// Why there is no answer.
enum Failed {
    Client(Error),
    /// An exception of a function of the user's that the client has called.
    Function(PyErr),
}

/// An outcome that is logged if it is dropped before Python has it.
struct Unread {
    ended: Option<Result<Box<dyn Answer>, Failed>>,
    external_id: Option<String>,
}

impl Unread {
    fn read(mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let result = match self.ended.as_ref().expect("an outcome is read once") {
            Ok(answer) => answer.result(py),
            Err(Failed::Client(error)) => Err(exception(py, error)),
            Err(Failed::Function(error)) => Err(error.clone_ref(py)),
        };
        // Ctrl-C may have come while the result or the error was made: then it is logged.
        let is_interrupted = |error: &PyErr| !error.is_instance_of::<PyException>(py);
        if !result.as_ref().is_err_and(is_interrupted) {
            self.ended = None;
        }
        result
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let external_id = self.external_id.as_deref();
        match &self.ended {
            Some(Ok(answer)) => {
                if let Some(created_id) = answer.created_id() {
                    tracing::warn!(
                        target: LOG,
                        created_id,
                        external_id,
                        "an operation was dropped after its create had succeeded"
                    );
                }
            }
            Some(Err(Failed::Client(error))) if error.may_have_created() => {
                tracing::warn!(target: LOG, external_id, "an operation was dropped: {error}");
            }
            _ => {}
        }
    }
}

/// Ends a future in the exception that [`raise`](crate::function::raise) unwinds it with.
async fn raising<A>(future: impl Future<Output = Result<A, Error>>) -> Result<A, Failed> {
    let mut future = pin!(future);
    let ended = poll_fn(|context| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(context).map(Ok));
        catch_unwind(poll).unwrap_or_else(|panic| Poll::Ready(Err(panic)))
    });
    match ended.await {
        Ok(ended) => ended.map_err(Failed::Client),
        Err(panic) => match panic.downcast() {
            Ok(error) => Err(Failed::Function(*error)),
            Err(panic) => resume_unwind(panic),
        },
    }
}

type Running = Pin<Box<dyn Future<Output = Unread> + Send>>;

/// An operation that begins when it is waited for, and is dropped if nothing waits for it any more.
#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct Operation {
    future: Mutex<Option<Own<Running>>>,
    outcome: Arc<Mutex<Option<Unread>>>,
    task: Mutex<Option<AbortHandle>>,
}

impl Operation {
    pub(crate) fn new<A: Answer + 'static>(
        future: impl Future<Output = Result<A, Error>> + Send + 'static,
    ) -> Self {
        Self::of(None, future)
    }

    /// Returns the operation of a create.
    pub(crate) fn of<A: Answer + 'static>(
        external_id: Option<String>,
        future: impl Future<Output = Result<A, Error>> + Send + 'static,
    ) -> Self {
        let future: Running = Box::pin(async {
            let ended = raising(future).await;
            Unread {
                ended: Some(ended.map(|it| -> Box<dyn Answer> { Box::new(it) })),
                external_id,
            }
        });
        Self {
            future: Mutex::new(Some(Own::new(future))),
            outcome: Arc::default(),
            task: Mutex::default(),
        }
    }

    fn begun(&self) -> PyResult<Running> {
        let future = lock(&self.future).take().and_then(Own::into_inner);
        future.ok_or_else(|| PyRuntimeError::new_err("an operation is waited for once"))
    }
}

#[pymethods]
impl Operation {
    /// Waits in this thread.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let runtime = process::runtime(py)?;
        let mut future = self.begun()?;
        loop {
            let turn = || {
                let turn = async { tokio::time::timeout(TURN, &mut future).await };
                runtime.block_on(turn)
            };
            let ended = py.detach(turn);
            // An outcome that is there now is logged if a signal comes between.
            let signals = match process::is_ending() {
                true => Err(PyRuntimeError::new_err("the interpreter is ending")),
                false => py.check_signals(),
            };
            match (ended, signals) {
                (Ok(unread), Ok(())) => return unread.read(py),
                (Err(_), Ok(())) => {}
                (ended, Err(interrupt)) => {
                    py.detach(move || drop((ended, future)));
                    return Err(interrupt);
                }
            }
        }
    }

    /// Begins it, and has the event loop call `wake(arrived)` once there is an outcome to take.
    fn begin(
        &self,
        py: Python<'_>,
        event_loop: Py<PyAny>,
        wake: Py<PyAny>,
        arrived: Py<PyAny>,
    ) -> PyResult<()> {
        let runtime = process::runtime(py)?;
        let (future, outcome) = (self.begun()?, self.outcome.clone());
        let task = runtime.spawn(async move {
            let mut unread = Some(future.await);
            Python::try_attach(|py| {
                *lock(&outcome) = unread.take();
                let call = event_loop.call_method1(py, "call_soon_threadsafe", (wake, arrived));
                if call.is_err() {
                    // The loop is closed. Dropping it logs what it is.
                    unread = lock(&outcome).take();
                }
                drop(event_loop);
            });
            drop(unread);
        });
        *lock(&self.task) = Some(task.abort_handle());
        Ok(())
    }

    /// Returns the outcome, once it has arrived.
    fn take(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let outcome = lock(&self.outcome).take();
        let outcome = outcome.ok_or_else(|| PyRuntimeError::new_err("there is no outcome"))?;
        outcome.read(py)
    }

    /// Drops it, unless its outcome was taken.
    fn cancel(&self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
        let unread = lock(&self.outcome).take();
        if unread.is_some() {
            drop_detached(unread);
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.cancel();
    }
}
