//! The functions that talk to the service, each with arguments that are right, for
//! tests of what they have in common.

use crate::stage::NUMBER;
use host_test::Instance;
use host_test::mock::Endpoint;
use host_test::types::*;
use std::time::Duration;

pub const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// An answer of the service that satisfies every operation but `ListAgents`.
pub const SATISFYING: &str = r#"{"task_id":"task-1","docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"COMPLETED","call_status":"BUSY"}"#;

/// A function that sends requests, and the arguments it is called with.
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

    pub fn is_create(self) -> bool {
        self == CreateAgent || Self::RINGING.contains(&self)
    }

    pub fn endpoint(self) -> Endpoint {
        match self {
            CreateAgent => Endpoint::CreateAgent,
            ListAgents => Endpoint::ListAgents,
            MakeCall => Endpoint::MakeCall,
            GetCallDetails | WaitForCallDetails => Endpoint::GetCallDetails,
            CreateDocket => Endpoint::CreateDocket,
            CreateDocketV2 | CreateDocketsV2 => Endpoint::CreateDocketV2,
            GetDocket | WaitForDocket => Endpoint::GetDocket,
        }
    }

    /// The body of an answer that satisfies it.
    pub fn satisfying(self) -> &'static str {
        match self {
            ListAgents => "[]",
            _ => SATISFYING,
        }
    }

    /// Calls the function. What it returns is for the tests of that function; of a
    /// batch of one, the error is that one's.
    pub async fn run(self, instance: &mut Instance) -> Result<(), RequestError> {
        self.run_within(instance, 60_000).await
    }

    /// The same with so much time, where the function takes a time.
    pub async fn run_within(
        self,
        instance: &mut Instance,
        timeout_ms: u32,
    ) -> Result<(), RequestError> {
        match self {
            CreateAgent => returned(instance.create_agent(&agent("renewals")))
                .await
                .map(drop),
            ListAgents => returned(instance.list_agents("org-1")).await.map(drop),
            MakeCall => returned(instance.make_call(&call())).await.map(drop),
            GetCallDetails => returned(instance.get_call_details("task-1"))
                .await
                .map(drop),
            WaitForCallDetails => {
                let wait = instance.wait_for_call_details("task-1", wait(timeout_ms));
                returned(wait).await.map(drop)
            }
            CreateDocket => returned(instance.create_docket(&docket())).await.map(drop),
            CreateDocketV2 => returned(instance.create_docket_v2(&docket_v2()))
                .await
                .map(drop),
            GetDocket => returned(instance.get_docket(DOCKET_ID)).await.map(drop),
            WaitForDocket => {
                let wait = instance.wait_for_docket(DOCKET_ID, wait(timeout_ms));
                returned(wait).await.map(drop)
            }
            CreateDocketsV2 => {
                let batch = [docket_v2()];
                let created = returned(instance.create_dockets_v2(&batch, timeout_ms)).await?;
                created.into_iter().collect::<Result<Vec<_>, _>>().map(drop)
            }
        }
    }
}

/// What a function returned. Neither may the host fail, nor may it take for ever: a
/// quarter of an hour is longer than any test, even in virtual time.
pub async fn returned<T>(
    call: impl Future<Output = anyhow::Result<Result<T, RequestError>>>,
) -> Result<T, RequestError> {
    let returned = tokio::time::timeout(Duration::from_secs(900), call).await;
    returned
        .expect("an end within a quarter of an hour")
        .expect("no failure of the host")
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

pub fn call() -> CallRequest {
    CallRequest {
        from_agent_name: Some("renewals".into()),
        to_phone_number: NUMBER.into(),
        call_context: None,
        extra: None,
    }
}

pub fn docket() -> DocketRequest {
    DocketRequest {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: "{}".into(),
        extra: None,
    }
}

pub fn docket_v2() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: "{}".into(),
        external_id: None,
        extra: None,
    }
}

/// A wait in which a 404 is an error.
pub fn wait(timeout_ms: u32) -> WaitOptions {
    WaitOptions {
        timeout_ms,
        not_found_is_pending: false,
    }
}
