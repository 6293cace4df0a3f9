//! The client, whose operations are promises of JSON.

use crate::arguments::{self, Fields, read};
use crate::batch::NativeBatch;
use crate::errors::{configuration_error, invalid_input, thrown};
use crate::ledger::NativeLedger;
use crate::logs::{self, Log};
use crate::records::{failure, ok, write_created, write_outcome, write_record};
use crate::runtime::Threads;
use crate::settings::Settings;
use crate::testing::NativeService;
use napi::bindgen_prelude::{FnArgs, Function, Object, Unknown};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use tracing::Dispatch;
use tracing::dispatcher;
use tracing::instrument::WithSubscriber;
use voice_calling::{
    CallDetailsOutcome, Cancellation, Client, DocketOutcome, Error, Failure, FailureKind, NextStep,
    Verification, Wait,
};

/// Cancels an operation: what is known of it is its outcome.
#[napi]
#[derive(Default)]
pub struct NativeCancellation(Cancellation);

#[napi]
impl NativeCancellation {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi]
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// A client, until it is closed.
#[napi]
pub struct NativeClient {
    client: RefCell<Option<Client>>,
    dispatch: Dispatch,
    threads: Threads,
}

/// A function that takes a level, or `attempt`, and a text.
type Listener<'a> = Function<'a, FnArgs<(String, String)>, ()>;

#[napi]
impl NativeClient {
    #[napi(constructor)]
    pub fn new(
        env: Env,
        options: Object<'_>,
        variables: HashMap<String, String>,
        ledger: Option<&NativeLedger>,
        logger: Option<Listener<'_>>,
        on_attempt: Option<Listener<'_>>,
        service: Option<&NativeService>,
    ) -> Result<Self> {
        let threads = Threads::of(&env)?;
        let is_verbose = logger.is_some() || variables.contains_key("VOICE_CALLING_LOG");
        let dispatch = Log::new(logger, threads.clone())?.dispatch(is_verbose);
        let mut settings = Settings::of(&options, variables).map_err(|error| thrown(&error))?;
        let mut builder = settings.builder();
        if let Some(ledger) = ledger {
            builder = builder.ledger(ledger.open().map_err(|error| thrown(&error))?);
        }
        if let Some(on_attempt) = on_attempt {
            builder = logs::on_attempt(builder, &on_attempt)?;
        }
        if let Some(service) = service {
            builder = service.attach(builder);
        }
        let _entered = threads.handle.enter();
        let client = dispatcher::with_default(&dispatch, || builder.build());
        let client = client.map_err(|error| thrown(&settings.explain(error)))?;
        Ok(Self {
            client: RefCell::new(Some(client)),
            dispatch,
            threads,
        })
    }

