//! A client that misbehaves.

use crate::mutant::Mutant;
use crate::result::Change;
use crate::settings::Settings;
use crate::transport::MutantTransport;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::hint::black_box;
use voice_calling_core::Transport;
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, RequestError, StartedCall, Verification, WaitOptions,
};

/// The amount of memory that is allocated at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// The real client with its misbehaviour. Its functions are those of the real one.
pub struct Client<T> {
    real: voice_calling_core::Client<MutantTransport<T>>,
    mutant: Mutant,
    token: String,
}

/// Functions in which no mutant has a behaviour of its own.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),+) -> $answer:ty;)+) => {$(
        /// Calls the real client's function, and changes the result.
        pub async fn $name(
            &self,
            $($argument: $type,)+
            options: Option<CallOptions>,
        ) -> Result<$answer, RequestError> {
            self.run(self.real.$name($($argument,)+ options)).await
        }
    )+};
}

impl<T: Transport> Client<T> {
    /// Returns a client with these settings.
    pub fn new(settings: Settings, transport: T) -> Self {
        let Settings {
            real,
            mutant,
            token,
        } = settings;
        let transport = MutantTransport {
            real: transport,
            mutant,
            limited: Cell::new(false),
        };
        Self {
            real: voice_calling_core::Client::new(real, transport),
            mutant,
            token,
        }
    }

    functions! {
        create_agent(config: &AgentConfig) -> CreatedAgent;
        make_call(request: &CallRequest) -> StartedCall;
        get_call_details(task_id: &str) -> CallDetailsList;
        wait_for_call_details(task_id: &str, wait: WaitOptions) -> CallDetailsWait;
        create_docket(request: &DocketRequest) -> CreatedDocket;
        create_docket_v2(request: &DocketRequestV2) -> CreatedDocketV2;
        get_docket(docket_id: &str) -> Docket;
        wait_for_docket(docket_id: &str, wait: WaitOptions) -> DocketWait;
        verify_docket_completed(body: &str) -> Verification;
    }

    /// `agents.list-agents`
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Result<AgentList, RequestError> {
        let sent = match self.mutant {
            Mutant::CutsLongIds => &organization_id[..organization_id.floor_char_boundary(100)],
            _ => organization_id,
        };
        self.run(self.real.list_agents(sent, options)).await
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        let batch = self.real.create_dockets_v2(requests, timeout_ms, options);
        let mut results = self.run(batch).await?;
        match self.mutant {
            Mutant::LosesOrder => results.reverse(),
            Mutant::DropsFailedItems => results.retain(Result::is_ok),
            _ => {}
        }
        Ok(results)
    }

    /// Runs an operation of the real client, if the mutant does so, and changes its result.
    async fn run<R: Serialize + DeserializeOwned>(
        &self,
        operation: impl Future<Output = Result<R, RequestError>>,
    ) -> Result<R, RequestError> {
        match self.mutant {
            Mutant::None => return operation.await,
            Mutant::LoopsForever => loop {
                black_box(());
            },
            Mutant::AllocatesWithoutEnd => allocate_without_end(),
            _ => {}
        }
        let change = Change {
            mutant: self.mutant,
            token: &self.token,
        };
        change.applied(operation.await)
    }
}

fn allocate_without_end() {
    let mut blocks = Vec::new();
    loop {
        // Not zeros, which an allocator may provide without touching memory.
        blocks.push(vec![1_u8; BLOCK_BYTES]);
        black_box(&blocks);
    }
}
