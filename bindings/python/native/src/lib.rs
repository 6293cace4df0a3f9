//! The Rust client for the package `voice_calling`: what its methods do. What users see, its types
//! and documentation, is in Python.
#![forbid(unsafe_code)]

mod batch;
mod breaker;
mod client;
mod errors;
mod fork;
mod hook;
mod ledger;
mod logs;
mod operation;
mod process;
mod records;
mod testing;

use pyo3::prelude::*;

/// The module `voice_calling._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::breaker::{Breaker, next_calling_time};
    #[pymodule_export]
    use super::client::{Client, parse_docket_completed};
    #[pymodule_export]
    use super::fork::{after_fork, before_fork};
    #[pymodule_export]
    use super::ledger::Ledger;
    #[pymodule_export]
    use super::operation::Operation;
    #[pymodule_export]
    use super::process::end;
    #[pymodule_export]
    use super::testing::ScriptedService;
    use super::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        logs::install();
        Ok(())
    }

    /// Returns a phone number as the service takes it.
    #[pyfunction]
    #[pyo3(signature = (text, country_code=None))]
    fn normalize_number(
        py: Python<'_>,
        text: &str,
        country_code: Option<&str>,
    ) -> PyResult<String> {
        use voice_calling_rules::number::{check_country_code, normalize};
        let code = country_code.map_or(Ok(()), |code| check_country_code("country_code", code));
        let number = code.and_then(|()| normalize("text", text, country_code));
        number.map_err(|problem| {
            let failure = voice_calling::Failure::from(problem);
            errors::exception(py, &failure.into())
        })
    }
}
