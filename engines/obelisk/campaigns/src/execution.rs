//! The engine's view of executions.

/// The status of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No execution has that id.
    Missing,
    /// The execution is not running: a stub without a result, or a workflow that is due.
    Pending,
    /// The execution is a workflow that computes or waits, never a stub.
    Going,
    /// The execution returned a value.
    Ok,
    /// The execution returned an error.
    Err,
    /// The execution was cancelled.
    Cancelled,
    /// The engine could not run the execution, which is never a stub.
    Failed,
}

/// The executions that an engine stores.
pub trait Executions {
    fn status(&self, id: &str) -> Status;

    /// Returns the result of an execution that has ended, a value or an error, as JSON; `None` if
    /// it has no content.
    fn result(&self, id: &str) -> Option<String>;
}
