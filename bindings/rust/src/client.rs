//! The client and its operations.

use crate::Keys;
use crate::batch::{Batch, BatchRequest};
use crate::builder::Builder;
use crate::cancellation::Cancellation;
use crate::clock::Clock;
use crate::error::Error;
use crate::operation::{self, Caller};
use crate::telemetry::{self, operation_span};
use crate::wait::Wait;
use crate::wire::Wire;
use futures_util::{Stream, stream};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::{Instrument, Span};
use voice_calling_core as core;
use voice_calling_core::ledger::Recorded;
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
    pub(crate) clock: Clock,
    options: CallOptions,
    key: Option<Arc<str>>,
    pub(crate) cancellation: Option<Cancellation>,
}

/// The core's client in this crate's environment, with its ledger.
pub(crate) type CoreClient = core::Client<Wire, Keys>;

/// An operation of the core, boxed since it has some kilobytes.
type Operation<'a, R> = Pin<Box<dyn Future<Output = Result<R, Failure>> + Send + 'a>>;

impl Builder {
    /// Creates the client.
    ///
    /// # Errors
    /// Returns an error if a setting is missing or wrong: [`Error::problem`] names its variable.
    ///
    /// # Examples
    /// ```
    /// let error = voice_calling::Client::builder().build().unwrap_err();
    /// assert_eq!(error.problem().unwrap().subject, "VOICE_CALLING_BASE_URL");
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// // With the variables `VOICE_CALLING_BASE_URL` and `VOICE_CALLING_API_TOKEN`:
    /// match voice_calling::Client::from_env() {
    ///     Ok(client) => println!("{client:?}"),
    ///     Err(error) => eprintln!("{error}"), // it names the variable
    /// }
    /// ```
    pub fn from_env() -> Result<Self, Error> {
        Builder::from_env().build()
    }

