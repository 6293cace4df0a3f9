//! The runtime, of which each process has one. A fork does not copy its threads, so a child process
//! makes its own, and leaks its parent's.
//!
//! The locks of this module, and of all others in the bridge, are taken only by threads that are
//! attached to the interpreter. A fork is too, so that none is held in its child.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::mem;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The threads that poll requests, and the connections of all clients.
const WORKERS: usize = 2;

/// How long the end of the process waits for blocked callers, and then for the operations that it
/// drops, which log their ids.
const END: Duration = Duration::from_secs(2);

static RUNTIME: Mutex<Option<Own<Arc<Runtime>>>> = Mutex::new(None);

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Returns the runtime of this process.
pub(crate) fn runtime(_: Python<'_>) -> PyResult<Arc<Runtime>> {
    if is_ending() {
        return Err(PyRuntimeError::new_err("the interpreter is ending"));
    }
    let mut own = lock(&RUNTIME);
    if let Some(runtime) = own.as_ref().and_then(Own::get) {
        return Ok(runtime.clone());
    }
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(WORKERS).enable_all();
    let runtime = Arc::new(builder.thread_name("voice-calling").build()?);
    *own = Some(Own::new(runtime.clone()));
    Ok(runtime)
}

/// Returns `true` once the interpreter is about to end.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.load(Relaxed)
}

/// Drops the operations in flight, whose creates are logged, before the interpreter ends.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    IS_ENDING.store(true, Relaxed);
    let runtime = lock(&RUNTIME).take();
    let Some(mut runtime) = runtime.and_then(Own::into_inner) else {
        return;
    };
    py.detach(move || {
        // Blocked callers notice within a turn of their loop, and give the runtime back.
        let until = Instant::now() + END;
        while Instant::now() < until {
            match Arc::try_unwrap(runtime) {
                Ok(runtime) => return runtime.shutdown_timeout(END),
                Err(shared) => runtime = shared,
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        mem::forget(runtime);
    });
}

/// A value of the process that has made it. In a fork it is leaked, since threads that it may wait
/// for do not exist there.
pub(crate) struct Own<T: Send> {
    process: u32,
    value: Option<T>,
}

impl<T: Send> Own<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            process: process::id(),
            value: Some(value),
        }
    }

    /// Returns the value, unless this is a fork.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_own())
    }

    /// Returns the value, unless this is a fork.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        self.is_own().then(|| self.value.take()).flatten()
    }

    fn is_own(&self) -> bool {
        self.process == process::id()
    }
}

impl<T: Send> Drop for Own<T> {
    fn drop(&mut self) {
        let is_own = self.is_own();
        match self.value.take() {
            Some(value) if is_own => drop_detached(value),
            value => mem::forget(value),
        }
    }
}

/// Drops a value that may wait for threads that log, and so wait for the interpreter.
pub(crate) fn drop_detached<T: Send>(value: T) {
    let mut value = Some(value);
    if Python::try_attach(|py| py.detach(|| drop(value.take()))).is_none() {
        drop(value);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
