//! A client that misbehaves.

use crate::fault::Fault;
use crate::result::Change;
use crate::settings::Settings;
use crate::transport::FaultyTransport;
use futures_util::future::join_all;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::hint::black_box;
use std::slice;
use voice_calling_core::Transport;
use voice_calling_core::ledger::{NoLedger, Recorded};
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, Failure, StartedCall, Verification, WaitOptions,
};

/// The amount of memory that is allocated at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// The real client with its misbehaviour. Its functions are those of the real one.
pub struct Client<T> {
    real: voice_calling_core::Client<FaultyTransport<T>>,
    fault: Fault,
    token: String,
}

type DocketResults = Result<Vec<Result<CreatedDocketV2, Failure>>, Failure>;

/// Reads that no fault changes before they are sent.
macro_rules! reads {
    ($($name:ident($($argument:ident: $type:ty),+) -> $answer:ty;)+) => {$(
        /// Calls the real client's function, and changes the result.
        pub async fn $name(
            &self,
            $($argument: $type,)+
            options: Option<CallOptions>,
        ) -> Result<$answer, Failure> {
            self.run(self.real.$name($($argument,)+ options)).await
        }
    )+};
}

/// The same for creates.
macro_rules! creates {
    ($($name:ident($argument:ident: $type:ty) -> $answer:ty;)+) => {$(
        /// Calls the real client's function, and changes the result.
        pub async fn $name(
            &self,
            $argument: $type,
            options: Option<CallOptions>,
            key: Option<&str>,
        ) -> Result<Recorded<$answer>, Failure> {
            let created = async {
                let created = self.real.$name($argument, options, key).await;
                created.map(|created| created.answer)
            };
            let answer = self.run(created).await?;
            Ok(Recorded { answer, from_ledger: false })
        }
    )+};
}

impl<T: Transport> Client<T> {
    /// Returns a client with these settings.
    pub fn new(settings: Settings, transport: T, ledger: NoLedger) -> Self {
        let Settings { real, fault, token } = settings;
        let transport = FaultyTransport {
            real: transport,
            fault,
            limited: Cell::new(false),
        };
        Self {
            real: voice_calling_core::Client::new(real, transport, ledger),
            fault,
            token,
        }
    }

    creates! {
        create_agent(config: &AgentConfig) -> CreatedAgent;
        make_call(request: &CallRequest) -> StartedCall;
        create_docket(request: &DocketRequest) -> CreatedDocket;
        create_docket_v2(request: &DocketRequestV2) -> CreatedDocketV2;
    }

    reads! {
        get_call_details(task_id: &str) -> CallDetailsList;
        wait_for_call_details(task_id: &str, wait: WaitOptions) -> CallDetailsWait;
        get_docket(docket_id: &str) -> Docket;
        wait_for_docket(docket_id: &str, wait: WaitOptions) -> DocketWait;
        verify_docket_completed(body: &str) -> Verification;
    }

    /// `agents.list-agents`
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Result<AgentList, Failure> {
        let sent = match self.fault {
            Fault::CutsLongIds => &organization_id[..organization_id.floor_char_boundary(100)],
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
    ) -> DocketResults {
        let mut results = match self.fault {
            Fault::NeverStops => self.each_in_a_batch(requests, timeout_ms, options).await?,
            _ => {
                let batch = self.real.create_dockets_v2(requests, timeout_ms, options);
                self.run(batch).await?
            }
        };
        match self.fault {
            Fault::LosesOrder => results.reverse(),
            Fault::DropsFailedItems => results.retain(Result::is_ok),
            _ => {}
        }
        Ok(results)
    }

    /// Creates each docket in a batch of its own, which ends without regard to the others.
    async fn each_in_a_batch(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> DocketResults {
        let batches = requests.iter().map(slice::from_ref);
        let batches = batches.map(|one| {
            self.real
                .create_dockets_v2(one, timeout_ms, options.clone())
        });
        let results = join_all(batches).await.into_iter();
        Ok(results.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Runs an operation of the real client, unless the fault is that it never ends, and changes its
    /// result.
    async fn run<R: Serialize + DeserializeOwned>(
        &self,
        operation: impl Future<Output = Result<R, Failure>>,
    ) -> Result<R, Failure> {
        match self.fault {
            Fault::None => return operation.await,
            Fault::LoopsForever => loop {
                black_box(());
            },
            Fault::AllocatesWithoutEnd => allocate_without_end(),
            _ => {}
        }
        let change = Change {
            fault: self.fault,
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
