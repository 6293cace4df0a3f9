//! The functions that send requests to the service, each with valid arguments, reduced to what they
//! have in common.

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::{Display, IntoStaticStr, VariantArray};
use voice_calling_host::Instance;
use voice_calling_host::types::*;

/// The number to call, if the operation calls one.
pub const NUMBER: &str = "919876543210";

/// The id of the requested docket.
pub const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// An answer of the service that satisfies every operation but `ListAgents`.
pub const SATISFYING: &str = r#"{"task_id":"task-1","docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"COMPLETED","call_status":"BUSY"}"#;

/// A delivery that reports the docket as completed.
const DELIVERY: &str =
    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"COMPLETED"}"#;

/// A function that sends requests, with its arguments. It is displayed as in the WIT: interface and
/// function.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
pub enum Operation {
    #[strum(to_string = "agents.create-agent")]
    CreateAgent,
    #[strum(to_string = "agents.list-agents")]
    ListAgents,
    #[strum(to_string = "calls.make-call")]
    MakeCall,
    #[strum(to_string = "calls.get-call-details")]
    GetCallDetails,
    #[strum(to_string = "calls.wait-for-call-details")]
    WaitForCallDetails,
    #[strum(to_string = "dockets.create-docket")]
    CreateDocket,
    #[strum(to_string = "dockets.create-docket-v2")]
    CreateDocketV2,
    #[strum(to_string = "dockets.get-docket")]
    GetDocket,
    #[strum(to_string = "dockets.wait-for-docket")]
    WaitForDocket,
    #[strum(to_string = "bulk.create-dockets-v2")]
    CreateDocketsV2,
    #[strum(to_string = "webhooks.verify-docket-completed")]
    VerifyDocketCompleted,
}

use Operation::*;

impl Operation {
    /// All operations.
    pub const ALL: &'static [Operation] = Self::VARIANTS;

    /// Returns `true` if the operation makes a phone ring.
    pub fn rings(self) -> bool {
        match self {
            MakeCall | CreateDocket | CreateDocketV2 | CreateDocketsV2 => true,
            CreateAgent
            | ListAgents
            | GetCallDetails
            | WaitForCallDetails
            | GetDocket
            | WaitForDocket
            | VerifyDocketCompleted => false,
        }
    }

    /// Returns `true` if the operation creates something, so that a retry may create it twice.
    pub fn is_create(self) -> bool {
        self == CreateAgent || self.rings()
    }

    /// Returns the body of an answer that satisfies the operation.
    pub fn satisfying(self) -> &'static str {
        match self {
            ListAgents => "[]",
            _ => SATISFYING,
        }
    }

    /// Returns the method, path and query of the operation's requests.
    pub fn request_line(self) -> String {
        match self {
            CreateAgent => "POST /agents/".to_owned(),
            ListAgents => "GET /api/v1/agents?organizationId=org-1".to_owned(),
            MakeCall => "POST /make_call".to_owned(),
            GetCallDetails | WaitForCallDetails => "GET /call_details/task-1".to_owned(),
            CreateDocket => "POST /api/v1/dockets".to_owned(),
            CreateDocketV2 | CreateDocketsV2 => "POST /api/v2/dockets".to_owned(),
            GetDocket | WaitForDocket | VerifyDocketCompleted => {
                format!("GET /api/v1/dockets/{DOCKET_ID}")
            }
        }
    }

    /// Returns `true` if the operation polls until a result is ready.
    pub fn is_wait(self) -> bool {
        matches!(self, WaitForCallDetails | WaitForDocket)
    }

    /// Calls the function. A batch returns one result per item, every other function a single one.
    /// The outer error is the host's (a trap).
    pub async fn call(
        self,
        instance: &mut Instance,
        arguments: Arguments,
        options: Option<CallOptions>,
    ) -> Result<Vec<Returned>> {
        let is_too_long = arguments.kind == ArgumentKind::TooLong;
        let [task_id, organization_id] = match is_too_long {
            true => ["ü".repeat(12_000), "o".repeat(70_000)],
            false => ["task-1", "org-1"].map(str::to_owned),
        };
        let wait = WaitOptions {
            timeout_ms: arguments.timeout_ms,
            not_found_is_pending: arguments.not_found_is_pending,
        };
        let lone = match self {
            CreateAgent => {
                let config = record(json!({ "agent_name": "renewals" }));
                answered(instance.create_agent(&config, options)).await?
            }
            ListAgents => answered(instance.list_agents(&organization_id, options)).await?,
            MakeCall => {
                let request = record(json!({ "to_phone_number": NUMBER, "call_context": [],
                    "from_agent_name": "renewals" }));
                answered(instance.make_call(&request, options)).await?
            }
            GetCallDetails => answered(instance.get_call_details(&task_id, options)).await?,
            WaitForCallDetails => {
                answered(instance.wait_for_call_details(&task_id, wait, options)).await?
            }
            CreateDocket => {
                let request = record(json!({ "agent_id": 7, "to_phone_number": NUMBER,
                    "call_context": "{}" }));
                answered(instance.create_docket(&request, options)).await?
            }
            CreateDocketV2 => answered(instance.create_docket_v2(&docket_v2(), options)).await?,
            GetDocket => answered(instance.get_docket(DOCKET_ID, options)).await?,
            WaitForDocket => answered(instance.wait_for_docket(DOCKET_ID, wait, options)).await?,
            VerifyDocketCompleted => {
                answered(instance.verify_docket_completed(DELIVERY, options)).await?
            }
            CreateDocketsV2 => {
                let given = |index| match arguments.kind {
                    ArgumentKind::Large { bytes } => large_item(index, bytes),
                    _ => item(index),
                };
                let batch: Vec<_> = (0..arguments.items).map(given).collect();
                let created = instance.create_dockets_v2(&batch, arguments.timeout_ms, options);
                return Ok(match created.await? {
                    Ok(created) => {
                        let created = created.into_iter();
                        created.map(|one| one.map(Answered::of)).collect()
                    }
                    Err(error) => vec![Err(error)],
                });
            }
        };
        Ok(vec![lone])
    }
}

