//! What the engine says about executions.

/// The status of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is no execution of that id.
    Missing,
    /// Nothing runs it: a stub that nothing is written into, or a workflow that is due.
    Pending,
    /// A workflow that computes or waits: never a stub.
    Going,
    /// It has returned a value.
    Ok,
    /// It has returned an error.
    Err,
    /// It was cancelled.
    Cancelled,
    /// The engine could not run it: never a stub.
    Failed,
}

/// The engine.
pub trait Executions {
    fn status(&self, id: &str) -> Status;

    /// What an execution has returned, a value or an error, as JSON; none where that is nothing.
    /// Only for those that have ended.
    fn result(&self, id: &str) -> Option<String>;
}
