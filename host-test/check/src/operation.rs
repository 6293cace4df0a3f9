//! The functions that talk to the service, each with arguments that are right, for
//! what they have in common.

use anyhow::Result;
use std::fmt;
use voice_calling_host::load::plugin::Instance;
use voice_calling_host::types::*;

/// The number that is called, where somebody is.
pub const NUMBER: &str = "919876543210";

/// The docket that is asked for.
pub const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// An answer of the service that satisfies every operation but `ListAgents`.
pub const SATISFYING: &str = r#"{"task_id":"task-1","docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"COMPLETED","call_status":"BUSY"}"#;

/// A function that sends requests, and the arguments it is called with.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    CreateAgent,
    ListAgents,
    MakeCall,
    GetCallDetails,
    WaitForCallDetails,
    CreateDocket,
    CreateDocketV2,
    GetDocket,
    WaitForDocket,
    CreateDocketsV2,
}

use Operation::*;

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 10] = [
        CreateAgent,
        ListAgents,
        MakeCall,
        GetCallDetails,
        WaitForCallDetails,
        CreateDocket,
        CreateDocketV2,
        GetDocket,
        WaitForDocket,
        CreateDocketsV2,
    ];

    /// Those that make a phone ring.
    pub const RINGING: [Operation; 4] = [MakeCall, CreateDocket, CreateDocketV2, CreateDocketsV2];

    /// One that reads and one that creates.
    pub const READ_AND_CREATE: [Operation; 2] = [ListAgents, CreateDocketV2];

    /// Whether it creates something, in which case it must not be repeated lightly.
    pub fn is_create(self) -> bool {
        self == CreateAgent || Self::RINGING.contains(&self)
    }

    /// The body of an answer that satisfies it.
    pub fn satisfying(self) -> &'static str {
        match self {
            ListAgents => "[]",
            _ => SATISFYING,
        }
    }

    /// Interface and function, as in the WIT.
    pub fn function(self) -> &'static str {
        match self {
            CreateAgent => "agents.create-agent",
            ListAgents => "agents.list-agents",
            MakeCall => "calls.make-call",
            GetCallDetails => "calls.get-call-details",
            WaitForCallDetails => "calls.wait-for-call-details",
            CreateDocket => "dockets.create-docket",
            CreateDocketV2 => "dockets.create-docket-v2",
            GetDocket => "dockets.get-docket",
            WaitForDocket => "dockets.wait-for-docket",
            CreateDocketsV2 => "bulk.create-dockets-v2",
        }
    }

    /// Method, path and query of its requests.
    pub fn request_line(self) -> String {
        match self {
            CreateAgent => "POST /agents/".to_owned(),
            ListAgents => "GET /api/v1/agents?organizationId=org-1".to_owned(),
            MakeCall => "POST /make_call".to_owned(),
            GetCallDetails | WaitForCallDetails => "GET /call_details/task-1".to_owned(),
            CreateDocket => "POST /api/v1/dockets".to_owned(),
            CreateDocketV2 | CreateDocketsV2 => "POST /api/v2/dockets".to_owned(),
            GetDocket | WaitForDocket => format!("GET /api/v1/dockets/{DOCKET_ID}"),
        }
    }

    /// Whether it asks again and again until something is ready.
    pub fn is_wait(self) -> bool {
        matches!(self, WaitForCallDetails | WaitForDocket)
    }

    /// Calls the function. A batch returns a result for each item, everything else
    /// one. The outer error is the host's (a trap).
    pub async fn call(
        self,
        instance: &mut Instance,
        arguments: Arguments,
    ) -> Result<Vec<Returned>> {
        let Arguments { timeout_ms, items } = arguments;
        let lone = match self {
            CreateAgent => {
                let created = instance.create_agent(&agent("renewals")).await?;
                created.map(|created| Answered::of(created.raw_json))
            }
            ListAgents => {
                let agents = instance.list_agents("org-1").await?;
                agents.map(|agents| Answered::of(agents.into_iter().map(|agent| agent.raw_json)))
            }
            MakeCall => {
                let started = instance.make_call(&call()).await?;
                started.map(|started| Answered::with_id(started.task_id, started.raw_json))
            }
            GetCallDetails => {
                let details = instance.get_call_details("task-1").await?;
                details.map(|details| Answered::of(details.into_iter().map(|one| one.raw_json)))
            }
            WaitForCallDetails => {
                let wait = instance
                    .wait_for_call_details("task-1", wait(timeout_ms))
                    .await?;
                wait.map(|wait| Answered {
                    completed: Some(wait.completed),
                    ..Answered::of(wait.details.into_iter().map(|one| one.raw_json))
                })
            }
            CreateDocket => {
                let created = instance.create_docket(&docket()).await?;
                created.map(|created| Answered::with_id(created.docket_id, created.raw_json))
            }
            CreateDocketV2 => {
                let created = instance.create_docket_v2(&docket_v2()).await?;
                created.map(|created| Answered::with_id(created.docket_id, created.raw_json))
            }
            GetDocket => {
                let docket = instance.get_docket(DOCKET_ID).await?;
                docket.map(|docket| Answered::with_id(docket.docket_id, docket.raw_json))
            }
            WaitForDocket => {
                let wait = instance
                    .wait_for_docket(DOCKET_ID, wait(timeout_ms))
                    .await?;
                wait.map(|wait| Answered {
                    completed: Some(wait.completed),
                    ..Answered::of(wait.docket.map(|docket| docket.raw_json))
                })
            }
            CreateDocketsV2 => {
                let batch: Vec<_> = (0..items).map(item).collect();
                let created = match instance.create_dockets_v2(&batch, timeout_ms).await? {
                    Ok(created) => created,
                    Err(error) => return Ok(vec![Err(error)]),
                };
                let answered = |created: CreatedDocketV2| {
                    Answered::with_id(created.docket_id, created.raw_json)
                };
                return Ok(created.into_iter().map(|one| one.map(answered)).collect());
            }
        };
        Ok(vec![lone])
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.function())
    }
}

