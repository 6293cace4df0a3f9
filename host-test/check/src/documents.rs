//! JSON answers with their meaning: whether a result is ready, and which docket it is.

use super::scenario::{Satisfies, Scenario, Turn};
use crate::operation::{DOCKET_ID, Operation};
use crate::script::Step;

const CALLS: Documents = Documents {
    ready: &[
        r#"[{"call_status":"BUSY"},{"call_status":"NO_ANSWER"}]"#,
        r#"[{"call_status":"RINGING","call_insights":{"user_interest":{"confidence_score":0}}}]"#,
        r#"{"call_status":"RINGING","call_insights":{"metadata":{"a":null,"b":[[],"x"]}}}"#,
    ],
    pending: &[
        "[]",
        r#"[{"call_status":"RINGING"}]"#,
        r#"[{"call_status":"ANSWERED"}]"#,
        r#"[{"call_status":"BUSY"},{"call_status":"RINGING"}]"#,
        r#"[{"call_status":null,"call_insights":null}]"#,
        r#"[{"call_status":"RINGING","call_insights":{"metadata":null,"user_interest":null}}]"#,
        r#"{"call_status":"RINGING","call_insights":{"metadata":{"a":null,"b":[{},"",[[]]]}}}"#,
    ],
    nonsense: &["7"],
};

/// `ID` is the id of the requested docket.
const DOCKETS: Documents = Documents {
    ready: &[
        r#"{"docket_id":"ID","status":"ARCHIVED","closed_at":"2025-01-02T03:04:05.678"}"#,
        r#"{"docket_id":"ID","closed_at":"2025-01-02T03:04:05.678"}"#,
        r#"{"status":"COMPLETED"}"#,
        r#"{"docket_id":7,"status":"COMPLETED"}"#,
        r#"{"docket_id":"7F8D3B0E-0D51-4F0C-9A63-2F1A5C0D9E11","status":"COMPLETED"}"#,
    ],
    pending: &[
        r#"{"docket_id":"ID","status":"OPEN"}"#,
        r#"{"docket_id":"ID","status":"OPEN","closed_at":"2025-01-02T03:04:05.678"}"#,
        r#"{"docket_id":"ID","status":"IN_PROGRESS","closed_at":"2025-01-02T03:04:05.678"}"#,
        r#"{"docket_id":"ID","status":"ARCHIVED","closed_at":null}"#,
    ],
    nonsense: &[
        r#"{"docket_id":"11111111-0d51-4f0c-9a63-2f1a5c0d9e11","status":"COMPLETED"}"#,
        r#"{"docket_id":"docket-7","status":"COMPLETED"}"#,
    ],
};

const CREATED_DOCKETS: Documents = Documents {
    nonsense: &[
        r#"{"docket_id":"7f8d3b0e0d514f0c9a632f1a5c0d9e11"}"#,
        r#"{"docket_id":"../agents"}"#,
        r#"{"docket_id":null}"#,
    ],
    ..NONE
};

const STARTED_CALLS: Documents = Documents {
    nonsense: &[
        r#"{"task_id":"."}"#,
        r#"{"task_id":".."}"#,
        r#"{"task_id":""}"#,
        r#"{"task_id":"a\u0000b"}"#,
    ],
    ..NONE
};

const NONE: Documents = Documents {
    ready: &[],
    pending: &[],
    nonsense: &[],
};

/// Answers by their meaning to a wait.
struct Documents {
    ready: &'static [&'static str],
    pending: &'static [&'static str],
    /// Answers that satisfy no operation.
    nonsense: &'static [&'static str],
}

/// Returns the scenarios of an operation.
pub(super) fn documents(operation: Operation) -> Vec<Scenario> {
    let documents = match operation {
        Operation::GetCallDetails | Operation::WaitForCallDetails => CALLS,
        Operation::GetDocket | Operation::WaitForDocket | Operation::VerifyDocketCompleted => {
            DOCKETS
        }
        Operation::CreateDocket | Operation::CreateDocketV2 | Operation::CreateDocketsV2 => {
            CREATED_DOCKETS
        }
        Operation::MakeCall => STARTED_CALLS,
        Operation::CreateAgent | Operation::ListAgents => NONE,
    };
    let scenarios = |bodies: &[&str], satisfies, ready| -> Vec<Scenario> {
        let scenario = |body: &&str| {
            let step = Step::ok(body.replace("ID", DOCKET_ID));
            let turn = Turn {
                step,
                satisfies,
                ready,
            };
            Scenario::new(format!("an answer of {body}"), operation, [turn])
        };
        bodies.iter().map(scenario).collect()
    };
    let mut all = scenarios(documents.ready, Satisfies::Yes, true);
    all.extend(scenarios(documents.pending, Satisfies::Yes, false));
    all.extend(scenarios(documents.nonsense, Satisfies::No, false));
    all
}