    /// Begins an operation, and returns the promise of its outcome: `{"ok": …}` or
    /// `{"failure": …}`. Wrong arguments are thrown.
    #[napi]
    pub fn begin<'env>(
        &self,
        env: &'env Env,
        operation: String,
        argument: Unknown<'_>,
        options: Unknown<'_>,
        cancellation: Option<&NativeCancellation>,
    ) -> Result<Object<'env>> {
        let begun = Begun {
            native: self,
            env,
            options,
            cancellation,
        };
        let begun = begun.operation(&operation, argument);
        begun.map_err(|error| thrown(&error))?
    }

    /// Begins a batch, whose requests and results JavaScript asks for one by one.
    #[napi]
    pub fn begin_batch(
        &self,
        options: Unknown<'_>,
        cancellation: &NativeCancellation,
    ) -> Result<NativeBatch> {
        let begin = || {
            let known = [
                "timeoutMs",
                "requestTimeoutMs",
                "maxRetries",
                "account",
                "key",
            ];
            let fields = Fields::of(options, "options", &known)?;
            let client = self.with(&fields, "requestTimeoutMs", Some(cancellation))?;
            let timeout = required_timeout(&fields)?;
            let key_is_external_id = match fields.text("key")?.as_deref() {
                None => false,
                Some("externalId") => true,
                Some(_) => {
                    return Err(invalid_input(
                        "key",
                        "text",
                        "externalId; or in each request",
                    ));
                }
            };
            let _entered = self.threads.handle.enter();
            dispatcher::with_default(&self.dispatch, || {
                NativeBatch::begin(&client, timeout, key_is_external_id, self.threads.clone())
            })
        };
        begin().map_err(|error| thrown(&error))
    }

    /// Releases the connections, and the ledger, without blocking the program.
    #[napi]
    pub fn close(&self) {
        let client = self.client.take();
        self.threads.handle.spawn_blocking(|| drop(client));
    }

    /// Returns the client with the options of a call.
    fn with(
        &self,
        fields: &Fields<'_>,
        timeout: &str,
        cancellation: Option<&NativeCancellation>,
    ) -> std::result::Result<Client, Error> {
        let client = self.client.borrow().clone();
        let closed =
            || configuration_error("client", "a client that is closed", "one that is open");
        let mut client = client.ok_or_else(closed)?;
        if let Some(timeout_ms) = fields.number(timeout, u32::MAX)? {
            client = client.with_deadline(Duration::from_millis(timeout_ms.into()));
        }
        if let Some(max_retries) = fields.number("maxRetries", 99)? {
            client = client.with_max_attempts(max_retries + 1);
        }
        if let Some(account) = fields.text("account")? {
            client = client.with_account(account);
        }
        if let Some(cancellation) = cancellation {
            client = client.with_cancellation(&cancellation.0);
        }
        Ok(client)
    }
}

/// An operation that begins.
struct Begun<'a, 'env> {
    native: &'a NativeClient,
    env: &'env Env,
    options: Unknown<'a>,
    cancellation: Option<&'a NativeCancellation>,
}

type Promise<'env> = std::result::Result<Result<Object<'env>>, Error>;

impl<'env> Begun<'_, 'env> {
    fn operation(&self, name: &str, argument: Unknown<'_>) -> Promise<'env> {
        match name {
            "createAgent" => {
                let (client, config) = (self.creating()?, arguments::agent(argument)?);
                self.run(async move { write_created(client.create_agent(&config).await) })
            }
            "makeCall" => {
                let (client, request) = (self.creating()?, arguments::call(argument)?);
                self.run(async move { write_created(client.make_call(&request).await) })
            }
            "createDocket" => {
                let (client, request) = (self.creating()?, arguments::docket_v2(argument)?);
                self.run(async move { write_created(client.create_docket_v2(&request).await) })
            }
            "createDocketV1" => {
                let (client, request) = (self.creating()?, arguments::docket(argument)?);
                self.run(async move { write_created(client.create_docket(&request).await) })
            }
            "listAgents" => {
                let (client, id) = (self.reading()?, text(argument, "organizationId")?);
                self.run(async move { write_outcome(client.list_agents(&id).await) })
            }
            "getCall" => {
                let (client, id) = (self.reading()?, text(argument, "taskId")?);
                self.run(async move { write_outcome(client.get_call_details(&id).await) })
            }
            "getDocket" => {
                let (client, id) = (self.reading()?, text(argument, "docketId")?);
                self.run(async move { write_outcome(client.get_docket(&id).await) })
            }
            "waitForCall" => {
                let ((client, wait), id) = (self.waiting()?, text(argument, "taskId")?);
                self.run(async move {
                    match client.wait_for_call_details(&id, wait).await {
                        Ok(wait) => match &wait.outcome {
                            CallDetailsOutcome::Completed(calls) => ok(&write_record(calls)),
                            CallDetailsOutcome::Pending(last) => not_completed(last, &wait),
                        },
                        Err(error) => failure(&error),
                    }
                })
            }
            "waitForDocket" => {
                let ((client, wait), id) = (self.waiting()?, text(argument, "docketId")?);
                self.run(async move {
                    match client.wait_for_docket(&id, wait).await {
                        Ok(wait) => match &wait.outcome {
                            DocketOutcome::Completed(docket) => ok(&write_record(docket)),
                            DocketOutcome::Pending(last) => not_completed(last, &wait),
                        },
                        Err(error) => failure(&error),
                    }
                })
            }
            _ => {
                let (client, body) = (self.reading()?, text(argument, "body")?);
                self.run(async move {
                    match client.verify_docket_completed(&body).await {
                        Ok(verification) => ok(&write_verification(&verification)),
                        Err(error) => failure(&error),
                    }
                })
            }
        }
    }

    fn fields(&self, known: &[&str]) -> std::result::Result<Fields<'_>, Error> {
        Fields::of(self.options, "options", known)
    }

    fn reading(&self) -> std::result::Result<Client, Error> {
        let fields = self.fields(&["timeoutMs", "maxRetries", "account"])?;
        self.native.with(&fields, "timeoutMs", self.cancellation)
    }

    fn creating(&self) -> std::result::Result<Client, Error> {
        let fields = self.fields(&["timeoutMs", "maxRetries", "account", "key"])?;
        let client = self.native.with(&fields, "timeoutMs", self.cancellation)?;
        Ok(match fields.text("key")? {
            Some(key) => client.with_key(key),
            None => client,
        })
    }

    fn waiting(&self) -> std::result::Result<(Client, Wait), Error> {
        let known = [
            "timeoutMs",
            "pollTimeoutMs",
            "maxRetries",
            "account",
            "notFoundIsPending",
        ];
        let fields = self.fields(&known)?;
        let mut wait = Wait::within(required_timeout(&fields)?);
        if let Some(is_pending) = fields.boolean("notFoundIsPending")? {
            wait = wait.not_found_is_pending(is_pending);
        }
        let client = self
            .native
            .with(&fields, "pollTimeoutMs", self.cancellation)?;
        Ok((client, wait))
    }

    fn run(&self, operation: impl Future<Output = String> + Send + 'static) -> Promise<'env> {
        let operation = operation.with_subscriber(self.native.dispatch.clone());
        Ok(self.native.threads.promise(self.env, operation))
    }
}

