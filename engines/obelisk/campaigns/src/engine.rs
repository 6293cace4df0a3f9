//! The executions of the engine.

use crate::bindings::obelisk::types::execution::{ExecutionFailureKind, ExecutionId};
use crate::bindings::obelisk::webhook::webhook_support::{
    self as engine, ExecutionStatus, ExecutionStatusFinished,
};

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

/// The engine that runs this endpoint.
pub struct Engine;

fn id(id: &str) -> ExecutionId {
    ExecutionId { id: id.to_owned() }
}

impl Executions for Engine {
    fn status(&self, execution: &str) -> Status {
        match engine::get_status(&id(execution)) {
            Err(_) => Status::Missing,
            Ok(ExecutionStatus::PendingAt(_) | ExecutionStatus::Cancelling) => Status::Pending,
            Ok(
                ExecutionStatus::Locked
                | ExecutionStatus::Paused
                | ExecutionStatus::BlockedByJoinSet,
            ) => Status::Going,
            Ok(ExecutionStatus::Finished(finished)) => match finished {
                ExecutionStatusFinished::Ok => Status::Ok,
                ExecutionStatusFinished::Err => Status::Err,
                ExecutionStatusFinished::ExecutionFailure(ExecutionFailureKind::Cancelled) => {
                    Status::Cancelled
                }
                ExecutionStatusFinished::ExecutionFailure(_) => Status::Failed,
            },
        }
    }

    fn result(&self, execution: &str) -> Option<String> {
        match engine::try_get(&id(execution)) {
            Ok(Ok(json) | Err(json)) => json,
            Err(_) => None,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A tree of executions.
    #[derive(Clone, Default)]
    pub struct Tree(BTreeMap<String, (Status, Option<String>)>);

    impl Tree {
        pub fn and(mut self, id: &str, status: Status) -> Self {
            self.0.insert(id.to_owned(), (status, None));
            self
        }

        pub fn returned(self, id: &str, value: &str) -> Self {
            self.ended(id, Status::Ok, value)
        }

        pub fn ended(mut self, id: &str, status: Status, result: &str) -> Self {
            let result = Some(result.to_owned());
            self.0.insert(id.to_owned(), (status, result));
            self
        }
    }

    impl Executions for Tree {
        fn status(&self, id: &str) -> Status {
            self.0.get(id).map_or(Status::Missing, |it| it.0)
        }

        fn result(&self, id: &str) -> Option<String> {
            self.0.get(id)?.1.clone()
        }
    }

    /// Returns the result of a run whose docket is completed, with insights.
    pub fn completed(index: u32) -> String {
        row(
            index,
            r#""state":"completed","docket_id":"d","known_by":"webhook","insights":{
        "call_disposition":"agreed","call_metadata":"{\"price\":1.50}"},"error":null"#,
        )
    }

    /// Returns the result of a run that a person gave up.
    pub fn given_up(index: u32) -> String {
        row(
            index,
            r#""state":"given_up","docket_id":null,"known_by":null,"insights":null,
        "error":"no, \"none\"""#,
        )
    }

    /// Returns a row in the engine's JSON.
    fn row(index: u32, rest: &str) -> String {
        format!(
            r#"{{"ended":{{"index":{index},"to_phone_number":"+9198{index}","external_id":"x{index}",{rest}}}}}"#
        )
    }
}
