//! The outcomes of operations, as JSON on its way to JavaScript.

use serde_json::Value;
use std::mem;
use tracing::{Dispatch, dispatcher};

/// JSON for JavaScript. If it is dropped before JavaScript has it, what it has created is logged.
pub struct Outcome {
    json: String,
    /// Where it is logged, and the request of its create.
    unread: Option<(Dispatch, String)>,
}

impl From<String> for Outcome {
    fn from(json: String) -> Self {
        Self { json, unread: None }
    }
}

impl Outcome {
    /// Returns the outcome of a create, whose request is JSON.
    pub fn of_create(json: String, log: Dispatch, request: String) -> Self {
        let mut outcome: Self = json.into();
        outcome.unread = Some((log, request));
        outcome
    }

    /// Returns its JSON, which JavaScript has then.
    pub fn read(mut self) -> String {
        self.unread = None;
        mem::take(&mut self.json)
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        let Some((log, request)) = self.unread.take() else {
            return;
        };
        let request: Value = serde_json::from_str(&request).unwrap_or_default();
        let external_id = request["external_id"].as_str();
        let outcome: Value = serde_json::from_str(&self.json).unwrap_or_default();
        let created = &outcome["ok"];
        let mut ids = ["docketId", "taskId", "agentId"].iter();
        let created_id = ids.find_map(|name| created.get(name));
        dispatcher::with_default(&log, || match created_id {
            // The ledger has it.
            _ if created["fromLedger"] == true => {}
            Some(created_id) => tracing::warn!(
                %created_id,
                external_id,
                "the program did not get the result of a create, which has succeeded"
            ),
            None if outcome["failure"]["mayHaveCreated"] == true => tracing::warn!(
                external_id,
                "the program did not get the error of a create: the call or docket may exist"
            ),
            None => {}
        });
    }
}
