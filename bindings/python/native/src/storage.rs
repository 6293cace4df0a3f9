//! A ledger on the user's own storage: an object whose methods are functions or coroutine functions.

use crate::function::Function;
use crate::process::lock;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use voice_calling::ledger::{self, Reply, StorageFuture, StoredEntry};

pub(crate) struct Storage {
    pub object: Py<PyAny>,
    pub event_loop: Option<Py<PyAny>>,
}

impl Storage {
    /// Calls a method, which may be missing if there is something to return in its place.
    async fn call<R: Send + 'static>(
        &self,
        name: &'static str,
        arguments: impl for<'py> PyCallArgs<'py> + Send + 'static,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R> + Send + 'static,
        missing: Option<Result<R, String>>,
    ) -> Result<R, String> {
        let method = Python::try_attach(|py| {
            let method = self
                .object
                .getattr(py, name)
                .map_err(|error| error.to_string());
            method.map(|method| Function::new(py, &method, self.event_loop.as_ref()))
        });
        let method = method.unwrap_or_else(|| Err("the interpreter is ending".to_owned()));
        match (method, missing) {
            (Ok(method), _) => {
                let called = method.call(arguments, read).await;
                called.map_err(|error| format!("its storage: {error}"))
            }
            (Err(_), Some(missing)) => missing,
            (Err(error), None) => Err(error),
        }
    }
}

impl ledger::Storage for Storage {
    fn update<'a>(
        &'a self,
        key: &'a str,
        change: ledger::Change,
    ) -> StorageFuture<'a, Result<Reply, String>> {
        let (key, reply) = (key.to_owned(), Arc::new(Mutex::new(None)));
        let change = Change {
            change: Mutex::new(change),
            reply: reply.clone(),
        };
        Box::pin(async move {
            self.call("update", (key, change), |_| Ok(()), None).await?;
            let reply = lock(&reply).take();
            reply.ok_or_else(|| "its storage did not call `change`".to_owned())
        })
    }

    fn entries_after<'a>(
        &'a self,
        key: &'a str,
    ) -> StorageFuture<'a, Result<Vec<(String, StoredEntry)>, String>> {
        let key = key.to_owned();
        let read = |entries: &Bound<'_, PyAny>| {
            let entries = entries.extract::<Vec<(String, String)>>()?.into_iter();
            let entries = entries.map(|(key, entry)| Ok((key, entry_of(&entry)?)));
            entries.collect()
        };
        let missing = Err("its storage has no method entries_after".to_owned());
        Box::pin(self.call("entries_after", (key,), read, Some(missing)))
    }

    fn prune(&self, done_before_ms: u64) -> StorageFuture<'_, Result<usize, String>> {
        let missing = Err("its storage has no method prune".to_owned());
        Box::pin(self.call(
            "prune",
            (done_before_ms,),
            |count| count.extract(),
            Some(missing),
        ))
    }

    fn is_of_another_key<'a>(
        &'a self,
        created_id: &'a str,
        key: &'a str,
    ) -> StorageFuture<'a, Result<bool, String>> {
        let arguments = (created_id.to_owned(), key.to_owned());
        let read = |is_known: &Bound<'_, PyAny>| is_known.extract();
        Box::pin(self.call("is_of_another_key", arguments, read, Some(Ok(true))))
    }
}

/// The change of an entry, which the user's storage calls.
#[pyclass(frozen, module = "voice_calling._native")]
struct Change {
    change: Mutex<ledger::Change>,
    reply: Arc<Mutex<Option<Reply>>>,
}

#[pymethods]
impl Change {
    /// Returns the entry that is to be stored, or `None` if there is nothing to store.
    fn __call__(&self, entry: Option<&str>) -> PyResult<Option<String>> {
        let entry = entry.map(entry_of).transpose()?;
        let (entry, reply) = (lock(&self.change))(entry);
        let entry = entry.filter(|_| reply.is_change());
        *lock(&self.reply) = Some(reply);
        let entry = entry.map(|entry| serde_json::to_string(&entry));
        entry
            .transpose()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

fn entry_of(text: &str) -> PyResult<StoredEntry> {
    let wrong = |error: &dyn Display| PyValueError::new_err(format!("a stored entry: {error}"));
    serde_json::from_str(text).map_err(|error| wrong(&error))
}
