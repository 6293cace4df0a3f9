//! What happens between callers, the network, the clock and the guest. Whoever has news hands it
//! over and, unless somebody does so already, takes all news there is to the guest and does what
//! the guest asks for. Where many operations are under way, a task of its own does so after all
//! else that is ready: one step then takes in many news, which is cheaper than many steps.

use super::alarm::Alarm;
use super::bindings::{Begin, Call, Effect, Event, OperationId, Send as ToSend, Stepped};
use super::carried::{Carried, Carrying};
use super::exchange::{self, Exchange, News};
use super::fault::Fault;
use super::history::Recording;
use super::machine::{Machine, Parsed, StepsGuest};
use super::operation::{Operation, Teller};
use crate::clock::Clock;
use crate::guest::in_flight::InFlight;
use crate::guest::limits::{Limits, MemoryBytes};
use crate::guest::settings::InstanceSettings;
use crate::guest::stderr::Log;
use crate::load::plugin::types::CallOptions;
use crate::network::TRUST_CONNECTION_TIMEOUT;
use crate::network::outgoing::Outgoing;
use crate::record::secrets::Secrets;
use anyhow::{Result, anyhow};
use futures_util::future::BoxFuture;
use std::any::Any;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, yield_now};
use voice_calling_core::settings::PREFIX;

/// Who steps for others does so a few times in a row, then a task of its own goes on: its own
/// work waits.
const STEPS_IN_A_ROW: usize = 32;

/// With more operations under way, steps wait for more news.
const FEW_OPERATIONS: usize = 4;

/// For how long a caller has a request before it is relieved of it, at the least.
const PATIENCE_MS: u64 = 50;

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
    /// How many operations were under way after the last step.
    under_way: AtomicUsize,
    session: Mutex<Option<Session>>,
    /// How many instances were lost.
    lost: AtomicUsize,
    pub(super) alarm: Alarm,
    /// Where tasks are spawned by those who are in no runtime.
    runtime: OnceLock<Handle>,
}

/// News that nobody has taken to the guest.
#[derive(Default)]
struct Inbox {
    news: Vec<Input>,
    /// Whether somebody takes news to the guest until there is none.
    is_emptied: bool,
}

/// Something that happened.
enum Input {
    Begin(Box<Beginning>),
    Exchange(Arc<Exchange>, News),
    Abandon(OperationId),
    /// A step is due.
    Wake,
}

struct Beginning {
    begin: Begin,
    operation: Operation,
}

/// A caller that carries its first request out itself, where it is the one who steps.
#[derive(Default)]
struct Bearer {
    operation: Option<OperationId>,
    carried: Option<Arc<Carried>>,
}

impl Bearer {
    fn of(operation: OperationId) -> Self {
        Self {
            operation: Some(operation),
            carried: None,
        }
    }
}

/// An instance, and what it has under way.
struct Session {
    machine: Machine,
    operations: Numbered<Operation>,
    exchanges: Numbered<UnderWay>,
    /// Those of which a part has come, or had.
    arriving: Vec<Arc<Exchange>>,
    wake_at_ms: Option<u64>,
    /// When callers are relieved of requests that they do not go on with.
    relieve_at_ms: Option<u64>,
}

/// Things by numbers that are given one after the other: these need no hash.
type Numbered<T> = HashMap<u64, T, BuildHasherDefault<Number>>;

#[derive(Default)]
struct Number(u64);

