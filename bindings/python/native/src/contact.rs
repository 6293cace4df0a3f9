//! Whom to call, and when.

use crate::errors::refused;
use pyo3::prelude::*;
use voice_calling_rules::number::{check_country_code, normalize};
use voice_calling_rules::{
    CallingHours, DoNotCall, Hours, Limits, Refusal, calling_times, may_call,
};

/// Returns a phone number as the service takes it.
#[pyfunction]
#[pyo3(signature = (text, country_code=None))]
pub fn normalize_number(
    py: Python<'_>,
    text: &str,
    country_code: Option<&str>,
) -> PyResult<String> {
    let code = country_code.map_or(Ok(()), |code| check_country_code("country_code", code));
    let number = code.and_then(|()| normalize("text", text, country_code));
    number.map_err(|problem| refused(py, problem))
}

/// Numbers that must not be called, and the hours for the others.
#[pyclass(frozen, module = "voice_calling._native")]
pub struct ContactRules {
    do_not_call: DoNotCall,
    hours: Option<Hours>,
}

#[pymethods]
impl ContactRules {
    #[new]
    fn new(
        py: Python<'_>,
        do_not_call: Vec<String>,
        hours: Option<(String, String)>,
    ) -> PyResult<Self> {
        let mut rules = Self {
            do_not_call: DoNotCall::default(),
            hours: None,
        };
        for number in do_not_call {
            let number = normalize("do_not_call", &number, None);
            let number = number.map_err(|problem| refused(py, problem))?;
            rules.do_not_call.insert(&number);
        }
        if let Some((times, time_zone)) = hours {
            let hours = calling_times("hours", &times)
                .and_then(|week| Hours::read("hours", &CallingHours { time_zone, week }));
            rules.hours = Some(hours.map_err(|problem| refused(py, problem))?);
        }
        Ok(rules)
    }

    /// Returns why a number may not be called at a time in seconds since 1970, and when the next
    /// calling hours begin.
    fn refusal(&self, number: &str, at: f64) -> Option<(&str, Option<f64>)> {
        let limits = Limits {
            max_calls: usize::MAX,
            gap_ms: 0,
        };
        let at_ms = (at * 1e3) as u64;
        let refusal = may_call(
            number,
            at_ms,
            &self.do_not_call,
            limits,
            &[],
            self.hours.as_ref(),
        );
        match refusal.err()? {
            Refusal::Closed(opens_ms) => Some(("closed", opens_ms.map(|ms| ms as f64 / 1e3))),
            Refusal::DoNotCall | Refusal::TooOften | Refusal::TooSoon(_) => {
                Some(("do-not-call", None))
            }
        }
    }
}
