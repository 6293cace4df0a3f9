//! The client, whose operations are promises of JSON. What it takes is checked by JavaScript.

use crate::batch::NativeBatch;
use crate::errors::{configuration_error, thrown};
use crate::ledger::NativeLedger;
use crate::logs::{self, Log};
use crate::outcome::Outcome;
use crate::question::{Asked, NativeQuestion};
use crate::records::{read_json, write_created, write_outcome};
use crate::runtime::Threads;
use crate::testing::NativeService;
use napi::bindgen_prelude::{Buffer, Either, FnArgs, Function, Object};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use tracing::Dispatch;
use tracing::dispatcher;
use tracing::instrument::WithSubscriber;
use voice_calling::{Cancellation, Client, Wait};

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

/// The options of connections.
#[napi(object, object_to_js = false)]
pub struct Connections {
    /// A URL, or `false`.
    pub proxy: Option<Either<bool, String>>,
    pub authorities: Option<Buffer>,
    pub client_certificate: Option<Buffer>,
    pub headers: HashMap<String, String>,
}

/// The options of an operation.
#[derive(Deserialize)]
struct Options {
    account: Option<String>,
    max_retries: Option<u32>,
    /// Of a wait or a batch as a whole.
    timeout_ms: Option<u32>,
    poll_timeout_ms: Option<u32>,
    request_timeout_ms: Option<u32>,
    key: Option<String>,
    not_found_is_pending: Option<bool>,
}

fn milliseconds(ms: Option<u32>) -> Duration {
    Duration::from_millis(ms.unwrap_or_default().into())
}

#[napi]
impl NativeClient {
    #[napi(constructor)]
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        env: Env,
        settings: HashMap<String, String>,
        connections: Connections,
        ledger: Option<&NativeLedger>,
        logger: Option<Listener<'_>>,
        on_attempt: Option<Listener<'_>>,
        service: Option<&NativeService>,
    ) -> Result<Self> {
        let threads = Threads::of(&env)?;
        let is_verbose = logger.is_some() || settings.contains_key("LOG");
        // What logs first where no client's subscriber is set would be silent from then on if there
        // was one subscriber alone. It fails if an earlier client has set it.
        let _ = dispatcher::set_global_default(Log::new(None, threads.clone())?.dispatch(false));
        let dispatch = Log::new(logger, threads.clone())?.dispatch(is_verbose);
        let settings = settings.iter();
        let mut builder = settings.fold(Client::builder(), |builder, (name, value)| {
            builder.setting(name, value)
        });
        builder = match &connections.proxy {
            Some(Either::A(_)) => builder.no_proxy(),
            Some(Either::B(url)) => builder.proxy(url),
            None => builder,
        };
        if let Some(pem) = connections.authorities {
            builder = builder.authorities(pem);
        }
        if let Some(pem) = connections.client_certificate {
            builder = builder.client_certificate(pem);
        }
        for (name, value) in &connections.headers {
            builder = builder.header(name, value);
        }
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
        Ok(Self {
            client: RefCell::new(Some(client.map_err(|error| thrown(&error))?)),
            dispatch,
            threads,
        })
    }

    /// Begins an operation, and returns the promise of its outcome: `{"ok": …}` or
    /// `{"failure": …}`.
    #[napi]
    pub fn begin<'env>(
        &self,
        env: &'env Env,
        operation: String,
        argument: String,
        options: String,
        cancellation: Option<&NativeCancellation>,
    ) -> Result<Object<'env>> {
        let options: Options = read_json(&options);
        let mut wait = Wait::within(milliseconds(options.timeout_ms));
        if let Some(is_pending) = options.not_found_is_pending {
            wait = wait.not_found_is_pending(is_pending);
        }
        let deadline_ms = match operation.as_str() {
            "waitForCall" | "waitForDocket" => options.poll_timeout_ms,
            _ => options.timeout_ms,
        };
        let client = self.with(options, deadline_ms, cancellation)?;
        let log = self.dispatch.clone();
        let operation = async move {
            let json = outcome(client, &operation, &argument, wait).await;
            match operation.as_str() {
                "createAgent" | "makeCall" | "createDocket" | "createDocketV1" => {
                    Outcome::of_create(json, log, argument)
                }
                _ => json.into(),
            }
        };
        let operation = operation.with_subscriber(self.dispatch.clone());
        self.threads.promise(env, operation)
    }

    /// Begins a batch, whose requests a function supplies, and whose results JavaScript asks for.
    #[napi]
    pub fn begin_batch(
        &self,
        options: String,
        supply: Function<'_, FnArgs<(NativeQuestion,)>, ()>,
        cancellation: &NativeCancellation,
    ) -> Result<NativeBatch> {
        let supply = Asked::new(&supply)?;
        let options: Options = read_json(&options);
        let timeout = milliseconds(options.timeout_ms);
        let deadline_ms = options.request_timeout_ms;
        let client = self.with(options, deadline_ms, Some(cancellation))?;
        let _entered = self.threads.handle.enter();
        let batch = dispatcher::with_default(&self.dispatch, || {
            NativeBatch::begin(&client, timeout, supply, self.threads.clone())
        });
        batch.map_err(|error| thrown(&error))
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
        options: Options,
        deadline_ms: Option<u32>,
        cancellation: Option<&NativeCancellation>,
    ) -> Result<Client> {
        let client = self.client.borrow().clone();
        let closed =
            || configuration_error("client", "a client that is closed", "one that is open");
        let mut client = client.ok_or_else(|| thrown(&closed()))?;
        if deadline_ms.is_some() {
            client = client.with_deadline(milliseconds(deadline_ms));
        }
        if let Some(max_retries) = options.max_retries {
            client = client.with_max_attempts(max_retries + 1);
        }
        if let Some(account) = options.account {
            client = client.with_account(account);
        }
        if let Some(key) = options.key {
            client = client.with_key(key);
        }
        if let Some(cancellation) = cancellation {
            client = client.with_cancellation(&cancellation.0);
        }
        Ok(client)
    }
}

/// Runs an operation. `argument` is an id, the body of a delivery, or a request as JSON.
async fn outcome(client: Client, operation: &str, argument: &str, wait: Wait) -> String {
    match operation {
        "createAgent" => write_created(client.create_agent(&read_json(argument)).await),
        "makeCall" => write_created(client.make_call(&read_json(argument)).await),
        "createDocket" => write_created(client.create_docket_v2(&read_json(argument)).await),
        "createDocketV1" => write_created(client.create_docket(&read_json(argument)).await),
        "listAgents" => write_outcome(client.list_agents(argument).await),
        "getCall" => write_outcome(client.get_call_details(argument).await),
        "getDocket" => write_outcome(client.get_docket(argument).await),
        "waitForCall" => write_outcome(client.wait_for_call_details(argument, wait).await),
        "waitForDocket" => write_outcome(client.wait_for_docket(argument, wait).await),
        "verify" => write_outcome(client.verify_docket_completed(argument).await),
        unknown => unreachable!("{unknown}"),
    }
}
