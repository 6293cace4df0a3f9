//! Ledgers: a file that each process opens for itself, or the user's own storage.

use crate::errors::exception;
use crate::operation::Operation;
use crate::process::{Own, lock};
use crate::records::ToPython;
use crate::storage::Storage;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use voice_calling::ledger::{self, Entry};

#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct Ledger {
    place: Place,
    opened: Mutex<Option<Own<ledger::Ledger>>>,
}

/// Where the entries are.
enum Place {
    File(PathBuf),
    Storage {
        object: Py<PyAny>,
        secret: Vec<u8>,
        /// The event loop of its coroutines, if it has some.
        event_loop: Option<Py<PyAny>>,
    },
}

impl Place {
    fn open(&self, py: Python<'_>) -> Result<ledger::Ledger, voice_calling::Error> {
        match self {
            Self::File(path) => py.detach(|| ledger::Ledger::open(path)),
            Self::Storage {
                object,
                secret,
                event_loop,
            } => {
                let storage = Storage {
                    object: object.clone_ref(py),
                    event_loop: event_loop.as_ref().map(|it| it.clone_ref(py)),
                };
                ledger::Ledger::on(storage, secret)
            }
        }
    }
}

impl Ledger {
    fn open(py: Python<'_>, place: Place) -> PyResult<Self> {
        let ledger = Self {
            place,
            opened: Mutex::default(),
        };
        ledger.get(py)?;
        Ok(ledger)
    }

    /// Returns the ledger, which a fork opens anew.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<ledger::Ledger> {
        if let Some(ledger) = lock(&self.opened).as_ref().and_then(Own::get) {
            return Ok(ledger.clone());
        }
        // The lock is not held meanwhile: another thread may open it too, and one of them stays.
        let opened = self.place.open(py);
        let opened = opened.map_err(|error| exception(py, &error))?;
        let former = lock(&self.opened).replace(Own::new(opened.clone()));
        drop(former);
        Ok(opened)
    }
}

#[pymethods]
impl Ledger {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::open(py, Place::File(std::path::absolute(path)?))
    }

    #[staticmethod]
    fn on(
        py: Python<'_>,
        object: Py<PyAny>,
        secret: Vec<u8>,
        event_loop: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let place = Place::Storage {
            object,
            secret,
            event_loop,
        };
        Self::open(py, place)
    }

    /// The file, or the storage.
    #[getter]
    fn place(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.place {
            Place::File(path) => path.as_path().into_py_any(py),
            Place::Storage { object, .. } => Ok(object.clone_ref(py)),
        }
    }

    /// Closes the file, unless clients use it.
    fn close(&self) {
        let opened = lock(&self.opened).take();
        drop(opened);
    }

    fn get_entry(&self, py: Python<'_>, key: String) -> PyResult<Operation> {
        let ledger = self.get(py)?;
        Ok(Operation::new(async move { ledger.get(&key).await }))
    }

    fn unknown(&self, py: Python<'_>) -> PyResult<Operation> {
        let ledger = self.get(py)?;
        Ok(Operation::new(async move { ledger.unknown().await }))
    }

    fn resolve(
        &self,
        py: Python<'_>,
        key: String,
        created_id: String,
        by: String,
    ) -> PyResult<Operation> {
        let ledger = self.get(py)?;
        let resolve = async move { ledger.resolve(&key, created_id, &by).await };
        Ok(Operation::new(resolve))
    }

    fn release(&self, py: Python<'_>, key: String, by: String) -> PyResult<Operation> {
        let ledger = self.get(py)?;
        Ok(Operation::new(
            async move { ledger.release(&key, &by).await },
        ))
    }

    /// Removes what was done before this time, in seconds since 1970.
    fn prune(&self, py: Python<'_>, done_before: f64) -> PyResult<Operation> {
        let ledger = self.get(py)?;
        let since = Duration::try_from_secs_f64(done_before).unwrap_or_default();
        let done_before = UNIX_EPOCH + since;
        Ok(Operation::new(
            async move { ledger.prune(done_before).await },
        ))
    }
}

impl ToPython for Entry {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seconds = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_secs_f64()
        };
        let arguments = PyDict::new(py);
        arguments.set_item("key", &self.key)?;
        arguments.set_item("function", &self.function)?;
        arguments.set_item("state", self.state.name())?;
        arguments.set_item("begun_at", seconds(self.begun_at))?;
        arguments.set_item("ended_at", self.ended_at.map(seconds))?;
        arguments.set_item("created_id", &self.created_id)?;
        arguments.set_item("message", &self.message)?;
        arguments.set_item("resolved_by", &self.resolved_by)?;
        let class = py.import("voice_calling._ledger")?.getattr("LedgerEntry")?;
        class.call_method("_of", (), Some(&arguments))
    }
}
