//! The client for embedders: calls as many as come, on one instance of the component that does no
//! I/O itself.

mod alarm;
mod batch;
pub(crate) mod bindings;
mod driver;
mod exchange;
pub mod fault;
pub mod history;
pub(crate) mod lone;
pub(crate) mod machine;
pub(crate) mod operation;
pub mod replay;
mod session;

pub use batch::Batch;

use self::bindings::{Answer, Call};
use self::driver::Driver;
use self::machine::StepsGuest;
use self::operation::{Outcome, Teller, log_created};
use crate::calls::batch::{BatchResult, CREATE_DOCKETS_V2, DocketResult};
use crate::guest::in_flight::{Caller, InFlight};
use crate::guest::limits::MemoryBytes;
use crate::guest::settings::InstanceSettings;
use crate::load::plugin::Called;
use crate::load::plugin::types::*;
use crate::network::outgoing::Outgoing;
use anyhow::{Result, anyhow};
use std::borrow::Cow;
use std::mem;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// A client: any number of calls at the same time, from any number of tasks. Clones are the same
/// client, as cheap as a pointer.
///
/// It belongs to the tokio runtime of its first call: its requests and its clock are tasks of that
/// runtime, also those for callers elsewhere, and wait while nobody drives it. When the runtime
/// ends, the calls under way end with an error that says so, a create that was sent with
/// `permanent-outcome-unknown`; the next call takes the client to its own runtime.
///
/// A call whose future is dropped ends with its request. An answer that is already here counts: if
/// it says that something was created, a warning in the log has the id.
#[derive(Clone)]
pub struct Client {
    driver: Arc<Driver>,
    places: Arc<Semaphore>,
}

impl Client {
    pub(crate) fn new(guest: &StepsGuest, settings: InstanceSettings) -> Result<Self> {
        let places = Semaphore::new(settings.limits.calls.get().min(Semaphore::MAX_PERMITS));
        Ok(Self {
            driver: Driver::new(guest, settings)?,
            places: places.into(),
        })
    }

    /// Gives it another way out, for requests that begin from now on.
    pub(crate) fn set_outgoing(&self, outgoing: Outgoing) {
        self.driver.set_outgoing(outgoing);
    }

    /// The component.
    pub(crate) fn guest(&self) -> &StepsGuest {
        self.driver.guest()
    }

    /// How many instances were lost to traps.
    pub(crate) fn lost(&self) -> usize {
        self.driver.lost()
    }

    /// The memory of its present instance.
    pub(crate) fn memory(&self) -> Option<MemoryBytes> {
        self.driver.memory()
    }

    /// How large the linear memory of its instance is. It never shrinks, so that this is also the
    /// most that all its calls together ever used.
    pub fn memory_bytes(&self) -> usize {
        self.memory().map_or(0, |memory| memory.get())
    }

    pub(crate) async fn call(
        &self,
        function: impl Into<Cow<'static, str>>,
        call: Call,
        options: Option<CallOptions>,
    ) -> Result<Outcome> {
        let _place = self.places.acquire().await?;
        let (teller, outcome) = oneshot::channel();
        // Dropped after `waiting`, which is notified then.
        let mut told = Told {
            outcome,
            call: None,
        };
        let waiting = self.begin(function, call, options, Teller::Lone(teller));
        told.call = waiting.call();
        let outcome = (&mut told.outcome).await;
        waiting.has_heard();
        outcome.map_err(|_| anyhow!("the client is gone"))?
    }

    fn begin(
        &self,
        function: impl Into<Cow<'static, str>>,
        call: Call,
        options: Option<CallOptions>,
        teller: Teller,
    ) -> Waiting {
        let caller = Caller::of(function);
        let in_flight = caller.call().clone();
        let operation = self.driver.begin(call, options, in_flight, teller);
        Waiting {
            caller: Some(caller),
            driver: self.driver.clone(),
            operation,
        }
    }
}

/// Somebody waits for an operation. Dropped before the end has been heard, it abandons it.
struct Waiting {
    caller: Option<Caller>,
    driver: Arc<Driver>,
    operation: u64,
}

/// What a caller gets. Where it is gone, the log has the id.
struct Told {
    outcome: oneshot::Receiver<Result<Outcome>>,
    call: Option<Arc<InFlight>>,
}

impl Drop for Told {
    fn drop(&mut self) {
        // From now on, results are logged where they are reported.
        self.outcome.close();
        if let (Ok(Ok(unheard)), Some(call)) = (self.outcome.try_recv(), &self.call) {
            log_created(&unheard, call);
        }
    }
}

/// Results of a batch that are not handed over yet.
struct Gathered {
    results: Vec<Option<DocketResult>>,
    call: Option<Arc<InFlight>>,
}

impl Drop for Gathered {
    fn drop(&mut self) {
        for created in self.results.iter().flatten().flatten() {
            if let Some(call) = &self.call {
                call.tell_created(&created.docket_id);
            }
        }
    }
}

impl Waiting {
    fn call(&self) -> Option<Arc<InFlight>> {
        self.caller.as_ref().map(|caller| caller.call().clone())
    }

