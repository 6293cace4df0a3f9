//! A realistic mock of the voice-calling service: a library for tests in Rust, and the program
//! `voice-calling-mock`.
//!
//! It follows the specification's endpoints and states, and makes a phone "ring" only in a list. It
//! keeps the newest 32 MiB of requests and 128 MiB of dockets and calls. Behaviour that the
//! specification leaves open is marked "invented". [`Control`] serves a
//! page on which calls can be answered, and an API for tests in other languages.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use voice_calling_mock::{Endpoint, Fault, MockService, Options};
//!
//! let mock = MockService::start(Options::default()).await?;
//! mock.on_next(Endpoint::CreateDocketV2, Fault::created_then(503));
//! // … a client creates a docket at mock.base_url() with mock.token() …
//! assert_eq!(mock.phones_rung(), ["910000000000"]);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod agent;
mod answer;
mod body;
mod call;
mod clock;
mod control;
mod creation;
mod delivery;
mod exchange;
mod fault;
mod number;
mod options;
mod rate;
mod report;
mod request;
mod service;
mod state;
mod task;

use std::fmt;
use std::future::IntoFuture;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use axum::serve::ListenerExt;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;

use self::delivery::Webhook;
use self::service::Service;
use self::task::Task;

pub use self::agent::Agent;
pub use self::answer::Answer;
pub use self::call::{CallStatus, Scripts};
pub use self::control::Control;
pub use self::creation::RepeatedExternalId;
pub use self::delivery::Delivery;
pub use self::fault::{Fault, FaultOrder, REQUEST_FAULTS, WEBHOOK_FAULTS};
pub use self::number::{Effect, TEST_NUMBERS};
pub use self::options::{Options, Pace};
pub use self::rate::RateLimit;
pub use self::request::{Endpoint, ReceivedRequest, RequestDetails, RequestLine};
pub use self::state::Changes;
pub use self::task::{Entry, EntryDetails, Moment, RingingAttempt};

/// A running mock of the service, in its own thread. Dropping it stops everything: its port then
/// refuses connections (unless another process takes it at once).
pub struct MockService {
    address: SocketAddr,
    service: Arc<Service>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for MockService {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MockService")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for MockService {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the service was printed, and shows as missing answers.
            _ = thread.join();
        }
    }
}

/// Serves until stopped, then ends every connection and delivery.
fn serve(
    runtime: Runtime,
    listener: TcpListener,
    service: Arc<Service>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        // Without delay, since an answer is one write.
        let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
        tokio::select! {
            _ = axum::serve(listener, service.clone().router()).into_future() => {}
            () = service.keep_time() => {}
            _ = stopped => {}
        }
    });
    runtime.shutdown_background();
}

impl MockService {
    /// Starts a mock.
    ///
    /// # Errors
    /// Fails if the address is not available, the webhook's URL is not an `http` URL on this machine
    /// or in a private network, a script of calls is empty, or there is no token.
    pub async fn start(options: Options) -> Result<Self> {
        let scripts_are_complete = options.scripts.are_complete();
        ensure!(scripts_are_complete, "a script of calls is empty");
        let tokens = &options.tokens;
        let has_tokens = !tokens.is_empty() && tokens.iter().all(|token| !token.is_empty());
        ensure!(
            has_tokens,
            "{} tokens are given; allowed: at least one, none of them empty",
            tokens.len()
        );
        let webhook = options.webhook.as_ref();
        let webhook = webhook.map(|url| Webhook::at(url)).transpose()?;
        let listener = TcpListener::bind(options.address)
            .with_context(|| format!("cannot listen on {}", options.address))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        // The runtime is its own, so that it is independent of the user's clock and threads.
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let service = Arc::new(Service::new(options, webhook, runtime.handle().clone()));
        let (stop, stopped) = oneshot::channel();
        let served = service.clone();
        let thread = thread::Builder::new().name("mock".to_owned());
        let thread = thread.spawn(move || serve(runtime, listener, served, stopped))?;
        Ok(Self {
            address,
            service,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address at which the mock listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the mock for clients on this machine, such as `http://127.0.0.1:PORT`,
    /// without a path.
    pub fn base_url(&self) -> String {
        local_url(self.address)
    }

    /// Returns the time since the start, on the clock of [`ReceivedRequest::at`].
    pub fn uptime(&self) -> Duration {
        self.service.clock().uptime()
    }

    /// Returns the token, the first one if there are several.
    pub fn token(&self) -> String {
        self.service.state().options.tokens[0].clone()
    }

    /// Returns the time of the mock's clock.
    pub fn now(&self) -> SystemTime {
        self.service.clock().now()
    }

    /// Advances the mock's clock: calls end, held answers are sent and late notifications leave as
    /// if the time had passed. The calls have ended when this returns.
    ///
    /// # Errors
    /// Fails if the clock would be more than 100 years ahead.
    pub fn advance(&self, by: Duration) -> Result<()> {
        self.service.clock().advance(by)?;
        self.service.state().changed();
        self.service.pass_time();
        Ok(())
    }

    /// Forgets dockets, calls, requests, deliveries, created agents and ordered faults. Numbers of
    /// requests continue, and so does the clock.
    pub fn reset(&self) {
        self.service.reset();
    }

    /// Orders a fault for the next request to `endpoint` that has none yet. Several orders apply
    /// one after another.
    pub fn on_next(&self, endpoint: Endpoint, fault: Fault) {
        let endpoint = Some(endpoint);
        self.order(FaultOrder { endpoint, fault });
    }

    /// Orders a fault for the next request to its endpoint, or the next notification, that has none
    /// yet.
    pub fn order(&self, order: FaultOrder) {
        self.service.state().orders().push(order);
    }

    /// Cancels all orders that have not been executed yet, which [`Changes::orders`] lists.
    pub fn clear_orders(&self) {
        self.service.state().orders().clear();
    }

    /// Returns the requests so far that are kept, in order, faults included.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        let state = self.service.state();
        let requests = state.requests.iter();
        requests.map(|request| request.received.clone()).collect()
    }

    /// Returns the requests to one endpoint so far that are kept, in order.
    pub fn requests_to(&self, endpoint: Endpoint) -> Vec<ReceivedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.endpoint == Some(endpoint));
        requests
    }

