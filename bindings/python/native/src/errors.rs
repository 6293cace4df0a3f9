//! Failures as the exceptions of the package.

use crate::records::ToPython;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use voice_calling::{Error, Failure, FailureKind, Problem};

const MODULE: &str = "voice_calling._errors";

/// The names that callers know for the subjects of problems with options.
const SUBJECTS: [(&str, &str); 4] = [
    ("options.account", "account"),
    ("options.deadline_ms", "timeout"),
    ("options.max_attempts", "max_retries"),
    ("timeout_ms", "timeout"),
];

/// Returns the exception of an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    make(py, error).unwrap_or_else(|error| error)
}

fn make(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = py.import(MODULE)?.getattr("ERRORS")?;
    let class = class.get_item(error.kind().name())?;
    let arguments = PyDict::new(py);
    let mut problem = error.problem().cloned();
    let mut message = error.to_string();
    if let Some(problem) = &mut problem
        && let Some((_, name)) = SUBJECTS.iter().find(|(it, _)| *it == problem.subject)
    {
        message = message.replacen(&problem.subject, name, 1);
        problem.subject = (*name).to_owned();
    }
    arguments.set_item("next_step", error.next_step().name())?;
    arguments.set_item("may_have_created", error.may_have_created())?;
    arguments.set_item("problem", problem.to_python(py)?)?;
    arguments.set_item("response", error.response().cloned().to_python(py)?)?;
    arguments.set_item("attempts", error.attempts().to_vec().to_python(py)?)?;
    let exception = class.call((message,), Some(&arguments))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the exception for an argument.
pub(crate) fn invalid_input(
    py: Python<'_>,
    subject: &str,
    found: impl ToString,
    allowed: impl Into<String>,
) -> PyErr {
    let problem = Problem {
        subject: subject.to_owned(),
        found: found.to_string(),
        allowed: allowed.into(),
    };
    refused(py, problem)
}

/// Returns the exception for a problem with an argument.
pub(crate) fn refused(py: Python<'_>, problem: Problem) -> PyErr {
    exception(py, &Failure::from(problem).into())
}

/// Returns `true` if an error of this kind means that the same call would fail again, or might call
/// a person twice.
#[pyfunction]
pub(crate) fn is_permanent(kind: &str) -> PyResult<bool> {
    let kind = FailureKind::ALL.into_iter().find(|it| it.name() == kind);
    let kind = kind.ok_or_else(|| PyValueError::new_err("a kind of failure"))?;
    Ok(kind.is_permanent())
}

/// Returns the exception of a wait whose time was up, of its keyword arguments.
pub(crate) fn wait_timed_out(py: Python<'_>, arguments: &Bound<'_, PyDict>) -> PyErr {
    let make = || {
        let class = py.import(MODULE)?.getattr("WaitTimeoutError")?;
        Ok(PyErr::from_value(class.call((), Some(arguments))?))
    };
    make().unwrap_or_else(|error: PyErr| error)
}
