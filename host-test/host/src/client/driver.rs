//! What happens between callers, the network, the clock and the guest. Whoever has news hands it
//! over and, unless somebody does so already, takes all news there is to the guest and does what
//! the guest asks for. Where many operations are under way, a task of its own does so after all
//! else that is ready: one step then takes in many news, which is cheaper than many steps.

use super::alarm::Alarm;
use super::bindings::{Begin, Call, Effect, OperationId, Random, Send as ToSend, Stepped};
use super::exchange::{self, Exchange, News};
use super::fault::Fault;
use super::history::Recording;
use super::machine::{Parsed, StepsGuest};
use super::operation::{Operation, Teller};
use super::session::{Beginning, Input, Session, UnderWay};
use crate::clock::Clock;
use crate::guest::in_flight::InFlight;
use crate::guest::limits::{Limits, MemoryBytes};
use crate::guest::settings::InstanceSettings;
use crate::guest::stderr::Log;
use crate::load::plugin::types::CallOptions;
use crate::network::TRUST_CONNECTION_TIMEOUT;
use crate::network::outgoing::Outgoing;
use anyhow::{Result, anyhow};
use std::any::Any;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::runtime::Handle;
use tokio::task::yield_now;
use voice_calling_core::settings::PREFIX;
use voice_calling_record::Secrets;

/// Who steps for others does so a few times in a row, then a task of its own goes on: its own
/// work waits.
const STEPS_IN_A_ROW: usize = 32;

/// With more operations under way, steps wait for more news.
const FEW_OPERATIONS: usize = 4;

/// Why nothing goes on.
const NO_RUNTIME: &str = "the tokio runtime to which the client belongs has ended";

/// What clients, their requests and the alarm share.
pub(crate) struct Driver {
    guest: StepsGuest,
    environment: Vec<(String, String)>,
    randomness: Option<Vec<u8>>,
    limits: Limits,
    pub(super) clock: Clock,
    secrets: Secrets,
    log: Log,
    history: Option<Recording>,
    fault: Option<Fault>,
    outgoing: Mutex<Arc<Outgoing>>,
    operations: AtomicU64,
    inbox: Mutex<Inbox>,
    session: Mutex<Option<Session>>,
    /// How many operations were under way after the last step.
    under_way: AtomicUsize,
    /// How many instances were lost.
    lost: AtomicUsize,
    alarm: Alarm,
    /// That of the first call, until it ends. All tasks are its.
    runtime: Mutex<Option<Handle>>,
    /// How many runtimes it has had before.
    runtimes: AtomicU64,
    has_runtime_ended: AtomicBool,
}

/// News that nobody has taken to the guest.
#[derive(Default)]
struct Inbox {
    news: Vec<Input>,
    /// Whether somebody takes news to the guest until there is none.
    is_emptied: bool,
}

