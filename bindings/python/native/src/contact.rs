//! Whom to call, and when.

use crate::errors::refused;
use pyo3::prelude::*;
use voice_calling_rules::number::{check_country_code, normalize};

/// Returns a phone number as the service takes it.
#[pyfunction]
#[pyo3(signature = (text, country_code=None))]
pub(crate) fn normalize_number(
    py: Python<'_>,
    text: &str,
    country_code: Option<&str>,
) -> PyResult<String> {
    let code = country_code.map_or(Ok(()), |code| check_country_code("country_code", code));
    let number = code.and_then(|()| normalize("text", text, country_code));
    number.map_err(|problem| refused(py, problem))
}

#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct ContactRules(voice_calling_rules::ContactRules);

#[pymethods]
impl ContactRules {
    #[new]
    fn new(
        py: Python<'_>,
        do_not_call: Option<Vec<String>>,
        country_code: Option<&str>,
        hours: Option<&str>,
        time_zone: Option<&str>,
    ) -> PyResult<Self> {
        let do_not_call = do_not_call.as_deref();
        voice_calling_rules::ContactRules::new(do_not_call, country_code, hours, time_zone)
            .map(Self)
            .map_err(|problem| refused(py, problem))
    }

    /// Returns why a number may not be called at a time in seconds since 1970.
    fn refusal(&self, number: &str, at: f64) -> Option<String> {
        self.0.refusal(number, (at * 1e3) as u64)
    }
}