fn required_timeout(fields: &Fields<'_>) -> std::result::Result<Duration, Error> {
    let timeout_ms = fields.number("timeoutMs", u32::MAX)?;
    let missing = || invalid_input("timeoutMs", "nothing", "milliseconds, 1 or more");
    Ok(Duration::from_millis(
        timeout_ms.ok_or_else(missing)?.into(),
    ))
}

fn text(argument: Unknown<'_>, name: &str) -> std::result::Result<String, Error> {
    match argument.get_type() {
        Ok(napi::ValueType::String) => read(argument),
        _ => Err(invalid_input(name, arguments::type_of(&argument), "text")),
    }
}

/// Returns the error of a wait whose time ran out, with the latest state and how the wait went.
fn not_completed<R: Serialize>(last: &Option<R>, wait: &impl Serialize) -> String {
    let wait = serde_json::to_value(wait).unwrap_or_default();
    let error = Error::from(Failure {
        kind: FailureKind::TimedOut,
        next_step: NextStep::RetryLater,
        message: format!(
            "not completed after {} ms and {} polls",
            wait["waited_ms"], wait["polls"]
        ),
        problem: None,
        response: None,
        attempts: Vec::new(),
        may_have_created: false,
    });
    let mut json = failure(&error);
    json.pop();
    let last = last.as_ref().map_or("null".to_owned(), write_record);
    format!(
        r#"{json},"wait":{{"last":{last},"polls":{},"failedPolls":{},"waitedMs":{},"heldBackMs":{}}}}}"#,
        wait["polls"], wait["failed_polls"], wait["waited_ms"], wait["held_back_ms"]
    )
}

fn write_verification(verification: &Verification) -> String {
    let (kind, value) = match verification {
        Verification::NotACompletion => return r#"{"kind":"not-a-completion"}"#.to_owned(),
        Verification::Confirmed(value) => ("confirmed", value),
        Verification::Contradicted(value) => ("contradicted", value),
    };
    let json = write_record(value);
    format!(r#"{{"kind":"{kind}",{}"#, &json[1..])
}