/// The arguments that a test can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The time limit of waits and batches.
    pub timeout_ms: u32,
    /// For waits: whether a 404 means "not yet".
    pub not_found_is_pending: Option<bool>,
    /// The number of requests in a batch.
    pub items: usize,
    /// The kind of the other arguments.
    pub kind: ArgumentKind,
}

impl Default for Arguments {
    /// Returns a time limit of a minute, and a batch of one.
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            not_found_is_pending: None,
            items: 1,
            kind: ArgumentKind::Usual,
        }
    }
}

/// The kind of an operation's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Usual arguments.
    Usual,
    /// A task id or an organization id that exceeds the limit.
    TooLong,
    /// Dockets of a batch with large call contexts.
    Large {
        /// The size of each call context, in bytes.
        bytes: usize,
    },
}

async fn answered<R: Serialize>(
    call: impl Future<Output = Result<std::result::Result<R, RequestError>>>,
) -> Result<Returned> {
    Ok(call.await?.map(Answered::of))
}

/// The result of a function.
pub type Returned = std::result::Result<Answered, RequestError>;

/// Returns the kind of an operation's failure, or `ok` if it succeeded.
pub fn outcome<T>(result: &std::result::Result<T, RequestError>) -> &'static str {
    result.as_ref().map_or_else(RequestError::kind, |_| "ok")
}

/// The common part of all successful answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// The task id or docket id, if the function returns one.
    pub id: Option<String>,
    /// The whole answer; `None` if a wait has received none.
    pub raw: Option<String>,
    /// The number of records, if the answer is a list.
    pub records: Option<usize>,
    /// All attempts; for a wait, those of the last poll that was answered.
    pub attempts: Vec<Attempt>,
    /// Whether an earlier attempt may have created a duplicate.
    pub may_be_duplicate: bool,
    /// The report of a wait about itself.
    pub waited: Option<Waited>,
    /// Whether a delivery is confirmed.
    pub confirmed: Option<bool>,
}

/// The report of a wait about itself.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Waited {
    #[serde(skip)]
    pub completed: bool,
    pub polls: u32,
    pub failed_polls: u32,
    pub waited_ms: u32,
    pub held_back_ms: u32,
}

impl Answered {
    fn of(record: impl Serialize) -> Self {
        Self::read(&serde_json::to_value(record).expect("a record is JSON"))
    }

    /// Extracts the common part from a record of any function; no member occurs twice in it.
    fn read(record: &Value) -> Self {
        if let Some(outcome) = record.get("outcome") {
            let completed = outcome.get("Completed");
            let waited = Waited::deserialize(record).expect("a wait");
            return Self {
                waited: Some(Waited {
                    completed: completed.is_some(),
                    ..waited
                }),
                ..Self::read(completed.unwrap_or(&outcome["Pending"]))
            };
        }
        for (case, confirmed) in [("Confirmed", true), ("Contradicted", false)] {
            if let Some(verified) = record.get(case) {
                return Self {
                    confirmed: Some(confirmed),
                    ..Self::read(&verified["docket"])
                };
            }
        }
        let text = |name: &str| record[name].as_str().map(str::to_owned);
        let records = |name: &str| Some(record[name].as_array()?.len());
        // The answer to a new agent may be empty.
        let empty = record.get("raw_text").map(|_| String::new());
        Self {
            id: text("docket_id").or(text("task_id")),
            raw: text("raw_json").or(text("raw_text")).or(empty),
            records: records("agents").or(records("calls")),
            attempts: Vec::deserialize(&record["attempts"]).unwrap_or_default(),
            may_be_duplicate: record["may_be_duplicate"] == true,
            waited: None,
            confirmed: None,
        }
    }
}

/// Returns a record with these members; all others are missing.
fn record<R: DeserializeOwned>(members: Value) -> R {
    serde_json::from_value(members).expect("a record")
}

/// Returns a docket of version 2 without context and identifier.
pub fn docket_v2() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: "{}".into(),
        external_id: None,
        extra: None,
    }
}

/// Returns the docket at this index of a batch, identified by its `external_id`.
pub fn item(index: usize) -> DocketRequestV2 {
    DocketRequestV2 {
        external_id: Some(external_id(index)),
        ..docket_v2()
    }
}

/// Returns the same with a call context of this size.
fn large_item(index: usize, bytes: usize) -> DocketRequestV2 {
    DocketRequestV2 {
        call_context: format!("{{\"x\":\"{}\"}}", "x".repeat(bytes)),
        ..item(index)
    }
}

/// Returns the `external_id` of the docket at this index of a batch: a UUID, so that a service can
/// return it as the docket's id.
pub fn external_id(index: usize) -> String {
    format!("00000000-0000-4000-8000-{index:012}")
}
