//! The client and its operations.

use crate::batch::Batch;
use crate::builder::Builder;
use crate::error::Error;
use crate::operation;
use crate::transport::ReqwestTransport;
use crate::wait::Wait;
use std::sync::Arc;
use std::time::Duration;
use tracing::{Instrument, Span, info_span};
use voice_calling_core as core;
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketOutcome, DocketRequest,
    DocketRequestV2, DocketWait, RequestError, StartedCall, Verification,
};

/// A client of the service. Clones are the same client, as cheap as a pointer; any number of tasks,
/// on any number of tokio runtimes, may use it at the same time.
///
/// An operation is a future. Dropping it cancels its request; if that was a create that may have
/// reached the service, a [`tracing`] warning reports it, with the id of what was created if the
/// answer had arrived. The service has no endpoint that cancels a call.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<core::Client<ReqwestTransport>>,
    options: CallOptions,
    #[cfg(feature = "ledger")]
    pub(crate) ledger: Option<crate::ledger::Keys>,
}

impl Builder {
    /// Creates the client.
    ///
    /// # Errors
    /// Returns an error if a setting is missing or wrong: [`Error::problem`] names its variable.
    pub fn build(self) -> Result<Client, Error> {
        #[cfg(feature = "ledger")]
        let ledger = self.ledger.clone();
        let (settings, transport) = self.into_parts()?;
        Ok(Client {
            core: Arc::new(core::Client::new(settings, transport)),
            options: CallOptions {
                account: None,
                deadline_ms: None,
                max_attempts: None,
            },
            #[cfg(feature = "ledger")]
            ledger,
        })
    }
}

impl Client {
    /// Creates a client with the settings of the environment variables `VOICE_CALLING_…`.
    ///
    /// # Errors
    /// Returns an error if a setting is missing or wrong: [`Error::problem`] names the variable.
    pub fn from_env() -> Result<Self, Error> {
        Builder::from_env().build()
    }

    /// Returns a builder without settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the client with another account for its operations, which is listed in `ACCOUNTS`.
    #[must_use]
    pub fn with_account(mut self, account: impl Into<String>) -> Self {
        self.options.account = Some(account.into());
        self
    }

