//! Decisions before a create is sent: those of the breaker of a series, and of the calling hours.

use crate::errors::{invalid_input, refused};
use crate::process::lock;
use pyo3::prelude::*;
use std::sync::Mutex;
use voice_calling::{Decision, NextStep};
use voice_calling_rules::Hours;

#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct Breaker(Mutex<voice_calling::Breaker>);

#[pymethods]
impl Breaker {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Returns the decision, and the reason of a stop.
    fn decide(&self) -> (&'static str, Option<String>) {
        match lock(&self.0).decide() {
            Decision::Begin => ("begin", None),
            Decision::Wait => ("wait", None),
            Decision::Stop(reason) => ("stop", Some(reason)),
        }
    }

    fn on_success(&self) {
        lock(&self.0).on_success();
    }

    fn on_failure(&self, sent: bool, next_step: &str, message: &str) {
        let next_step = NextStep::ALL.into_iter().find(|it| it.name() == next_step);
        let next_step = next_step.unwrap_or(NextStep::Unknown);
        lock(&self.0).on_error(sent, next_step, message);
    }

    fn resume(&self) {
        lock(&self.0).resume();
    }
}

/// Returns when a call may begin that is due at `at`. Unit: seconds since 1970.
#[pyfunction]
pub(crate) fn next_calling_time(
    py: Python<'_>,
    hours: &str,
    time_zone: &str,
    at: f64,
) -> PyResult<Option<f64>> {
    let read = Hours::of_line(("hours", hours), ("time_zone", time_zone));
    let read = read.map_err(|problem| refused(py, problem))?;
    let Ok(due) = std::time::Duration::try_from_secs_f64(at) else {
        return Err(invalid_input(py, "at", at, "seconds since 1970"));
    };
    let due_ms = u64::try_from(due.as_millis()).unwrap_or(u64::MAX);
    let begins_ms = read.next_call_ms(due_ms);
    // A call that may begin now begins at the same moment, with all its digits.
    Ok(begins_ms.map(|it| {
        if it == due_ms {
            at
        } else {
            it as f64 / 1_000.0
        }
    }))
}
