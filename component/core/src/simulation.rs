//! A service and a clock that exist only in memory: the service follows a script, and hours pass in
//! no time.

use crate::attempt::{BodyEnd, ReceivedResponse};
use crate::ledger::{
    Claim, Claimed, Entry, Event, Ledger, NoLedger, ObservedDocket, Outcome, Reply,
    State as KeyState, transition,
};
use crate::settings::AccountSettings;
use crate::transport::{Delivery, Limits, Request, Response, SendError, Transport};
use crate::types::{CallOptions, Docket, Failure};
use crate::{Client, Settings};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

/// The date at which every simulation begins: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const START_UNIX_S: u64 = 784_111_777;

/// The docket of the tests.
pub(crate) const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// The service's response to one request: a response or a failure, after `after_ms`.
#[derive(Clone)]
pub(crate) struct Step {
    after_ms: u64,
    /// Whether the request is held back, as one that waits for a connection.
    is_held: bool,
    outcome: Result<Served, Delivery>,
}

/// A response, whose body comes in pieces, each with a delay.
#[derive(Clone)]
struct Served {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: VecDeque<Piece>,
}

#[derive(Clone)]
pub(crate) enum Piece {
    Bytes(u64, Vec<u8>),
    Fail(u64),
}

impl Step {
    fn of(outcome: Result<Served, Delivery>) -> Self {
        Self {
            after_ms: 0,
            is_held: false,
            outcome,
        }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::of(Ok(Served {
            status,
            headers: Vec::new(),
            body: VecDeque::new(),
        }))
    }

    pub(crate) fn fail(delivery: Delivery) -> Self {
        Self::of(Err(delivery))
    }

    /// Never responds.
    pub(crate) fn silence() -> Self {
        Step::fail(Delivery::Unknown).after(u64::MAX)
    }

    /// Never connects.
    pub(crate) fn connecting() -> Self {
        Self {
            is_held: true,
            ..Step::silence()
        }
    }

    pub(crate) fn ok(body: &str) -> Self {
        Step::status(200).with_body(vec![Piece::Bytes(0, body.into())])
    }

    /// Returns the step that a word names: `silence`, how far an unanswered request came, or a
    /// status.
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "silence" => Step::silence(),
            "not-sent" => Step::fail(Delivery::NotSent),
            "connection-timeout" => Step::fail(Delivery::ConnectionTimeout),
            "denied" => Step::fail(Delivery::Denied),
            "refused" => Step::fail(Delivery::Refused),
            "rejected" => Step::fail(Delivery::Rejected),
            "unknown" => Step::fail(Delivery::Unknown),
            status => Step::status(status.parse().expect("a status")),
        }
    }

    /// Returns a rate limit of so many seconds.
    pub(crate) fn limited(seconds: &str) -> Self {
        Step::status(429).with_header("retry-after", seconds)
    }

    pub(crate) fn docket(status: &str) -> Self {
        let json = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"{status}"}}"#);
        Step::ok(&json)
    }

    /// Returns a response whose body breaks off.
    pub(crate) fn broken(status: u16, body: &str) -> Self {
        Step::status(status).with_body(vec![Piece::Bytes(0, body.into()), Piece::Fail(0)])
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(served) = &mut self.outcome {
            served.headers.push((name, value.to_owned()));
        }
        self
    }

    pub(crate) fn with_body(mut self, pieces: Vec<Piece>) -> Self {
        if let Ok(served) = &mut self.outcome {
            served.body = pieces.into();
        }
        self
    }

    pub(crate) fn after(self, after_ms: u64) -> Self {
        Self { after_ms, ..self }
    }
}

fn all_settings(variables: &[(&str, &str)]) -> Settings {
    let required = [
        ("BASE_URL", "https://api.example/voice"),
        ("API_TOKEN", "simulated-token"),
    ];
    let all = required.iter().chain(variables);
    let settings = Settings::from_environment(
        all.map(|(name, value)| (format!("VOICE_CALLING_{name}"), (*value).to_owned())),
    );
    settings.expect("settings of a simulation")
}

/// Returns the settings of the account without a name, with these variables.
pub(crate) fn settings(variables: &[(&str, &str)]) -> AccountSettings {
    let account = all_settings(variables).unnamed;
    account.expect("an account of a simulation")
}

/// Options that change nothing.
pub(crate) const NO_OPTIONS: CallOptions = CallOptions {
    account: None,
    deadline_ms: None,
    max_attempts: None,
};

/// Returns the rows of a table that is written as a text with columns separated by `|`. Lines
/// without one are remarks.
pub(crate) fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let rows = table.lines().filter(|line| line.contains('|'));
    rows.map(|line| {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        columns.try_into().expect(line)
    })
}

