//! Functions of the user's that the client calls: in a thread of the runtime, or as coroutines of an
//! event loop.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use std::panic::resume_unwind;
use std::sync::Mutex;
use tokio::sync::oneshot::{self, Sender};
use tokio::task::spawn_blocking;

/// Ends the operation that called a function in an exception of it.
pub(crate) fn raise(error: PyErr) -> ! {
    resume_unwind(Box::new(error))
}

/// Reports an exception of a function that has no caller to raise it for. The interrupt of a user
/// comes again, to the operation.
pub(crate) fn report(py: Python<'_>, error: PyErr, function: Option<&Py<PyAny>>) {
    if error.is_instance_of::<PyKeyboardInterrupt>(py)
        && let Ok(thread) = py.import("_thread")
        && thread.call_method0("interrupt_main").is_ok()
    {
        return;
    }
    error.write_unraisable(py, function.map(|it| it.bind(py)));
}

/// A function, and the event loop that runs it if it is a coroutine function.
pub(crate) struct Function {
    function: Py<PyAny>,
    event_loop: Option<Py<PyAny>>,
}

impl Function {
    pub(crate) fn new(
        py: Python<'_>,
        function: &Py<PyAny>,
        event_loop: Option<&Py<PyAny>>,
    ) -> Self {
        Self {
            function: function.clone_ref(py),
            event_loop: event_loop.map(|it| it.clone_ref(py)),
        }
    }

    /// Calls it, and reads what it returns.
    pub(crate) async fn call<R: Send + 'static>(
        self,
        arguments: impl for<'py> PyCallArgs<'py> + Send + 'static,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R> + Send + 'static,
    ) -> PyResult<R> {
        let Self {
            function,
            event_loop,
        } = self;
        let Some(event_loop) = event_loop else {
            let called =
                spawn_blocking(move || attached(|py| read(&function.bind(py).call1(arguments)?)));
            return called.await.unwrap_or_else(|_| Err(ended()));
        };
        let (sender, returned) = oneshot::channel();
        attached(|py| {
            let coroutine = function.bind(py).call1(arguments)?;
            let future = py
                .import("asyncio")?
                .call_method1("run_coroutine_threadsafe", (&coroutine, event_loop))
                .inspect_err(|_| drop(coroutine.call_method0("close")))?;
            future.call_method1("add_done_callback", (on_end(py, sender)?,))?;
            Ok(())
        })?;
        let future: Py<PyAny> = returned.await.map_err(|_| ended())?;
        attached(|py| read(&future.bind(py).call_method0("result")?))
    }
}

fn on_end(py: Python<'_>, sender: Sender<Py<PyAny>>) -> PyResult<Bound<'_, PyCFunction>> {
    let sender = Mutex::new(Some(sender));
    PyCFunction::new_closure(py, None, None, move |arguments, _| {
        if let Some(sender) = crate::process::lock(&sender).take() {
            // Without a receiver the operation is gone.
            let _ = sender.send(arguments.get_item(0)?.unbind());
        }
        PyResult::Ok(())
    })
}

fn attached<R>(call: impl FnOnce(Python<'_>) -> PyResult<R>) -> PyResult<R> {
    Python::try_attach(call).unwrap_or_else(|| Err(ended()))
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the interpreter is ending")
}