    /// Returns a builder without settings.
    ///
    /// # Examples
    /// ```
    /// let client = voice_calling::Client::builder()
    ///     .base_url("https://api.example")
    ///     .api_token("token")
    ///     .build()?;
    /// # Ok::<_, voice_calling::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the client with another account for its operations, which is listed in `ACCOUNTS`.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// let error = client.with_account("berlin").list_agents("org-1").await.unwrap_err();
    /// assert!(error.to_string().starts_with("options.account"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_account(&self, account: impl Into<String>) -> Self {
        let mut client = self.clone();
        client.options.account = Some(account.into());
        client
    }

    /// Returns the client with another deadline, 1 ms to a day, for an operation, each item of a
    /// batch and each poll of a wait.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// # service.answer(voice_calling::testing::Answer::silence().repeated());
    /// let client = client.with_deadline(std::time::Duration::from_secs(3));
    /// let error = client.get_call_details("task-1").await.unwrap_err();
    /// assert_eq!(error.kind(), voice_calling::FailureKind::TimedOut);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        let mut client = self.clone();
        client.options.deadline_ms = Some(deadline.as_millis().try_into().unwrap_or(u32::MAX));
        client
    }

    /// Returns the client with another maximum number of attempts, 1 to 100.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// # service.answer(voice_calling::testing::Answer::status(503).repeated());
    /// let error = client.with_max_attempts(2).list_agents("org-1").await.unwrap_err();
    /// assert_eq!(error.attempts().len(), 2);
    /// # Ok(()) }
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("calls.db");
    /// use voice_calling::{DocketRequestV2, Ledger};
    ///
    /// let ledger = Ledger::open(path)?;
    /// let client = service.builder().ledger(ledger).build()?;
    /// let request = DocketRequestV2::new(7, "910000000000");
    /// let first = client.with_key("crm-1").create_docket_v2(&request).await?;
    /// let second = client.with_key("crm-1").create_docket_v2(&request).await?;
    /// assert!(second.from_ledger && second.docket_id == first.docket_id);
    /// # Ok(()) }
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// let config = voice_calling::AgentConfig::new("renewals");
    /// let agent = client.create_agent(&config).await?;
    /// assert_eq!(agent.agent_id, Some(7));
    /// # Ok(()) }
    /// ```
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
    ) -> Result<Recorded<CreatedAgent>, Error> {
        let span = operation_span!("create_agent");
        let future = Box::pin(self.core.create_agent(config, self.options(), self.key()));
        let may_be_duplicate = |it: &CreatedAgent| it.may_be_duplicate;
        self.create("create_agent", span, future, may_be_duplicate)
            .await
    }

    /// Lists the agents of an organization: `GET /api/v1/agents` (endpoint 7).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// let list = client.list_agents("org-1").await?;
    /// assert_eq!(list.agents[0].agent_name.as_deref(), Some("renewals"));
    /// # Ok(()) }
    /// ```
    pub async fn list_agents(&self, organization_id: &str) -> Result<AgentList, Error> {
        let span = operation_span!("list_agents");
        let future = Box::pin(self.core.list_agents(organization_id, self.options()));
        self.run("list_agents", span, future).await
    }

    /// Starts a call, which makes a phone ring: `POST /make_call` (endpoint 2).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// use voice_calling::CallRequest;
    ///
    /// let request = CallRequest::new("renewals", "910000000000");
    /// let call = client.make_call(&request.with_call_context([("name", "Asha")])).await?;
    /// println!("task {}", call.task_id);
    /// # Ok(()) }
    /// ```
    pub async fn make_call(&self, request: &CallRequest) -> Result<Recorded<StartedCall>, Error> {
        let span = operation_span!("make_call");
        let future = Box::pin(self.core.make_call(request, self.options(), self.key()));
        let may_be_duplicate = |it: &StartedCall| it.may_be_duplicate;
        self.create("make_call", span, future, may_be_duplicate)
            .await
    }

    /// Gets the details of a task's calls, as far as they are known: `GET /call_details/{task_id}`
    /// (endpoint 3).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// # let call = voice_calling::CallRequest::new("renewals", "910000000000");
    /// # let task_id = &client.make_call(&call).await?.task_id;
    /// let details = client.get_call_details(task_id).await?;
    /// assert!(details.calls.is_empty()); // not yet
    /// # Ok(()) }
    /// ```
    pub async fn get_call_details(&self, task_id: &str) -> Result<CallDetailsList, Error> {
        let span = operation_span!("get_call_details", task_id = task_id);
        let future = Box::pin(self.core.get_call_details(task_id, self.options()));
        self.run("get_call_details", span, future).await
    }

    /// Polls a task's calls until they are completed or time runs out.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// use std::time::Duration;
    /// use voice_calling::{CallDetailsOutcome, Wait};
    ///
    /// # let call = voice_calling::CallRequest::new("renewals", "910000000000");
    /// # let task_id = &client.make_call(&call).await?.task_id;
    /// let wait = Wait::within(Duration::from_secs(600));
    /// let ended = client.wait_for_call_details(task_id, wait).await?;
    /// assert!(matches!(ended.outcome, CallDetailsOutcome::Completed(_)));
    /// # Ok(()) }
    /// ```
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        wait: Wait,
    ) -> Result<CallDetailsWait, Error> {
        let span = operation_span!("wait_for_call_details", task_id = task_id);
        let options = self.options();
        let future = Box::pin(
            self.core
                .wait_for_call_details(task_id, wait.options, options),
        );
        self.run("wait_for_call_details", span, future).await
    }

    /// Creates a docket in version 1, which makes a phone ring: `POST /api/v1/dockets`
    /// (endpoint 4).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// let request = voice_calling::DocketRequest::new(7, "910000000000");
    /// let docket = client.create_docket(&request).await?;
    /// println!("docket {}", docket.docket_id);
    /// # Ok(()) }
    /// ```
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
    ) -> Result<Recorded<CreatedDocket>, Error> {
        let span = operation_span!("create_docket");
        let future = Box::pin(self.core.create_docket(request, self.options(), self.key()));
        let may_be_duplicate = |it: &CreatedDocket| it.may_be_duplicate;
        self.create("create_docket", span, future, may_be_duplicate)
            .await
    }

    /// Creates a docket in version 2, which makes a phone ring: `POST /api/v2/dockets`
    /// (endpoint 5). The service does not recognise a repeated request by its `external_id`, which
    /// is for the caller's own use.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// use voice_calling::DocketRequestV2;
    ///
    /// let request = DocketRequestV2::new(7, "910000000000")
    ///     .with_external_id("crm-1001")
    ///     .with_call_context(&serde_json::json!({"name": "Asha"}))?;
    /// let docket = client.create_docket_v2(&request).await?;
    /// println!("docket {}", docket.docket_id);
    /// # Ok(()) }
    /// ```
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
    ) -> Result<Recorded<CreatedDocketV2>, Error> {
        let span = operation_span!("create_docket_v2", external_id = &request.external_id);
        let future = Box::pin(
            self.core
                .create_docket_v2(request, self.options(), self.key()),
        );
        let may_be_duplicate = |it: &CreatedDocketV2| it.may_be_duplicate;
        self.create("create_docket_v2", span, future, may_be_duplicate)
            .await
    }

    /// Gets the current state of a docket: `GET /api/v1/dockets/{docket_id}` (endpoint 6).
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// # let request = voice_calling::DocketRequest::new(7, "910000000000");
    /// # let docket_id = &client.create_docket(&request).await?.docket_id;
    /// let docket = client.get_docket(docket_id).await?;
    /// assert_eq!(docket.to_phone_number.as_deref(), Some("910000000000"));
    /// # Ok(()) }
    /// ```
    pub async fn get_docket(&self, docket_id: &str) -> Result<Docket, Error> {
        let span = operation_span!("get_docket", docket_id = docket_id);
        let future = Box::pin(self.core.get_docket(docket_id, self.options()));
        self.run("get_docket", span, future).await
    }

    /// Polls a docket until it is completed or time runs out.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let client = voice_calling::testing::ScriptedService::new().client();
    /// use std::time::Duration;
    /// use voice_calling::{DocketOutcome, Wait};
    ///
    /// # let request = voice_calling::DocketRequest::new(7, "910000000000");
    /// # let docket_id = &client.create_docket(&request).await?.docket_id;
    /// let wait = Wait::within(Duration::from_secs(3600));
    /// let ended = client.wait_for_docket(docket_id, wait).await?;
    /// assert!(matches!(ended.outcome, DocketOutcome::Completed(_)));
    /// # Ok(()) }
    /// ```
    pub async fn wait_for_docket(&self, docket_id: &str, wait: Wait) -> Result<DocketWait, Error> {
        let span = operation_span!("wait_for_docket", docket_id = docket_id);
        let options = self.options();
        let future = Box::pin(self.core.wait_for_docket(docket_id, wait.options, options));
        self.run("wait_for_docket", span, future).await
    }

    /// Returns a batch that creates dockets, at most `MAX_IN_FLIGHT` at a time, once its first result
    /// is read. There may be any number of requests, each alone or with its key: they are taken from
    /// the iterator when they can be sent, and no more are taken while a thousand results are
    /// unread. None is begun later than `timeout` after the start.
    ///
    /// Nothing further is begun after five failures in a row whose [`Error::next_step`] is not
    /// [`Refused`](crate::NextStep::Refused), or 25 of any kind: the rest end as
    /// [`NotBegun`](crate::FailureKind::NotBegun), and may be sent later. At first five are sent at
    /// once, and one more with each success.
    ///
    /// # Errors
    /// Returns an error if the options or the timeout are not allowed, or if there is no tokio
    /// runtime.
    pub fn create_dockets_v2<R: Into<BatchRequest> + 'static>(
        &self,
        requests: impl IntoIterator<Item = R, IntoIter: Send + 'static>,
        timeout: Duration,
    ) -> Result<Batch, Error> {
        let requests = requests.into_iter().map(R::into);
        self.create_dockets_v2_from(stream::iter(requests), timeout)
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
        Batch::new(self, requests, timeout_ms)
    }

    /// Compares a delivery to the webhook with the docket that the service has: a delivery is not
    /// signed, so only data that the service confirms is true.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), voice_calling::Error> {
    /// # let service = voice_calling::testing::ScriptedService::new();
    /// # let client = service.client();
    /// use voice_calling::Verification;
    ///
    /// let body = r#"{
    ///     "docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
    ///     "call_insights": {"call_disposition": "INTERESTED"}
    /// }"#;
    /// # service.answer(voice_calling::testing::Answer::status(200).json(serde_json::json!({
    /// #     "docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "COMPLETED"})));
    /// let verification = client.verify_docket_completed(body).await?;
    /// assert!(matches!(verification, Verification::Confirmed(_)));
    /// # Ok(()) }
    /// ```
    pub async fn verify_docket_completed(&self, body: &str) -> Result<Verification, Error> {
        let span = operation_span!("verify_docket_completed");
        let future = Box::pin(self.core.verify_docket_completed(body, self.options()));
        self.run("verify_docket_completed", span, future).await
    }

    /// Runs an operation in its span, which has the name of its function.
    async fn run<R>(
        &self,
        function: &'static str,
        span: Span,
        operation: Operation<'_, R>,
    ) -> Result<R, Error> {
        runtime()?;
        if let Some(account) = &self.options.account {
            span.record("voice_calling.account", account);
        }
        if let Some(key) = self.key() {
            span.record("voice_calling.key", key);
        }
        let operation = operation::run(self.caller(function), operation);
        let operation = self.clock.clone().watch(operation);
        let result = operation.instrument(span.clone()).await;
        let result = result.map_err(Error::from);
        if let Err(error) = &result {
            telemetry::record_error(&span, error);
        }
        result
    }

    /// Runs a create in its span, and counts how it ended.
    async fn create<R>(
        &self,
        function: &'static str,
        span: Span,
        create: Operation<'_, Recorded<R>>,
        may_be_duplicate: fn(&R) -> bool,
    ) -> Result<Recorded<R>, Error> {
        let result = self.run(function, span.clone(), create).await;
        if let Ok(created) = &result {
            let may_be_duplicate = may_be_duplicate(&created.answer);
            telemetry::record_created(&span, created.from_ledger, may_be_duplicate);
        }
        let failure = result.as_ref().map_err(Error::failure);
        telemetry::count(function, failure, may_be_duplicate);
        result
    }

    pub(crate) fn caller(&self, function: &'static str) -> Caller {
        let (account, key) = (self.options.account.clone(), self.key.clone());
        Caller::new(function, account, key, self.cancellation.clone())
    }

    pub(crate) fn options(&self) -> Option<CallOptions> {
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

/// Returns the current runtime, whose clock and network the operations use.
pub(crate) fn runtime() -> Result<Handle, Error> {
    Handle::try_current().map_err(|error| Error::configuration("runtime", error, "a tokio runtime"))
}