impl Driver {
    /// One with a first instance.
    pub(crate) fn new(guest: &StepsGuest, settings: InstanceSettings) -> Result<Arc<Self>> {
        let InstanceSettings {
            environment,
            outgoing,
            randomness,
            date,
            stderr,
            limits,
            history,
        } = settings;
        let secrets = outgoing.recorder.secrets().clone();
        let variables = environment.iter();
        secrets.learn_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())));
        let driver = Self {
            guest: guest.clone(),
            history: history.map(|history| Recording::new(history, &environment)),
            fault: Fault::of(&environment),
            environment,
            randomness,
            limits,
            clock: date.map_or_else(Clock::start, Clock::start_at),
            log: Log::to(&stderr, &secrets),
            secrets,
            outgoing: Mutex::new(outgoing.into()),
            operations: AtomicU64::new(0),
            inbox: Mutex::default(),
            session: Mutex::default(),
            under_way: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            alarm: Alarm::default(),
            runtime: Mutex::default(),
            runtimes: AtomicU64::new(0),
            has_runtime_ended: AtomicBool::new(false),
        };
        *driver.session() = Some(driver.begin_session()?);
        Ok(Arc::new(driver))
    }

    fn begin_session(&self) -> Result<Session> {
        let random = self.random();
        let machine = self
            .guest
            .instantiate(&self.environment, random, self.limits)?;
        if let Some(history) = &self.history {
            history.configure(&self.environment, &random);
        }
        Ok(Session::of(machine))
    }

    /// What pauses are drawn with. Bytes that are given are, over and over, each number: as in the
    /// other guests.
    fn random(&self) -> Random {
        match self.randomness.as_deref() {
            None | Some([]) => Random::Seed(RandomState::new().build_hasher().finish()),
            Some(bytes) => {
                let bytes = bytes.iter().cycle().take(8);
                Random::Fixed(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runtime(&self) -> Option<Handle> {
        let runtime = self.runtime.lock();
        runtime.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A call brings its runtime, where there is none.
    fn enter_runtime(&self) {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if runtime.is_none() {
            *runtime = Handle::try_current().ok();
        }
    }

    /// A number for the present runtime.
    pub(super) fn runtime_number(&self) -> u64 {
        self.runtimes.load(Ordering::SeqCst)
    }

    /// The next call brings another.
    fn forget_runtime(&self) {
        self.alarm.forget();
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        *runtime = None;
        self.runtimes.fetch_add(1, Ordering::SeqCst);
        self.has_runtime_ended.store(false, Ordering::SeqCst);
    }

    pub(super) fn set_outgoing(&self, outgoing: Outgoing) {
        let mut place = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        *place = outgoing.into();
    }

    fn outgoing(&self) -> Arc<Outgoing> {
        let outgoing = self.outgoing.lock();
        outgoing.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many instances were lost.
    pub(super) fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn guest(&self) -> &StepsGuest {
        &self.guest
    }

    /// The memory of the present instance, if there is one.
    pub(super) fn memory(&self) -> Option<MemoryBytes> {
        Some(self.session().as_ref()?.machine.memory_bytes.clone())
    }

    // ------------------------------------------------------------------------ news

    /// Begins an operation, and returns its number.
    pub(super) fn begin(
        self: &Arc<Self>,
        call: Call,
        options: Option<CallOptions>,
        in_flight: Arc<InFlight>,
        teller: Teller,
    ) -> OperationId {
        self.enter_runtime();
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let account = options
            .as_ref()
            .and_then(|options| options.account.as_deref());
        let trusts = self.trusts_connection_timeout(account);
        self.hand_in(Input::Begin(Box::new(Beginning {
            operation: Operation::new(in_flight, teller, trusts),
            begin: Begin {
                operation: number,
                call,
                options,
            },
        })));
        number
    }

    /// Nobody waits for an operation any more.
    pub(super) fn abandon(self: &Arc<Self>, operation: OperationId) {
        if self.fault != Some(Fault::KeepsOperations) {
            self.hand_in(Input::Abandon(operation));
        }
    }

    /// A step is due.
    pub(super) fn wake(self: &Arc<Self>) {
        self.hand_in(Input::Wake);
    }

    /// Nothing that was under way goes on, unless another runtime has taken its place.
    pub(super) fn runtime_has_ended(self: &Arc<Self>, number: u64) {
        if number == self.runtime_number() {
            self.has_runtime_ended.store(true, Ordering::SeqCst);
        }
        self.wake();
    }

    fn hand_in(self: &Arc<Self>, input: Input) {
        let mut inbox = self.inbox();
        inbox.news.push(input);
        if mem::replace(&mut inbox.is_emptied, true) {
            return;
        }
        drop(inbox);
        let has_many = self.under_way.load(Ordering::Relaxed) > FEW_OPERATIONS;
        match self.runtime() {
            Some(runtime) if has_many && !self.has_runtime_ended() => {
                let later = Later::of(self);
                runtime.spawn(async move {
                    // Behind all that is ready.
                    yield_now().await;
                    later.empty_inbox();
                });
            }
            _ => self.empty_inbox(),
        }
    }

    /// Takes news to the guest until there is none.
    fn empty_inbox(self: &Arc<Self>) {
        let mut news = Vec::new();
        for step in 0.. {
            if step == STEPS_IN_A_ROW
                && !self.has_runtime_ended()
                && let Some(runtime) = self.runtime()
            {
                let later = Later::of(self);
                runtime.spawn(async move { later.empty_inbox() });
                return;
            }
            let mut inbox = self.inbox();
            if inbox.news.is_empty() {
                inbox.is_emptied = false;
                return;
            }
            mem::swap(&mut inbox.news, &mut news);
            drop(inbox);
            self.step(&mut news);
        }
    }

    fn has_runtime_ended(&self) -> bool {
        self.has_runtime_ended.load(Ordering::SeqCst)
    }

    // ---------------------------------------------------------------------- stepping

    fn step(self: &Arc<Self>, news: &mut Vec<Input>) {
        let mut place = self.session();
        if place.is_none() && news.iter().any(|input| matches!(input, Input::Begin(_))) {
            match self.begin_session() {
                Ok(session) => *place = Some(session),
                Err(error) => {
                    return refuse_all(news, &format!("cannot create an instance: {error:#}"));
                }
            }
        }
        let Some(session) = place.as_mut() else {
            news.clear();
            if self.has_runtime_ended() {
                self.forget_runtime();
            }
            return;
        };
        let reason = if self.has_runtime_ended() {
            refuse_all(news, NO_RUNTIME);
            self.forget_runtime();
            NO_RUNTIME.to_owned()
        } else {
            // Whatever panics here leaves it in a state that nobody knows.
            match catch_unwind(AssertUnwindSafe(|| self.step_in(session, news))) {
                Ok(Ok(())) => return,
                Ok(Err(error)) => format!("{error:#}"),
                Err(panic) => format!("the host panicked: {}", words(&*panic)),
            }
        };
        news.clear();
        let lost = place.take();
        // A caller that gets its result may use this client again at once.
        drop(place);
        if let Some(session) = lost {
            self.under_way.store(0, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
            session.lose(&self.secrets.mask(&reason));
        }
    }

    fn step_in(self: &Arc<Self>, session: &mut Session, news: &mut Vec<Input>) -> Result<()> {
        let mut events = Vec::with_capacity(news.len());
        let mut batches = Vec::new();
        for input in news.drain(..) {
            if let Input::Begin(beginning) = &input
                && let Call::CreateDocketsV2(_) = beginning.begin.call
            {
                batches.push(beginning.begin.operation);
            }
            session.take_in(input, &mut events);
        }
        let now_ms = self.clock.now_ms();
        let is_due = session.wake_at_ms.is_some_and(|due_ms| due_ms <= now_ms);
        if is_due {
            if self.fault != Some(Fault::LosesParts) {
                session.hand_over_parts(&mut events);
            }
        } else if events.is_empty() {
            // The alarm has gone off too early, or for an instance that is gone.
            self.set_alarm(session.wake_at_ms);
            return Ok(());
        }
        let unix_s = self.clock.unix_s();
        let history = self.history.as_ref();
        let recorded = history.map(|history| history.input(&events, now_ms, unix_s));
        let stepped = session.machine.step(events, now_ms, unix_s);
        if let (Some(history), Some(input)) = (history, recorded) {
            history.step(input, stepped.as_ref());
        }
        let Stepped {
            effects,
            wake_at_ms,
        } = stepped?;
        session.wake_at_ms = wake_at_ms;
        self.set_alarm(wake_at_ms);
        for effect in effects {
            self.do_as_asked(session, effect);
        }
        let under_way = session.operations.len();
        self.under_way.store(under_way, Ordering::Relaxed);
        for batch in batches {
            if let Some(operation) = session.operations.get(&batch) {
                operation.has_begun();
            }
        }
        Ok(())
    }

    fn set_alarm(self: &Arc<Self>, due_ms: Option<u64>) {
        if let Some(runtime) = self.runtime() {
            let late_ms = match self.fault {
                Some(Fault::WakesLate) => 500,
                _ => 0,
            };
            let due_ms = due_ms.map(|due_ms| due_ms + late_ms);
            self.alarm.set(due_ms, self, &runtime);
        }
    }

    fn do_as_asked(self: &Arc<Self>, session: &mut Session, effect: Effect) {
        match effect {
            Effect::Send(send) => self.send(session, send),
            Effect::Abandon(_) if self.fault == Some(Fault::KeepsRequests) => {}
            Effect::Abandon(exchange) => {
                session.exchanges.remove(&exchange);
            }
            Effect::Log(line) => self.log.line(&self.secrets.mask(&line)),
            Effect::Item(item) => {
                if let Some(operation) = session.operations.get_mut(&item.operation) {
                    operation.tell_item(item.index, item.created);
                }
            }
            Effect::Done(done) => {
                if let Some(operation) = session.operations.remove(&done.operation) {
                    operation.tell(done.outcome);
                }
            }
        }
    }

    fn send(self: &Arc<Self>, session: &mut Session, send: ToSend) {
        let Some(operation) = session.operations.get_mut(&send.operation) else {
            return;
        };
        // Or its caller has gone in this moment, or the next step reports that nothing goes on.
        if self.has_runtime_ended() || !operation.call.begin_request(send.creates) {
            return;
        }
        let trusts = operation.trusts_connection_timeout;
        let exchange = Arc::new(Exchange::of(&send, trusts, self.fault));
        operation.sends(&exchange);
        if let (Some(Fault::SendsTwice), true) = (self.fault, send.creates)
            && let Ok((request, options)) = exchange::request(send.clone())
            && let Some(runtime) = self.runtime()
        {
            let again = self.outgoing().send(request, options);
            runtime.spawn(async move { drop(again.await) });
        }
        let task = match (exchange::request(send), self.runtime()) {
            (Ok((request, options)), Some(runtime)) => {
                let report = Report {
                    driver: Arc::downgrade(self),
                    exchange: exchange.clone(),
                };
                let outgoing = self.outgoing();
                let sending = async move {
                    let tell = |news| report.tell(news);
                    report.exchange.run(outgoing, request, options, tell).await;
                };
                Some(runtime.spawn(sending).abort_handle())
            }
            (Ok(_), None) => {
                exchange.refuse("without a runtime of tokio any part");
                None
            }
            (Err(what), _) => {
                exchange.refuse(what);
                None
            }
        };
        if task.is_none() {
            // For the next step, which comes at once.
            let ended = Input::Exchange(exchange.clone(), News::Ended);
            self.inbox().news.push(ended);
        }
        let number = exchange.id;
        let under_way = UnderWay { exchange, task };
        session.exchanges.insert(number, under_way);
    }

    // ----------------------------------------------------------------------- the rest

    /// What a delivery says. It is read on an instance of its own: what a stranger wrote ends no
    /// call.
    pub(super) fn parse_docket_completed(&self, body: &str) -> Result<Parsed> {
        let machine = self
            .guest
            .instantiate(&self.environment, self.random(), self.limits);
        let parsed = machine.and_then(|mut machine| machine.parse_docket_completed(body));
        if parsed.is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        parsed
    }

    /// Whether an account's settings say that a timeout of the connection is to be believed.
    fn trusts_connection_timeout(&self, account: Option<&str>) -> bool {
        let (unnamed, is_trusted) = TRUST_CONNECTION_TIMEOUT;
        let setting = unnamed.strip_prefix(PREFIX).unwrap_or_default();
        let named = account.map(|account| {
            let account = account.to_ascii_uppercase().replace('-', "_");
            format!("{PREFIX}{account}_{setting}")
        });
        let value = |name: &str| {
            let mut latest_first = self.environment.iter().rev();
            let (_, value) = latest_first.find(|(variable, _)| variable == name)?;
            Some(value == is_trusted)
        };
        let own = named.and_then(|named| value(&named));
        own.or_else(|| value(unnamed)).unwrap_or(false)
    }
}

/// Nothing can begin.
fn refuse_all(news: &mut Vec<Input>, reason: &str) {
    for input in news.drain(..) {
        if let Input::Begin(beginning) = input {
            beginning
                .operation
                .fail(anyhow!("nothing was sent: {reason}"));
        }
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned).unwrap_or("without a message")
}

/// News that a task will take to the guest.
struct Later {
    driver: Option<Arc<Driver>>,
    runtime_number: u64,
}

impl Later {
    fn of(driver: &Arc<Driver>) -> Self {
        Self {
            driver: Some(driver.clone()),
            runtime_number: driver.runtime_number(),
        }
    }

    fn empty_inbox(mut self) {
        if let Some(driver) = self.driver.take() {
            driver.empty_inbox();
        }
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            // The runtime dropped the task before it ran, so this thread notifies every caller.
            driver.inbox().is_emptied = false;
            driver.runtime_has_ended(self.runtime_number);
        }
    }
}

/// Tells the driver of an exchange, whatever becomes of its task, for as long as there is a driver.
struct Report {
    driver: Weak<Driver>,
    exchange: Arc<Exchange>,
}

impl Report {
    fn tell(&self, news: News) {
        if let Some(driver) = self.driver.upgrade() {
            let input = Input::Exchange(self.exchange.clone(), news);
            match news {
                // Not news for the guest yet.
                News::Waiting => driver.inbox().news.push(input),
                News::Piece | News::Ended => driver.hand_in(input),
            }
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if self.exchange.lose() {
            self.tell(News::Ended);
        }
    }
}