/// The arguments of which a test has a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Of waits and batches.
    pub timeout_ms: u32,
    /// How many requests a batch has.
    pub items: usize,
}

impl Default for Arguments {
    /// A minute, and a batch of one.
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            items: 1,
        }
    }
}

/// What a function returned.
pub type Returned = std::result::Result<Answered, RequestError>;

/// What all successful answers have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// The task id or docket id, where the function gives one.
    pub id: Option<String>,
    /// Whether a wait has seen what it waits for.
    pub completed: Option<bool>,
    /// The raw JSON of each record, in order.
    pub raw_json: Vec<String>,
}

impl Answered {
    fn of(raw_json: impl IntoIterator<Item = String>) -> Self {
        Self {
            raw_json: raw_json.into_iter().collect(),
            ..Self::default()
        }
    }

    fn with_id(id: String, raw_json: String) -> Self {
        Self {
            id: Some(id),
            raw_json: vec![raw_json],
            ..Self::default()
        }
    }
}

/// An agent's configuration with nothing but a name.
pub fn agent(agent_name: &str) -> AgentConfig {
    AgentConfig {
        prompt: None,
        agent_name: agent_name.into(),
        agent_phone_number: None,
        voice_id: None,
        version: None,
        welcome_text: None,
        tools: None,
        enabled: None,
        save_stats: None,
        server_type: None,
        call_type: None,
        created_at: None,
        updated_at: None,
        extra: None,
    }
}

/// A call without context.
pub fn call() -> CallRequest {
    CallRequest {
        from_agent_name: Some("renewals".into()),
        to_phone_number: NUMBER.into(),
        call_context: None,
        extra: None,
    }
}

/// A docket of version 1 without context.
pub fn docket() -> DocketRequest {
    DocketRequest {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: "{}".into(),
        extra: None,
    }
}

/// A docket of version 2 without context and identifier.
pub fn docket_v2() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: "{}".into(),
        external_id: None,
        extra: None,
    }
}

/// The docket of a batch that stands at this place; its `external_id` says which.
pub fn item(index: usize) -> DocketRequestV2 {
    DocketRequestV2 {
        external_id: Some(external_id(index)),
        ..docket_v2()
    }
}

/// The `external_id` of the docket at this place of a batch.
pub fn external_id(index: usize) -> String {
    format!("item-{index}")
}

/// A wait in which a 404 is an error.
pub fn wait(timeout_ms: u32) -> WaitOptions {
    WaitOptions {
        timeout_ms,
        not_found_is_pending: false,
    }
}
