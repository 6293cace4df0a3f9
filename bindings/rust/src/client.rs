//! The client and its operations.

use crate::Keys;
use crate::batch::{self, Batch, BatchRequest};
use crate::builder::Builder;
use crate::cancellation::Cancellation;
use crate::clock::Clock;
use crate::error::Error;
use crate::operation;
use crate::recorded::Recorded;
use crate::wait::Wait;
use crate::wire::Wire;
use futures_core::Stream;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::{Instrument, Span, info_span};
use voice_calling_core as core;
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, Failure, StartedCall, Verification,
};

/// A client of the service. Clones are the same client, as cheap as a pointer; any number of tasks,
/// on any number of tokio runtimes, may use it at the same time.
///
/// An operation is a future. Dropping it cancels its request; if that was a create that may have
/// reached the service, a [`tracing`] warning reports it, with the id of what was created if the
/// answer had arrived. The service has no endpoint that cancels a call.
///
/// Operations run in a tokio runtime with time and I/O. Without a runtime they return an error,
/// whose [`Error::problem`] is about `runtime`; without time or I/O, tokio panics.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<CoreClient>,
    clock: Clock,
    options: CallOptions,
    key: Option<Arc<str>>,
    cancellation: Option<Cancellation>,
}

/// The core's client in this crate's environment, with its ledger.
pub(crate) type CoreClient = core::Client<Wire, Keys>;

impl Builder {
    /// Creates the client.
    ///
    /// # Errors
    /// Returns an error if a setting is missing or wrong: [`Error::problem`] names its variable.
    pub fn build(self) -> Result<Client, Error> {
        let clock = self.clock.clone();
        let (settings, wire, keys) = self.into_parts()?;
        Ok(Client {
            clock,
            core: Arc::new(core::Client::new(settings, wire, keys)),
            options: CallOptions::default(),
            key: None,
            cancellation: None,
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
    pub fn with_account(&self, account: impl Into<String>) -> Self {
        let mut client = self.clone();
        client.options.account = Some(account.into());
        client
    }

    /// Returns the client with another deadline, 1 ms to a day, for an operation, each item of a
    /// batch and each poll of a wait.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        let mut client = self.clone();
        client.options.deadline_ms = Some(deadline.as_millis().try_into().unwrap_or(u32::MAX));
        client
    }

    /// Returns the client with another maximum number of attempts, 1 to 100.
    #[must_use]
    pub fn with_max_attempts(&self, max_attempts: u32) -> Self {
        let mut client = self.clone();
        client.options.max_attempts = Some(max_attempts);
        client
    }

    /// Returns the client with a key for its creates, which the [`Ledger`](crate::Ledger) of the
    /// client remembers. A create with a key that has succeeded returns the recorded answer, and
    /// sends nothing. One that may have been carried out is not sent again, whatever `CREATE_RETRY`
    /// says, until it is [resolved or released](crate::Ledger::resolve).
    ///
    /// # Errors
    /// Beside its own errors, each create returns these, and has sent nothing then:
    /// - `Configuration` if the client has no ledger, or it cannot be used. [`Error::problem`] is
    ///   about `ledger`.
    /// - `InvalidInput` if the key is of another request, or is not allowed: it is empty, contains a
    ///   control or format character, or begins or ends with space. [`Error::problem`] is about
    ///   `key`.
    /// - `OutcomeUnknown` if a create with the key may have been carried out. If that one is still
    ///   in progress, [`Error::problem`] is about `key`; otherwise there is none.
    ///
    /// If the future of a create is dropped after its request may have been sent, the outcome is
    /// unknown.
    #[cfg(feature = "ledger")]
    #[must_use]
    pub fn with_key(&self, key: impl Into<Arc<str>>) -> Self {
        let mut client = self.clone();
        client.key = Some(key.into());
        client
    }

    /// Returns the client with operations that can be cancelled, and still return their outcome. Once
    /// they are cancelled, nothing is sent, and they return at once: what has arrived, or an error.
    /// It is `OutcomeUnknown` if a create may have been carried out; after any other error nothing
    /// was created. Open requests of a batch are finished, and those that it has not begun end as
    /// `NotBegun`.
    #[must_use]
    pub fn with_cancellation(&self, cancellation: &Cancellation) -> Self {
        let mut client = self.clone();
        client.cancellation = Some(cancellation.clone());
        client
    }

    /// Creates an agent: `POST /agents/` (API specification, endpoint 1).
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
    ) -> Result<Recorded<CreatedAgent>, Error> {
        let span = info_span!("create_agent");
        let future = self.core.create_agent(config, self.options(), self.key());
        self.run(span, future).await.map(Recorded::from)
    }

    /// Lists the agents of an organization: `GET /api/v1/agents` (endpoint 7).
    pub async fn list_agents(&self, organization_id: &str) -> Result<AgentList, Error> {
        let span = info_span!("list_agents");
        let future = self.core.list_agents(organization_id, self.options());
        self.run(span, future).await
    }

    /// Starts a call, which makes a phone ring: `POST /make_call` (endpoint 2).
    pub async fn make_call(&self, request: &CallRequest) -> Result<Recorded<StartedCall>, Error> {
        let span = info_span!("make_call");
        let future = self.core.make_call(request, self.options(), self.key());
        self.run(span, future).await.map(Recorded::from)
    }

    /// Gets the details of a task's calls, as far as they are known: `GET /call_details/{task_id}`
    /// (endpoint 3).
    pub async fn get_call_details(&self, task_id: &str) -> Result<CallDetailsList, Error> {
        let span = info_span!("get_call_details", task_id);
        let future = self.core.get_call_details(task_id, self.options());
        self.run(span, future).await
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
        self.run(span, future).await
    }

    /// Creates a docket in version 1, which makes a phone ring: `POST /api/v1/dockets`
    /// (endpoint 4).
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
    ) -> Result<Recorded<CreatedDocket>, Error> {
        let span = info_span!("create_docket");
        let future = self.core.create_docket(request, self.options(), self.key());
        self.run(span, future).await.map(Recorded::from)
    }

