//! The scripted service of the Rust client, for the tests of users.

use crate::function::{Function, raise};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use voice_calling::testing;

#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct ScriptedService(pub(crate) testing::ScriptedService);

#[pymethods]
impl ScriptedService {
    #[new]
    fn new() -> Self {
        Self(testing::ScriptedService::new())
    }

    /// Adds an answer for the next request whose line begins so, of the fields of an `Answer`.
    fn answer_to(&self, line: &str, answer: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.answer_to(line, scripted(answer)?);
        Ok(())
    }

    /// Sets a function that takes the fields of a request, and returns an `Answer` or `None`.
    fn answer_with(&self, function: Py<PyAny>, event_loop: Option<Py<PyAny>>) {
        self.0.answer_with(move |request| {
            let function =
                Python::try_attach(|py| Function::new(py, &function, event_loop.as_ref()));
            async move {
                let read = |answer: &Bound<'_, PyAny>| {
                    let is_usual = answer.is_none();
                    (!is_usual).then(|| scripted(answer)).transpose()
                };
                // Its exception is that of the operation.
                let answer = function?.call((Fields(request),), read).await;
                answer.unwrap_or_else(|error| raise(error))
            }
        });
    }

    fn complete_after(&self, seconds: f64) -> PyResult<()> {
        self.0.complete_after(time(seconds)?);
        Ok(())
    }

    fn elapsed(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Returns the requests, as keyword arguments.
    fn requests(&self) -> Vec<Fields> {
        self.0.requests().into_iter().map(Fields).collect()
    }
}

/// A request, as keyword arguments.
struct Fields(testing::ReceivedRequest);

impl<'py> IntoPyObject<'py> for Fields {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Self(request) = self;
        let fields = PyDict::new(py);
        let headers = request.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        fields.set_item("method", request.method.as_str())?;
        fields.set_item("path", &request.path)?;
        fields.set_item("headers", headers.collect::<HashMap<_, _>>())?;
        fields.set_item("body", &request.body)?;
        fields.set_item("at", request.at.as_secs_f64())?;
        Ok(fields)
    }
}

fn time(seconds: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(seconds);
    time.map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}

fn scripted(answer: &Bound<'_, PyAny>) -> PyResult<testing::Answer> {
    let kind: String = answer.getattr("kind")?.extract()?;
    let status: u16 = answer.getattr("status")?.extract()?;
    let body: Option<String> = answer.getattr("body")?.extract()?;
    let headers: HashMap<String, String> = answer.getattr("headers")?.extract()?;
    // It panics on what HTTP does not allow.
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut made = match kind.as_str() {
            "lost" => testing::Answer::lost(),
            "silence" => testing::Answer::silence(),
            "unreachable" => testing::Answer::unreachable(),
            _ => testing::Answer::status(status),
        };
        if let Some(body) = body {
            made = made.text(body);
        }
        for (name, value) in &headers {
            made = made.header(name, value);
        }
        made
    }));
    let mut made = made.map_err(|_| PyValueError::new_err("HTTP does not allow such an answer"))?;
    made = made.after(time(answer.getattr("after")?.extract()?)?);
    if let Some(after) = answer.getattr("body_after")?.extract()? {
        made = made.body_after(time(after)?);
    }
    if let Some(bytes) = answer.getattr("cut_after")?.extract()? {
        made = made.cut_after(bytes);
    }
    Ok(match answer.getattr("repeated")?.extract()? {
        true => made.repeated(),
        false => made,
    })
}
