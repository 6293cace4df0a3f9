//! Executions as a test wants them.

use std::collections::BTreeMap;

use crate::execution::{Executions, Status};

#[derive(Default)]
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

/// A row as the engine writes it.
pub fn row(index: u32, ending: &str) -> String {
    format!(
        r#"{{"index":{index},"to_phone_number":"+9198{index}","external_id":"x{index}","ending":{ending}}}"#
    )
}

/// An ending of a docket that is completed, with insights.
pub const COMPLETED: &str = r#"{"ended":{"ok":{"docket_id":"d","completed":true,"known_by":"webhook",
    "docket":null,"unverified":{"docket_id":"d","call_insights":{"call_disposition":"agreed",
    "call_metadata":"{\"price\":1.50}"},"call_context":null,"attempts":null,"dashboard_url":null,
    "raw_json":"{}"},"created":true,"polls":0,"last_poll_failure":null}}}"#;
