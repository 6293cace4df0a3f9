//! What a service does as a rule.

use super::{Answer, ReceivedRequest};
use serde_json::{Value, json};
use std::time::Duration;

/// A service that does all that it is asked for.
pub(super) struct UsualService {
    pub(super) complete_after: Duration,
    /// The dockets and calls: the path at which each is found, its fields, and when it was created.
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
        let path = endpoint_of(&request.path);
        match (request.method.as_str(), path) {
            ("POST", "/agents/") => ok(json!({"agent_id": 7})),
            ("GET", "/api/v1/agents") => ok(json!([{"agent_id": 7, "agent_name": "renewals"}])),
            ("POST", "/make_call") => {
                let task_id = format!("task-{}", self.created.len() + 1);
                self.create(format!("/call_details/{task_id}"), request);
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
                let found = self.found(path, request.at);
                found.map_or_else(unknown, ok)
            }
            _ => unknown(),
        }
    }

    fn create_docket(&mut self, request: &ReceivedRequest) -> String {
        let number = self.created.len() + 1;
        let docket_id = format!("00000000-0000-4000-8000-{number:012}");
        self.create(format!("{DOCKETS}{docket_id}"), request);
        docket_id
    }

    fn create(&mut self, path: String, request: &ReceivedRequest) {
        self.created.push((path, request.json(), request.at));
    }

    /// Returns the docket or the calls that are found at a path.
    fn found(&self, path: &str, now: Duration) -> Option<Value> {
        let mut created = self.created.iter();
        let (_, request, began) = created.find(|(created, ..)| created == path)?;
        let is_completed = now >= began.saturating_add(self.complete_after);
        Some(match path.strip_prefix(DOCKETS) {
            Some(docket_id) => docket(docket_id, request, is_completed),
            None => calls(request, is_completed),
        })
    }
}

/// The path of a docket before its id.
const DOCKETS: &str = "/api/v1/dockets/";

/// Returns the path of the endpoint, without that of the base URL and without the query.
fn endpoint_of(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    let begins = ["/api/", "/agents/", "/make_call", "/call_details/"];
    let endpoint = begins.iter().filter_map(|begin| path.rfind(begin)).max();
    &path[endpoint.unwrap_or(0)..]
}

fn docket(docket_id: &str, request: &Value, is_completed: bool) -> Value {
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
    docket
}

fn calls(request: &Value, is_completed: bool) -> Value {
    if !is_completed {
        return json!([]);
    }
    json!([{
        "call_status": "ANSWERED",
        "to_number": request["to_phone_number"],
        "call_context": request["extra_config"]["call_context"],
        "call_insights": {"metadata": {"interested": true}},
    }])
}

fn ok(body: Value) -> Answer {
    Answer::status(200).json(body)
}

fn unknown() -> Answer {
    Answer::status(404).json(json!({"detail": "unknown"}))
}
