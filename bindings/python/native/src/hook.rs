//! The hook of a client, which sees each attempt.

use crate::function::{raise, report};
use crate::records::class;
use http::{HeaderName, HeaderValue};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use voice_calling::{Ended, Outgoing};

/// Calls the hook before an attempt, adds the headers that it has added, and returns what it wants
/// to be called with at the end. An exception of a hook does not end the attempt.
pub(crate) fn begin(hook: &Py<PyAny>, outgoing: &mut Outgoing<'_>) -> Option<Py<PyAny>> {
    Python::try_attach(|py| {
        let mut begin = || {
            let headers = PyDict::new(py);
            let class = class(py, "OutgoingAttempt")?;
            let (method, path, item) = (outgoing.method, outgoing.path_and_query, outgoing.item);
            let attempt = class.call1((method, path, item, &headers))?;
            let on_end = hook.call1(py, (attempt,))?;
            for (name, value) in headers.iter() {
                let (name, value): (String, String) = (name.extract()?, value.extract()?);
                let wrong = |error: &dyn ToString| {
                    pyo3::exceptions::PyValueError::new_err(error.to_string())
                };
                let name = HeaderName::try_from(name).map_err(|error| wrong(&error))?;
                let value = HeaderValue::try_from(value).map_err(|error| wrong(&error))?;
                outgoing.headers.insert(name, value);
            }
            Ok((!on_end.is_none(py)).then_some(on_end))
        };
        begin().unwrap_or_else(|error: PyErr| {
            // Ctrl-C, or the end of the program: nothing is sent.
            if !error.is_instance_of::<PyException>(py) {
                raise(error);
            }
            report(py, error, Some(hook));
            None
        })
    })
    .flatten()
}

/// Calls what a hook has returned.
pub(crate) fn end(on_end: &Py<PyAny>, ended: Ended) {
    Python::try_attach(|py| {
        let end = || {
            let class = class(py, "EndedAttempt")?;
            on_end.call1(py, (class.call1((ended.status, ended.error))?,))
        };
        if let Err(error) = end() {
            report(py, error, Some(on_end));
        }
    });
}