impl Hasher for Number {
    fn finish(&self) -> u64 {
        // The table looks at the highest bits too.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are keys")
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

struct UnderWay {
    exchange: Arc<Exchange>,
    sender: Sender,
    /// When its caller is relieved of it.
    relieve_at_ms: u64,
}

/// Who sends a request and reads its answer.
enum Sender {
    /// Nobody any more.
    None,
    Caller(Arc<Carried>),
    Task(Arc<Carried>, AbortHandle),
}

impl Session {
    fn of(machine: Machine) -> Self {
        Self {
            machine,
            operations: Numbered::default(),
            exchanges: Numbered::default(),
            arriving: Vec::new(),
            wake_at_ms: None,
            relieve_at_ms: None,
        }
    }

    /// Whether an exchange is one of this session that has not ended.
    fn has(&self, exchange: &Arc<Exchange>) -> bool {
        let under_way = self.exchanges.get(&exchange.id);
        under_way.is_some_and(|under_way| Arc::ptr_eq(&under_way.exchange, exchange))
    }

    /// What the guest is told of this news.
    fn take_in(&mut self, input: Input, events: &mut Vec<Event>) {
        match input {
            Input::Begin(beginning) => self.begin(*beginning, events),
            Input::Abandon(operation) => {
                if self.operations.contains_key(&operation) {
                    events.push(Event::Abandon(operation));
                }
            }
            Input::Exchange(exchange, news) => {
                if self.has(&exchange) {
                    self.hear(exchange, news, events);
                }
            }
            Input::Wake => {}
        }
    }

    fn begin(&mut self, Beginning { begin, operation }: Beginning, events: &mut Vec<Event>) {
        match &self.machine.configured {
            Ok(()) => {
                self.operations.insert(begin.operation, operation);
                events.push(Event::Begin(begin));
            }
            Err(error) => operation.tell(Err(error.clone())),
        }
    }

    fn hear(&mut self, exchange: Arc<Exchange>, news: News, events: &mut Vec<Event>) {
        match news {
            News::Waiting => self.arriving.push(exchange),
            News::Piece => {
                exchange.hand_over(events);
            }
            News::Ended => {
                let may_have_created = exchange.hand_over(events);
                if let Some(mut ended) = self.exchanges.remove(&exchange.id) {
                    ended.sender = Sender::None;
                }
                if !may_have_created
                    && let Some(operation) = self.operations.get_mut(&exchange.operation)
                {
                    operation.did_not_create(exchange.id);
                }
            }
        }
    }

    /// What has come of answers that are not whole.
    fn hand_over_parts(&mut self, events: &mut Vec<Event>) {
        let mut arriving = mem::take(&mut self.arriving);
        arriving.retain(|exchange| self.has(exchange));
        for exchange in &arriving {
            exchange.hand_over(events);
        }
        self.arriving = arriving;
    }

    /// Takes requests from callers that have had them for long: who waits for something else first
    /// does not go on with them, and they must not be late for that.
    fn relieve_callers(&mut self, now_ms: u64, runtime: &Handle) {
        if self.relieve_at_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return;
        }
        let mut next_ms = None;
        for under_way in self.exchanges.values_mut() {
            let Sender::Caller(carried) = &under_way.sender else {
                continue;
            };
            let taken = match under_way.relieve_at_ms <= now_ms {
                true => carried.take(),
                false => None,
            };
            match taken {
                Some(sending) => under_way.sender = Sender::task(sending, runtime),
                None => {
                    // One that its caller goes on with at this moment is looked at again soon.
                    let at_ms = under_way.relieve_at_ms.max(now_ms + 1);
                    next_ms = Some(next_ms.map_or(at_ms, |next_ms: u64| next_ms.min(at_ms)));
                }
            }
        }
        self.relieve_at_ms = next_ms;
    }

    /// Ends everything.
    fn lose(self, reason: &str) {
        drop(self.exchanges);
        for operation in self.operations.into_values() {
            operation.lose(reason);
        }
    }
}

impl Sender {
    /// A task of its own.
    fn task(sending: BoxFuture<'static, ()>, runtime: &Handle) -> Self {
        let carried = Arc::new(Carried::new(sending));
        let task = runtime.spawn(Carrying(carried.clone()));
        Self::Task(carried, task.abort_handle())
    }
}

/// What is under way ends with who keeps track of it.
impl Drop for UnderWay {
    fn drop(&mut self) {
        match &self.sender {
            Sender::None => {}
            Sender::Caller(carried) => carried.give_up(),
            Sender::Task(carried, task) => {
                carried.give_up();
                task.abort();
            }
        }
    }
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
            under_way: AtomicUsize::new(0),
            session: Mutex::default(),
            lost: AtomicUsize::new(0),
            alarm: Alarm::default(),
            runtime: OnceLock::new(),
        };
        *driver.session() = Some(driver.begin_session()?);
        Ok(Arc::new(driver))
    }

    fn begin_session(&self) -> Result<Session> {
        let seed = self.seed();
        let machine = self
            .guest
            .instantiate(&self.environment, seed, self.limits)?;
        if let Some(history) = &self.history {
            history.configure(&self.environment, seed);
        }
        Ok(Session::of(machine))
    }

    /// The number that pauses are drawn with.
    fn seed(&self) -> u64 {
        match self.randomness.as_deref() {
            // A small one would be no seed: see the WIT.
            None | Some([]) => RandomState::new().build_hasher().finish() | 1 << 63,
            Some(bytes) => {
                let bytes = bytes.iter().cycle().take(8);
                bytes.fold(0, |seed, byte| seed << 8 | u64::from(*byte))
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
        match Handle::try_current() {
            Ok(current) => {
                self.runtime.get_or_init(|| current.clone());
                Some(current)
            }
            Err(_) => self.runtime.get().cloned(),
        }
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

    /// Begins an operation, and returns its number, and its first request where the caller is to
    /// carry that out.
    pub(super) fn begin(
        self: &Arc<Self>,
        call: Call,
        options: Option<CallOptions>,
        in_flight: Arc<InFlight>,
        teller: Teller,
    ) -> (OperationId, Option<Arc<Carried>>) {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let account = options
            .as_ref()
            .and_then(|options| options.account.as_deref());
        let trusts = self.trusts_connection_timeout(account);
        let mut bearer = match teller {
            Teller::Lone(_) => Bearer::of(number),
            Teller::Batch { .. } => Bearer::default(),
        };
        let input = Input::Begin(Box::new(Beginning {
            operation: Operation::new(in_flight, teller, trusts),
            begin: Begin {
                operation: number,
                call,
                options,
            },
        }));
        self.hand_in(input, &mut bearer);
        (number, bearer.carried)
    }

    /// Nobody waits for an operation any more.
    pub(super) fn abandon(self: &Arc<Self>, operation: OperationId) {
        if self.fault != Some(Fault::KeepsOperations) {
            self.hand_in(Input::Abandon(operation), &mut Bearer::default());
        }
    }

    /// A step is due.
    pub(super) fn wake(self: &Arc<Self>) {
        self.hand_in(Input::Wake, &mut Bearer::default());
    }

    fn hand_in(self: &Arc<Self>, input: Input, bearer: &mut Bearer) {
        let mut inbox = self.inbox();
        inbox.news.push(input);
        if mem::replace(&mut inbox.is_emptied, true) {
            return;
        }
        drop(inbox);
        let runtime = self.runtime();
        match &runtime {
            Some(runtime) if self.under_way.load(Ordering::Relaxed) > FEW_OPERATIONS => {
                let later = Later(Some(self.clone()));
                runtime.spawn(async move {
                    // Behind all that is ready.
                    yield_now().await;
                    later.empty_inbox();
                });
            }
            _ => self.empty_inbox(runtime.as_ref(), bearer),
        }
    }

    /// Takes news to the guest until there is none.
    fn empty_inbox(self: &Arc<Self>, runtime: Option<&Handle>, bearer: &mut Bearer) {
        let mut news = Vec::new();
        for step in 0.. {
            if let Some(runtime) = runtime
                && step == STEPS_IN_A_ROW
            {
                let later = Later(Some(self.clone()));
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
            self.step(&mut news, runtime, bearer);
        }
    }

    // ---------------------------------------------------------------------- stepping

    fn step(
        self: &Arc<Self>,
        news: &mut Vec<Input>,
        runtime: Option<&Handle>,
        bearer: &mut Bearer,
    ) {
        let mut place = self.session();
        if place.is_none() && news.iter().any(|input| matches!(input, Input::Begin(_))) {
            match self.begin_session() {
                Ok(session) => *place = Some(session),
                Err(error) => return self.refuse_all(news, &error),
            }
        }
        let Some(session) = place.as_mut() else {
            news.clear();
            return;
        };
        // Whatever panics here leaves it in a state that nobody knows.
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            self.step_in(session, news, runtime, bearer)
        }));
        let reason = match stepped {
            Ok(Ok(())) => return,
            Ok(Err(error)) => format!("{error:#}"),
            Err(panic) => format!("the host panicked: {}", words(&*panic)),
        };
        news.clear();
        self.lose(&mut place, &reason);
    }

    /// No instance can be made.
    fn refuse_all(&self, news: &mut Vec<Input>, error: &anyhow::Error) {
        for input in news.drain(..) {
            if let Input::Begin(beginning) = input {
                let operation = beginning.operation;
                operation.fail(anyhow!("the component cannot be instantiated: {error:#}"));
            }
        }
    }

    /// The instance is gone. The next operation gets another one.
    fn lose(&self, place: &mut Option<Session>, reason: &str) {
        let reason = self.secrets.mask(reason);
        if let Some(session) = place.take() {
            self.under_way.store(0, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
            session.lose(&reason);
        }
    }

    fn step_in(
        self: &Arc<Self>,
        session: &mut Session,
        news: &mut Vec<Input>,
        runtime: Option<&Handle>,
        bearer: &mut Bearer,
    ) -> Result<()> {
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
        if let Some(runtime) = runtime {
            session.relieve_callers(now_ms, runtime);
        }
        let is_due = session.wake_at_ms.is_some_and(|due_ms| due_ms <= now_ms);
        if is_due {
            if self.fault != Some(Fault::LosesParts) {
                session.hand_over_parts(&mut events);
            }
        } else if events.is_empty() {
            // The alarm has gone off for something else.
            self.set_alarm(session, runtime);
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
        for effect in effects {
            self.do_as_asked(session, effect, runtime, bearer);
        }
        self.set_alarm(session, runtime);
        let under_way = session.operations.len();
        self.under_way.store(under_way, Ordering::Relaxed);
        for batch in batches {
            if let Some(operation) = session.operations.get(&batch) {
                operation.has_begun();
            }
        }
        Ok(())
    }

    fn set_alarm(self: &Arc<Self>, session: &Session, runtime: Option<&Handle>) {
        if let Some(runtime) = runtime {
            let due = session.wake_at_ms.into_iter().chain(session.relieve_at_ms);
            let late_ms = match self.fault {
                Some(Fault::WakesLate) => 500,
                _ => 0,
            };
            self.alarm
                .set(due.map(|due_ms| due_ms + late_ms).min(), self, runtime);
        }
    }

    fn do_as_asked(
        self: &Arc<Self>,
        session: &mut Session,
        effect: Effect,
        runtime: Option<&Handle>,
        bearer: &mut Bearer,
    ) {
        match effect {
            Effect::Send(send) => self.send(session, send, runtime, bearer),
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

    fn send(
        self: &Arc<Self>,
        session: &mut Session,
        send: ToSend,
        runtime: Option<&Handle>,
        bearer: &mut Bearer,
    ) {
        let Some(operation) = session.operations.get_mut(&send.operation) else {
            return;
        };
        // Or its caller has gone in this moment.
        if !operation.call.begin_request(send.creates) {
            return;
        }
        let exchange = Arc::new(Exchange::of(
            &send,
            operation.trusts_connection_timeout,
            self.fault,
        ));
        operation.sends(&exchange);
        let attempt_ms = u64::from(send.request.attempt_ms);
        let relieve_at_ms = self.clock.now_ms() + PATIENCE_MS.min(attempt_ms / 4);
        if let (Some(Fault::SendsTwice), true, Some(runtime)) = (self.fault, send.creates, runtime)
            && let Ok((request, options)) = exchange::request(send.clone())
        {
            let again = self.outgoing().send(request, options);
            runtime.spawn(async move { drop(again.await) });
        }
        let sender = match (exchange::request(send), runtime) {
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
                let sending = Box::pin(sending);
                if bearer.operation == Some(exchange.operation) && bearer.carried.is_none() {
                    let carried = Arc::new(Carried::new(sending));
                    bearer.carried = Some(carried.clone());
                    let earliest = session.relieve_at_ms.unwrap_or(relieve_at_ms);
                    session.relieve_at_ms = Some(earliest.min(relieve_at_ms));
                    Sender::Caller(carried)
                } else {
                    Sender::task(sending, runtime)
                }
            }
            (Ok(_), None) => {
                exchange.refuse("without a runtime of tokio any part");
                Sender::None
            }
            (Err(what), _) => {
                exchange.refuse(what);
                Sender::None
            }
        };
        if matches!(sender, Sender::None) {
            // For the next step, which comes at once.
            let ended = Input::Exchange(exchange.clone(), News::Ended);
            self.inbox().news.push(ended);
        }
        let number = exchange.id;
        let under_way = UnderWay {
            exchange,
            sender,
            relieve_at_ms,
        };
        session.exchanges.insert(number, under_way);
    }

    // ----------------------------------------------------------------------- the rest

    /// What a delivery says, which no operation is needed for.
    pub(super) fn parse_docket_completed(&self, body: &str) -> Result<Parsed> {
        let mut place = self.session();
        let session = match &mut *place {
            Some(session) => session,
            None => place.insert(self.begin_session()?),
        };
        let parsed = session.machine.parse_docket_completed(body);
        if let Err(error) = &parsed {
            self.lose(&mut place, &format!("{error:#}"));
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

/// News that a task will take to the guest.
struct Later(Option<Arc<Driver>>);

impl Later {
    fn empty_inbox(mut self) {
        if let Some(driver) = self.0.take() {
            driver.empty_inbox(Some(&Handle::current()), &mut Bearer::default());
        }
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        // The runtime ends. What comes next is another's.
        if let Some(driver) = &self.0 {
            driver.inbox().is_emptied = false;
        }
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned).unwrap_or("without words")
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
                News::Piece | News::Ended => driver.hand_in(input, &mut Bearer::default()),
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
