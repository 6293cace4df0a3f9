//! The Rust client for the package `voice_calling`: what its methods do. What users see, its types
//! and documentation, is in Python.

mod batch;
mod breaker;
mod client;
mod contact;
mod errors;
mod fork;
mod function;
mod hook;
mod ledger;
mod logs;
mod operation;
mod process;
mod records;
mod storage;
mod testing;

use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use std::ffi::OsString;

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
    use super::contact::{ContactRules, normalize_number};
    #[pymodule_export]
    use super::errors::is_permanent;
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
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // What PyO3 keeps in a static, or Python imports, later, a fork might meet half made.
        PanicException::type_object(module.py());
        module.py().import("logging")?;
        logs::install();
        Ok(())
    }

    /// Runs the command of the wheel, and returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| voice_calling_cli::run(arguments))
    }
}
