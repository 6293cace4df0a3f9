//! A tree of executions for tests.

use std::collections::BTreeMap;

use crate::engine::{Executions, Status};

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
