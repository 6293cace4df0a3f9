//! What a service does as a rule.

use super::{Answer, ReceivedRequest};
use serde_json::{Value, json};
use std::time::Duration;

/// A service that does all that it is asked for.
pub(super) struct UsualService {
    pub(super) complete_after: Duration,
    /// The dockets and calls: the id of each, its fields, and when it was created.
    created: Vec<(String, Value, Duration)>,
}

impl Default for UsualService {
    fn default() -> Self {
        Self {
            complete_after: Duration::from_secs(60),
            created: Vec::new(),
        }
    }
}

impl UsualService {
    pub(super) fn answer(&mut self, request: &ReceivedRequest) -> Answer {
        let path = request.path.split('?').next().unwrap_or_default();
        match (request.method.as_str(), path) {
            ("POST", "/agents/") => ok(json!({"agent_id": 7})),
            ("GET", "/api/v1/agents") => ok(json!([{"agent_id": 7, "agent_name": "renewals"}])),
            ("POST", "/make_call") => {
                let task_id = format!("task-{}", self.created.len() + 1);
                self.create(&task_id, request);
                ok(json!({"task_id": task_id}))
            }
            ("POST", "/api/v1/dockets") => {
                let docket_id = self.create_docket(request);
                ok(json!({"docket_id": docket_id, "status": "IN_PROGRESS"}))
            }
            ("POST", "/api/v2/dockets") => {
                let docket_id = self.create_docket(request);
                ok(json!({"docket_id": docket_id, "status": "OPEN", "created": true}))
            }
            ("GET", _) => {
                let docket_id = path.strip_prefix("/api/v1/dockets/");
                let task_id = path.strip_prefix("/call_details/");
                let docket = docket_id.and_then(|id| self.docket(id, request.at));
                let calls = || task_id.and_then(|id| self.calls(id, request.at));
                docket.or_else(calls).map_or_else(unknown, ok)
            }
            _ => unknown(),
        }
    }

    fn create_docket(&mut self, request: &ReceivedRequest) -> String {
        let number = self.created.len() + 1;
        let docket_id = format!("00000000-0000-4000-8000-{number:012}");
        self.create(&docket_id, request);
        docket_id
    }

    fn create(&mut self, id: &str, request: &ReceivedRequest) {
        self.created
            .push((id.to_owned(), request.json(), request.at));
    }

    /// Returns the request that created this, and whether it is completed.
    fn find(&self, id: &str, now: Duration) -> Option<(&Value, bool)> {
        let (_, request, began) = self
            .created
            .iter()
            .find(|(created_id, ..)| created_id == id)?;
        Some((request, now >= began.saturating_add(self.complete_after)))
    }

    fn docket(&self, docket_id: &str, now: Duration) -> Option<Value> {
        let (request, is_completed) = self.find(docket_id, now)?;
        let mut docket = json!({
            "docket_id": docket_id,
            "agent_name": "renewals",
            "status": if is_completed { "COMPLETED" } else { "IN_PROGRESS" },
            "to_phone_number": request["to_phone_number"],
            "call_context": request["extra_config"]["call_context"],
            "external_id": request["external_id"],
        });
        if is_completed {
            docket["closure_reason"] = "DISPOSITION".into();
        }
        Some(docket)
    }

    fn calls(&self, task_id: &str, now: Duration) -> Option<Value> {
        let (request, is_completed) = self.find(task_id, now)?;
        if !is_completed {
            return Some(json!([]));
        }
        Some(json!([{
            "call_status": "ANSWERED",
            "to_number": request["to_phone_number"],
            "call_context": request["extra_config"]["call_context"],
            "call_insights": {"metadata": {"interested": true}},
        }]))
    }
}

fn ok(body: Value) -> Answer {
    Answer::status(200).json(body)
}

fn unknown() -> Answer {
    Answer::status(404).json(json!({"detail": "unknown"}))
}