/// Asserts that an operation refuses the arguments of each row, which has the one at fault and what
/// was found, and that it sends nothing.
pub(crate) fn assert_refused(
    table: &'static str,
    operation: impl AsyncFn(&Client<World>, &'static str) -> Result<(), Failure>,
) {
    let world = World::default();
    let client = world.client(&[]);
    for [arguments, subject, found] in rows(table) {
        let refused = world.run(operation(&client, arguments));
        let problem = refused.unwrap_err().problem.unwrap();
        assert_eq!((&*problem.subject, &*problem.found), (subject, found));
    }
    assert!(world.sent().is_empty());
}

/// Returns a complete response.
pub(crate) fn received(status: u16, body: &str) -> ReceivedResponse {
    ReceivedResponse {
        status,
        request_id: None,
        retry_after_ms: None,
        location: None,
        content_type: None,
        content_encoding: None,
        body: body.into(),
        body_end: BodyEnd::Complete,
    }
}

thread_local! {
    /// A runtime in which time passes only while all tasks wait.
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
}

/// A time that no test takes.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// The environment of a client. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct World(Rc<State>);

#[derive(Default)]
struct State {
    began: Beginning,
    script: RefCell<VecDeque<Step>>,
    sent: RefCell<Vec<SentRequest>>,
    in_flight: Cell<usize>,
    max_in_flight: Cell<usize>,
    random: Cell<u64>,
    log: RefCell<Vec<String>>,
}

struct Beginning(Instant);

impl Default for Beginning {
    fn default() -> Self {
        Self(RUNTIME.with(now))
    }
}

fn now(runtime: &Runtime) -> Instant {
    let _clock = runtime.enter();
    Instant::now()
}

/// A request that the service received.
#[derive(Debug, Clone)]
pub(crate) struct SentRequest {
    pub(crate) at_ms: u64,
    pub(crate) request: Request,
    pub(crate) limits: Limits,
}

impl World {
    /// Creates a world whose service takes one step after another, and repeats the last one.
    pub(crate) fn with_script(steps: impl IntoIterator<Item = Step>) -> Self {
        let world = World::default();
        world.0.script.borrow_mut().extend(steps);
        world
    }

    /// Sets every random number from now on: 0 makes each pause the shortest possible.
    pub(crate) fn set_random(&self, random: u64) {
        self.0.random.set(random);
    }

    pub(crate) fn sent(&self) -> Vec<SentRequest> {
        self.0.sent.borrow().clone()
    }

    /// Returns when the service received requests.
    pub(crate) fn sent_at_ms(&self) -> Vec<u64> {
        self.0.sent.borrow().iter().map(|sent| sent.at_ms).collect()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        let elapsed = RUNTIME.with(now) - self.0.began.0;
        elapsed.as_millis().try_into().expect("a time of a test")
    }

    /// Returns the highest number of requests in flight at once.
    pub(crate) fn max_in_flight(&self) -> usize {
        self.0.max_in_flight.get()
    }

    pub(crate) fn log_lines(&self) -> Vec<String> {
        self.0.log.borrow().clone()
    }

    pub(crate) fn client(&self, variables: &[(&str, &str)]) -> Client<World> {
        Client::new(all_settings(variables), self.clone(), NoLedger)
    }

    pub(crate) fn client_with(
        &self,
        store: &Store,
        variables: &[(&str, &str)],
    ) -> Client<World, Store> {
        Client::new(all_settings(variables), self.clone(), store.clone())
    }

    /// Runs a future, and lets time pass while all tasks wait.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        let ended = async { timeout(FOREVER, future).await };
        let ended = RUNTIME.with(|runtime| runtime.block_on(ended));
        ended.expect("the future waits for an event that never comes")
    }
}

/// Counts a request as in flight while it lives.
struct InFlight(World);

impl InFlight {
    fn begin(world: &World) -> Self {
        let open = world.0.in_flight.get() + 1;
        world.0.in_flight.set(open);
        world
            .0
            .max_in_flight
            .set(open.max(world.0.max_in_flight.get()));
        Self(world.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.0.in_flight.set(self.0.0.in_flight.get() - 1);
    }
}

impl Transport for World {
    type Response = Simulated;

    async fn send(&self, request: &Request, limits: Limits) -> Result<Simulated, SendError> {
        let open = InFlight::begin(self);
        let sent = SentRequest {
            at_ms: self.now_ms(),
            request: request.clone(),
            limits,
        };
        self.0.sent.borrow_mut().push(sent);
        let step = {
            let mut script = self.0.script.borrow_mut();
            match script.len() {
                0 | 1 => script.front().cloned(),
                _ => script.pop_front(),
            }
        };
        let step = step.expect("a script has a step");
        if step.is_held {
            request.departure.hold();
        }
        self.sleep(step.after_ms).await;
        match step.outcome {
            Ok(served) => Ok(Simulated {
                world: self.clone(),
                served,
                _in_flight: open,
            }),
            Err(delivery) => Err(SendError {
                delivery,
                message: format!("simulated: {delivery:?}"),
            }),
        }
    }