    /// Returns the numbers of the dockets and direct calls that were started and are kept, in order:
    /// no number must occur twice by accident. The attempts within a docket do not count.
    pub fn phones_rung(&self) -> Vec<String> {
        let state = self.service.state();
        let started = state.tasks.values();
        started
            .map(|task| task.creation.to_phone_number.clone())
            .collect()
    }

    /// Returns how many dockets and direct calls to `number` were started.
    pub fn times_rung(&self, number: &str) -> usize {
        let rung = self.phones_rung().into_iter();
        rung.filter(|started| started == number).count()
    }

    /// Returns the docket whose call context contains `text`, as a person would look for a docket
    /// whose id was lost.
    pub fn docket_with_context(&self, text: &str) -> Option<String> {
        self.service.state().docket_with_context(text)
    }

    /// Makes the next attempt of a docket, or ends a direct call, now, and returns its result.
    ///
    /// # Errors
    /// Fails if the docket or call does not exist or has no further attempt.
    pub fn place_next_call(&self, id: &str) -> Result<CallStatus> {
        let outcome = id.parse().ok().and_then(|id| self.service.step(id));
        outcome.with_context(|| format!("no call is left to be made for {id}"))
    }

    /// Makes all remaining attempts of a docket now, and returns their results.
    ///
    /// # Errors
    /// Fails if the docket does not exist or has no further attempt.
    pub fn complete_docket(&self, docket_id: &str) -> Result<Vec<CallStatus>> {
        let mut outcomes = vec![self.place_next_call(docket_id)?];
        while let Ok(outcome) = self.place_next_call(docket_id) {
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Sets the base URL of `dashboard_url` (`{base_url}/dockets/{docket_id}`) for dockets that are
    /// answered from now on; without one, the URL leads nowhere.
    fn set_dashboard(&self, base_url: &str) {
        self.service.state().dashboard = Some(base_url.to_owned());
    }

    /// Returns the changes since a sequence number of this run; since 0, everything.
    pub fn changes(&self, since: u64) -> Changes {
        self.service.state().changes(since)
    }

    /// Waits for a change after `since`, which is a sequence number of this run.
    pub async fn changed(&self, since: u64) {
        let mut sequence = self.service.state().sequence();
        let _newest = sequence.wait_for(|newest| *newest > since).await;
    }

    /// Returns a docket or direct call with its history, or `None` if it is unknown.
    pub fn entry(&self, id: &str) -> Option<EntryDetails> {
        self.service.state().task(id).map(Task::details)
    }

    /// Returns the request with this number, from 1, or `None` if it is not kept any more.
    pub fn request(&self, n: usize) -> Option<RequestDetails> {
        self.service.state().request(n).cloned()
    }

    /// Returns the deliveries to the webhook so far that are kept, the newest 32 MiB, in order.
    pub fn deliveries(&self) -> Vec<Delivery> {
        let deliveries = self.service.deliveries();
        let newest = deliveries.borrow().newest.clone();
        newest.into()
    }

    /// Waits until `count` notifications have been sent to the webhook, without a time limit, and
    /// returns those that are kept.
    pub async fn delivered(&self, count: usize) -> Vec<Delivery> {
        let mut deliveries = self.service.deliveries();
        let _enough = deliveries.wait_for(|all| all.count >= count).await;
        self.deliveries()
    }
}

/// Returns the URL of an address for clients on this machine.
fn local_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}