    fn has_heard(mut self) {
        if let Some(caller) = self.caller.take() {
            caller.has_heard();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(caller) = self.caller.take() {
            // From then on nothing of it is sent, and the log counts what was.
            drop(caller);
            self.driver.abandon(self.operation);
        }
    }
}

/// The answer to a call, which is of the call's kind.
macro_rules! answer {
    ($outcome:expr, $kind:ident) => {
        match $outcome {
            Ok(Answer::$kind(answer)) => Ok(Ok(answer)),
            Ok(other) => Err(anyhow!(
                "the component returned the result of another function: {other:?}"
            )),
            Err(error) => Ok(Err(error)),
        }
    };
}

impl Client {
    /// `agents.create-agent`
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
        options: Option<CallOptions>,
    ) -> Called<CreatedAgent> {
        let call = Call::CreateAgent(config.clone());
        answer!(
            self.call("agents.create-agent", call, options).await?,
            CreateAgent
        )
    }

    /// `agents.list-agents`
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Called<AgentList> {
        let call = Call::ListAgents(organization_id.to_owned());
        answer!(
            self.call("agents.list-agents", call, options).await?,
            ListAgents
        )
    }

    /// `calls.make-call`
    pub async fn make_call(
        &self,
        request: &CallRequest,
        options: Option<CallOptions>,
    ) -> Called<StartedCall> {
        let call = Call::MakeCall(request.clone());
        answer!(self.call("calls.make-call", call, options).await?, MakeCall)
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(
        &self,
        task_id: &str,
        options: Option<CallOptions>,
    ) -> Called<CallDetailsList> {
        let call = Call::GetCallDetails(task_id.to_owned());
        answer!(
            self.call("calls.get-call-details", call, options).await?,
            GetCallDetails
        )
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Called<CallDetailsWait> {
        let call = Call::WaitForCallDetails((task_id.to_owned(), wait));
        answer!(
            self.call("calls.wait-for-call-details", call, options)
                .await?,
            WaitForCallDetails
        )
    }

    /// `dockets.create-docket`
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
        options: Option<CallOptions>,
    ) -> Called<CreatedDocket> {
        let call = Call::CreateDocket(request.clone());
        answer!(
            self.call("dockets.create-docket", call, options).await?,
            CreateDocket
        )
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
        options: Option<CallOptions>,
    ) -> Called<CreatedDocketV2> {
        let call = Call::CreateDocketV2(request.clone());
        answer!(
            self.call("dockets.create-docket-v2", call, options).await?,
            CreateDocketV2
        )
    }

    /// `dockets.get-docket`
    pub async fn get_docket(
        &self,
        docket_id: &str,
        options: Option<CallOptions>,
    ) -> Called<Docket> {
        let call = Call::GetDocket(docket_id.to_owned());
        answer!(
            self.call("dockets.get-docket", call, options).await?,
            GetDocket
        )
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &self,
        docket_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Called<DocketWait> {
        let call = Call::WaitForDocket((docket_id.to_owned(), wait));
        answer!(
            self.call("dockets.wait-for-docket", call, options).await?,
            WaitForDocket
        )
    }

    /// `bulk.create-dockets-v2`, its results in the order of the requests. If the instance ends in
    /// the middle, results that were known are among them; a request that was under way is
    /// `permanent-outcome-unknown`, one that had not begun is `execution-failed`.
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<Vec<DocketResult>> {
        let begun = self.begin_dockets_v2(requests, timeout_ms, options).await?;
        let mut batch = match begun {
            Ok(batch) => batch,
            Err(error) => return Ok(Err(error)),
        };
        // Those that nobody will read are in the log.
        let mut gathered = Gathered {
            results: vec![None; requests.len()],
            call: batch.call(),
        };
        while let Some(result) = batch.next().await {
            let BatchResult { index, outcome } = result?;
            if let Some(place) = gathered.results.get_mut(index as usize) {
                *place = Some(outcome);
            }
        }
        let missing = || anyhow!("the component gave no result for a request of a batch");
        let results = mem::take(&mut gathered.results).into_iter();
        let results = results.map(|result| result.ok_or_else(missing));
        results.collect::<Result<_>>().map(Ok)
    }

    /// `bulk.create-dockets-v2`, its results one by one. A reader that is slow holds up no
    /// request.
    pub async fn begin_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Called<Batch> {
        let place = self.places.clone().acquire_owned().await?;
        let (reader, told) = mpsc::unbounded_channel();
        let is_told = vec![false; requests.len()];
        let call = Call::CreateDocketsV2((requests.to_owned(), timeout_ms));
        let teller = Teller::Batch { reader, is_told };
        let waiting = self.begin(CREATE_DOCKETS_V2, call, options, teller);
        Batch::begun(told, waiting, place).await
    }

    /// `webhooks.parse-docket-completed`
    pub async fn parse_docket_completed(&self, body: &str) -> Called<Option<DocketCompleted>> {
        self.driver.parse_docket_completed(body)
    }

    /// `webhooks.verify-docket-completed`
    pub async fn verify_docket_completed(
        &self,
        body: &str,
        options: Option<CallOptions>,
    ) -> Called<Verification> {
        let call = Call::VerifyDocketCompleted(body.to_owned());
        answer!(
            self.call("webhooks.verify-docket-completed", call, options)
                .await?,
            VerifyDocketCompleted
        )
    }
}