    async fn sleep(&self, duration_ms: u64) {
        sleep(Duration::from_millis(duration_ms)).await;
    }

    fn now_ms(&self) -> u64 {
        self.now_ms()
    }

    fn unix_time_s(&self) -> u64 {
        START_UNIX_S + self.now_ms() / 1000
    }

    fn random(&self) -> u64 {
        self.0.random.get()
    }

    async fn log(&self, line: &str) {
        self.0.log.borrow_mut().push(line.to_owned());
    }
}

/// A ledger in this world, which outlives programs. Clones share it.
#[derive(Clone)]
pub(crate) struct Store(Rc<Stored>);

struct Stored {
    world: World,
    /// How long a write takes. The entry is there after half of it.
    write_ms: Cell<u64>,
    failure: RefCell<Option<String>>,
    entries: RefCell<BTreeMap<String, Entry>>,
}

impl Store {
    pub(crate) fn new(world: &World) -> Self {
        Self(Rc::new(Stored {
            world: world.clone(),
            write_ms: Cell::default(),
            failure: RefCell::default(),
            entries: RefCell::default(),
        }))
    }

    pub(crate) fn set_write_ms(&self, write_ms: u64) {
        self.0.write_ms.set(write_ms);
    }

    pub(crate) fn set_failure(&self, failure: Option<&str>) {
        *self.0.failure.borrow_mut() = failure.map(str::to_owned);
    }

    /// Ends all claims, as time does: programs that were killed have left them.
    pub(crate) fn end_claims(&self) {
        for entry in self.0.entries.borrow_mut().values_mut() {
            entry.claim_ends_ms = 0;
        }
    }

    pub(crate) fn state(&self, key: &str) -> Option<KeyState> {
        let entries = self.0.entries.borrow();
        Some(entries.get(key)?.state_at(self.now_ms()))
    }

    fn now_ms(&self) -> u64 {
        START_UNIX_S * 1_000 + self.0.world.now_ms()
    }

    fn update(&self, key: &str, event: Event<'_>) -> Reply {
        let mut entries = self.0.entries.borrow_mut();
        let (entry, reply) = transition(entries.remove(key), event, self.now_ms());
        entries.extend(entry.map(|entry| (key.to_owned(), entry)));
        reply
    }

    async fn half_write(&self) {
        match self.0.write_ms.get() / 2 {
            0 => {}
            ms => self.0.world.sleep(ms).await,
        }
    }
}

impl Ledger for Store {
    type Claim = String;

    async fn claim(&self, claim: &Claim) -> Claimed<String> {
        self.half_write().await;
        if let Some(failure) = self.0.failure.borrow().clone() {
            return Claimed::Failed(failure);
        }
        let event = Event::Claim {
            function: claim.function,
            digests: &claim.arguments.iter().cloned().collect(),
            claim: "a claim",
            lasts_ms: claim.lasts_ms,
        };
        let reply = self.update(&claim.key, event);
        self.half_write().await;
        match reply {
            Reply::Found(found) => Claimed::Found(found),
            _ => Claimed::Taken(claim.key.clone()),
        }
    }

    async fn record(&self, key: String, outcome: &Outcome) {
        self.half_write().await;
        let claim = "a claim";
        self.update(&key, Event::Record { claim, outcome });
        self.half_write().await;
    }

    fn observe(&self, docket: &Docket) {
        let Some(docket) = ObservedDocket::of(docket) else {
            return;
        };
        for key in &docket.keys {
            let event = Event::Observe {
                docket: &docket,
                to_phone_number: &docket.to_phone_number,
                is_of_another_key: false,
            };
            self.update(key, event);
        }
    }
}

pub(crate) struct Simulated {
    world: World,
    served: Served,
    _in_flight: InFlight,
}

impl Response for Simulated {
    fn status(&self) -> u16 {
        self.served.status
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.served.headers.iter();
        headers.map(|(name, value)| (*name, value.as_bytes()))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self.served.body.pop_front() {
            None => Ok(None),
            Some(Piece::Bytes(after_ms, bytes)) => {
                self.world.sleep(after_ms).await;
                Ok(Some(bytes))
            }
            Some(Piece::Fail(after_ms)) => {
                self.world.sleep(after_ms).await;
                Err("simulated: the body ended early".to_owned())
            }
        }
    }
}