    /// Returns the client with another deadline, 1 ms to a day, for an operation, each item of a
    /// batch and each poll of a wait.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline_ms = Some(deadline.as_millis().try_into().unwrap_or(u32::MAX));
        self
    }

    /// Returns the client with another maximum number of attempts, 1 to 100.
    #[must_use]
    pub fn with_max_attempts(mut self, max_attempts: u32) -> Self {
        self.options.max_attempts = Some(max_attempts);
        self
    }

    /// Creates an agent: `POST /agents/` (API specification, endpoint 1).
    pub async fn create_agent(&self, config: &AgentConfig) -> Result<CreatedAgent, Error> {
        let span = info_span!("create_agent");
        let future = self.core.create_agent(config, self.options());
        run(span, future).await
    }

    /// Lists the agents of an organization: `GET /api/v1/agents` (endpoint 7).
    pub async fn list_agents(&self, organization_id: &str) -> Result<AgentList, Error> {
        let span = info_span!("list_agents");
        let future = self.core.list_agents(organization_id, self.options());
        run(span, future).await
    }

    /// Starts a call, which makes a phone ring: `POST /make_call` (endpoint 2).
    pub async fn make_call(&self, request: &CallRequest) -> Result<StartedCall, Error> {
        let span = info_span!("make_call");
        let future = self.core.make_call(request, self.options());
        run(span, future).await
    }

    /// Gets the details of a task's calls, as far as they are known: `GET /call_details/{task_id}`
    /// (endpoint 3).
    pub async fn get_call_details(&self, task_id: &str) -> Result<CallDetailsList, Error> {
        let span = info_span!("get_call_details", task_id);
        let future = self.core.get_call_details(task_id, self.options());
        run(span, future).await
    }

    /// Polls a task's calls until they are completed or time runs out.
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        wait: Wait,
    ) -> Result<CallDetailsWait, Error> {
        let span = info_span!("wait_for_call_details", task_id);
        let options = self.options();
        let future = self
            .core
            .wait_for_call_details(task_id, wait.options, options);
        run(span, future).await
    }

    /// Creates a docket in version 1, which makes a phone ring: `POST /api/v1/dockets`
    /// (endpoint 4).
    pub async fn create_docket(&self, request: &DocketRequest) -> Result<CreatedDocket, Error> {
        let span = info_span!("create_docket");
        let future = self.core.create_docket(request, self.options());
        run(span, future).await
    }

    /// Creates a docket in version 2, which makes a phone ring: `POST /api/v2/dockets`
    /// (endpoint 5). The service does not recognise a repeated request by its `external_id`, which
    /// is for the caller's own use.
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
    ) -> Result<CreatedDocketV2, Error> {
        let span = info_span!("create_docket_v2", external_id = request.external_id);
        let future = self.core.create_docket_v2(request, self.options());
        run(span, future).await
    }

    /// Gets the current state of a docket: `GET /api/v1/dockets/{docket_id}` (endpoint 6).
    pub async fn get_docket(&self, docket_id: &str) -> Result<Docket, Error> {
        let span = info_span!("get_docket", docket_id);
        let future = self.core.get_docket(docket_id, self.options());
        let docket = run(span, future).await?;
        self.observe(Some(&docket));
        Ok(docket)
    }

    /// Polls a docket until it is completed or time runs out.
    pub async fn wait_for_docket(&self, docket_id: &str, wait: Wait) -> Result<DocketWait, Error> {
        let span = info_span!("wait_for_docket", docket_id);
        let options = self.options();
        let future = self.core.wait_for_docket(docket_id, wait.options, options);
        let waited = run(span, future).await?;
        self.observe(match &waited.outcome {
            DocketOutcome::Completed(docket) => Some(docket),
            DocketOutcome::Pending(docket) => docket.as_ref(),
        });
        Ok(waited)
    }

    /// Creates dockets, at most `MAX_IN_FLIGHT` at a time, in a task of the current tokio runtime,
    /// and returns a stream of the results in the order in which they arrive. There may be any
    /// number of requests: they are taken from the iterator when they can be sent, and no more are
    /// taken while a thousand results are unread. None is begun later than `timeout` from now.
    ///
    /// # Errors
    /// Returns an error if the options or the timeout are not allowed: nothing was sent.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn create_dockets_v2(
        &self,
        requests: impl IntoIterator<Item = DocketRequestV2, IntoIter: Send + 'static>,
        timeout: Duration,
    ) -> Result<Batch, Error> {
        let timeout_ms = timeout.as_millis().try_into().unwrap_or(u32::MAX);
        let requests = requests.into_iter();
        Batch::begin(self.core.clone(), requests, timeout_ms, self.options())
    }

    /// Compares a delivery to the webhook with the docket that the service has: a delivery is not
    /// signed, so only data that the service confirms is true.
    pub async fn verify_docket_completed(&self, body: &str) -> Result<Verification, Error> {
        let span = info_span!("verify_docket_completed");
        let future = self.core.verify_docket_completed(body, self.options());
        let verification = run(span, future).await?;
        self.observe(match &verification {
            Verification::NotACompletion => None,
            Verification::Confirmed(it) | Verification::Contradicted(it) => Some(&it.docket),
        });
        Ok(verification)
    }

    /// Reports a docket to the ledger.
    fn observe(&self, docket: Option<&Docket>) {
        #[cfg(feature = "ledger")]
        if let (Some(ledger), Some(docket)) = (&self.ledger, docket) {
            ledger.observe(docket);
        }
        #[cfg(not(feature = "ledger"))]
        let _ = docket;
    }

    pub(crate) fn options(&self) -> Option<CallOptions> {
        Some(self.options.clone())
    }
}

pub(crate) async fn run<R>(
    span: Span,
    future: impl Future<Output = Result<R, RequestError>>,
) -> Result<R, Error> {
    let outcome = operation::run(future).instrument(span).await;
    outcome.map_err(Error::from)
}
