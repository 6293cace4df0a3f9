//! Forks, in which ledgers are held.

use pyo3::prelude::*;
use std::cell::RefCell;
use voice_calling::ledger::{Hold, hold};

thread_local! {
    /// The hold of the thread that forks.
    static HOLD: RefCell<Option<Hold>> = const { RefCell::new(None) };
}

#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    // What is using a ledger may wait for the interpreter.
    py.detach(|| HOLD.set(Some(hold())));
}

/// Ends the hold, in the process that has forked and in its child.
#[pyfunction]
pub(crate) fn after_fork() {
    HOLD.set(None);
}