    /// Creates a docket in version 2, which makes a phone ring: `POST /api/v2/dockets`
    /// (endpoint 5). The service does not recognise a repeated request by its `external_id`, which
    /// is for the caller's own use.
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
    ) -> Result<Recorded<CreatedDocketV2>, Error> {
        let span = info_span!("create_docket_v2", external_id = request.external_id);
        let future = self
            .core
            .create_docket_v2(request, self.options(), self.key());
        self.run(span, future).await.map(Recorded::from)
    }

    /// Gets the current state of a docket: `GET /api/v1/dockets/{docket_id}` (endpoint 6).
    pub async fn get_docket(&self, docket_id: &str) -> Result<Docket, Error> {
        let span = info_span!("get_docket", docket_id);
        let future = self.core.get_docket(docket_id, self.options());
        self.run(span, future).await
    }

    /// Polls a docket until it is completed or time runs out.
    pub async fn wait_for_docket(&self, docket_id: &str, wait: Wait) -> Result<DocketWait, Error> {
        let span = info_span!("wait_for_docket", docket_id);
        let options = self.options();
        let future = self.core.wait_for_docket(docket_id, wait.options, options);
        self.run(span, future).await
    }

    /// Creates dockets, at most `MAX_IN_FLIGHT` at a time, in a task of the current tokio runtime,
    /// and returns a stream of the results in the order in which they arrive. There may be any
    /// number of requests, each alone or with its key: they are taken from the iterator when they
    /// can be sent, and no more are taken while a thousand results are unread. None is begun later
    /// than `timeout` from now.
    ///
    /// Nothing further is begun after five failures in a row whose [`Error::next_step`] is not
    /// [`Refused`](crate::NextStep::Refused), or 25 of any kind: the rest end as
    /// [`NotBegun`](crate::FailureKind::NotBegun), and may be sent later. At first five are sent at
    /// once, and one more with each success.
    ///
    /// # Errors
    /// Returns an error if the options or the timeout are not allowed, or if there is no tokio
    /// runtime: nothing was sent.
    pub fn create_dockets_v2<R: Into<BatchRequest> + 'static>(
        &self,
        requests: impl IntoIterator<Item = R, IntoIter: Send + 'static>,
        timeout: Duration,
    ) -> Result<Batch, Error> {
        let requests = requests.into_iter().map(R::into);
        self.create_dockets_v2_from(batch::Iterated(requests), timeout)
    }

    /// Creates dockets as [`create_dockets_v2`](Self::create_dockets_v2) does, of requests that a
    /// stream yields.
    ///
    /// # Errors
    /// Returns the same errors.
    pub fn create_dockets_v2_from(
        &self,
        requests: impl Stream<Item = BatchRequest> + Send + 'static,
        timeout: Duration,
    ) -> Result<Batch, Error> {
        let timeout_ms = timeout.as_millis().try_into().unwrap_or(u32::MAX);
        check_runtime()?;
        Batch::begin(
            self.core.clone(),
            &self.clock,
            requests,
            timeout_ms,
            self.options(),
            self.cancellation.clone(),
        )
    }

    /// Compares a delivery to the webhook with the docket that the service has: a delivery is not
    /// signed, so only data that the service confirms is true.
    pub async fn verify_docket_completed(&self, body: &str) -> Result<Verification, Error> {
        let span = info_span!("verify_docket_completed");
        let future = self.core.verify_docket_completed(body, self.options());
        self.run(span, future).await
    }

    async fn run<R>(
        &self,
        span: Span,
        future: impl Future<Output = Result<R, Failure>>,
    ) -> Result<R, Error> {
        check_runtime()?;
        let operation = operation::run(self.cancellation.clone(), true, future);
        let operation = self.clock.watch(operation);
        operation.instrument(span).await.map_err(Error::from)
    }

    fn options(&self) -> Option<CallOptions> {
        Some(self.options.clone())
    }

    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// Shows neither settings nor tokens.
impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Client")
            .field("options", &self.options)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Checks that there is a runtime, whose clock and network the operations use.
fn check_runtime() -> Result<(), Error> {
    Handle::try_current().map(drop).map_err(|error| {
        let problem = core::problem("runtime", error.to_string(), "a tokio runtime");
        core::configuration_failure(problem).into()
    })
}
