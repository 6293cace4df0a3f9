//! The state that the machine shares with its transports: open exchanges, effects, and wakers.

use crate::exchange::Exchange;
use crate::requests::Queue;
use crate::types::{ClaimId, Effect, ExchangeId, Found, OperationId, Random};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::task::Waker;

/// The state that operations share with each other and with the machine. Nothing is borrowed while
/// wakers are called and effects are noted.
pub(crate) struct Host {
    pub(crate) now_ms: Cell<u64>,
    pub(crate) unix_s: Cell<u64>,
    numbers: RefCell<Numbers>,
    effects: RefCell<Vec<Effect>>,
    /// The operation that is being polled.
    pub(crate) polled: Cell<OperationId>,
    /// The operations in progress, and whether each has been cancelled.
    operations: RefCell<BTreeMap<OperationId, bool>>,
    exchanges: RefCell<BTreeMap<ExchangeId, Exchange>>,
    latest_exchange: Cell<ExchangeId>,
    /// The claims that wait for the ledger, with its replies.
    claims: RefCell<BTreeMap<ClaimId, PendingClaim>>,
    latest_claim: Cell<ClaimId>,
    /// The requests of batches, which are handed over in parts.
    queues: RefCell<BTreeMap<OperationId, Rc<Queue>>>,
    /// The timers by due time, and their operations.
    timers: RefCell<BTreeMap<Timer, OperationId>>,
    latest_timer: Cell<u64>,
    /// The wakers by operation: a cancelled operation is woken wherever it waits.
    wakers: RefCell<BTreeMap<(OperationId, Awaited), Waker>>,
}

/// A claim and the ledger's reply.
struct PendingClaim {
    operation: OperationId,
    reply: Option<Option<Found>>,
}

/// The random numbers for pauses.
enum Numbers {
    Fixed(u64),
    Drawn(fastrand::Rng),
}

impl Numbers {
    fn of(random: Random) -> Self {
        match random {
            Random::Fixed(number) => Self::Fixed(number),
            Random::Seed(seed) => Self::Drawn(fastrand::Rng::with_seed(seed)),
        }
    }

    fn next(&mut self) -> u64 {
        match self {
            Self::Fixed(number) => *number,
            Self::Drawn(numbers) => numbers.u64(..),
        }
    }
}

/// The event that an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    Exchange(ExchangeId),
    Claim(ClaimId),
    /// The next request of a batch, by the number of the waiting worker.
    Request(u64),
    Timer(Timer),
}

impl Awaited {
    /// The smallest value.
    const FIRST: Self = Self::Exchange(0);
}

/// A timer. Timers that are due at the same time fire in the order in which they were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) due_ms: u64,
    number: u64,
}

impl Host {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            now_ms: Cell::default(),
            unix_s: Cell::default(),
            numbers: Numbers::of(random).into(),
            effects: RefCell::default(),
            polled: Cell::default(),
            operations: RefCell::default(),
            exchanges: RefCell::default(),
            latest_exchange: Cell::default(),
            claims: RefCell::default(),
            latest_claim: Cell::default(),
            queues: RefCell::default(),
            timers: RefCell::default(),
            latest_timer: Cell::default(),
            wakers: RefCell::default(),
        }
    }

    /// Sets the time. The clock never goes back, whatever the host reports.
    pub(crate) fn set_time(&self, now_ms: u64, unix_s: u64) {
        self.now_ms.set(self.now_ms.get().max(now_ms));
        self.unix_s.set(unix_s);
    }

    pub(crate) fn random(&self) -> u64 {
        self.numbers.borrow_mut().next()
    }

    pub(crate) fn effect(&self, effect: Effect) {
        self.effects.borrow_mut().push(effect);
    }

    pub(crate) fn take_effects(&self) -> Vec<Effect> {
        self.effects.take()
    }

    /// Registers an operation that begins; returns `false` if one with its number is in progress.
    pub(crate) fn register(&self, operation: OperationId) -> bool {
        match self.operations.borrow_mut().entry(operation) {
            Entry::Vacant(entry) => {
                entry.insert(false);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    pub(crate) fn unregister(&self, operation: OperationId) {
        self.operations.borrow_mut().remove(&operation);
    }

    /// Ends everything that an operation waits for.
    pub(crate) fn cancel(&self, operation: OperationId) {
        match self.operations.borrow_mut().get_mut(&operation) {
            Some(is_cancelled) => *is_cancelled = true,
            None => return,
        }
        self.wake_all(operation);
    }

    /// Wakes an operation wherever it waits.
    fn wake_all(&self, operation: OperationId) {
        let wakers = self.wakers.borrow();
        let from_its_first = wakers.range((operation, Awaited::FIRST)..);
        for (_, waker) in from_its_first.take_while(|((of, _), _)| *of == operation) {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn is_cancelled(&self, operation: OperationId) -> bool {
        self.operations.borrow().get(&operation) == Some(&true)
    }

    pub(crate) fn set_waker(&self, operation: OperationId, awaited: Awaited, waker: &Waker) {
        let mut wakers = self.wakers.borrow_mut();
        wakers
            .entry((operation, awaited))
            .and_modify(|before| before.clone_from(waker))
            .or_insert_with(|| waker.clone());
    }

    pub(crate) fn remove_waker(&self, operation: OperationId, awaited: Awaited) {
        self.wakers.borrow_mut().remove(&(operation, awaited));
    }

    fn wake(&self, operation: OperationId, awaited: Awaited) {
        if let Some(waker) = self.wakers.borrow().get(&(operation, awaited)) {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn new_timer(&self, duration_ms: u64) -> Timer {
        let number = self.latest_timer.get() + 1;
        self.latest_timer.set(number);
        Timer {
            due_ms: self.now_ms.get().saturating_add(duration_ms),
            number,
        }
    }

    pub(crate) fn set_timer(&self, timer: Timer, operation: OperationId) {
        self.timers.borrow_mut().insert(timer, operation);
    }

    pub(crate) fn remove_timer(&self, timer: Timer) {
        self.timers.borrow_mut().remove(&timer);
    }

    pub(crate) fn next_timer_ms(&self) -> Option<u64> {
        let timers = self.timers.borrow();
        timers.first_key_value().map(|(timer, _)| timer.due_ms)
    }

    /// Fires the first timer that is due; returns `false` if there is none.
    pub(crate) fn fire_timer(&self) -> bool {
        if self
            .next_timer_ms()
            .is_none_or(|due| due > self.now_ms.get())
        {
            return false;
        }
        let fired = self.timers.borrow_mut().pop_first();
        if let Some((timer, operation)) = fired {
            self.wake(operation, Awaited::Timer(timer));
        }
        true
    }

    pub(crate) fn new_exchange(&self, operation: OperationId) -> ExchangeId {
        let number = self.latest_exchange.get() + 1;
        self.latest_exchange.set(number);
        let mut exchanges = self.exchanges.borrow_mut();
        exchanges.insert(number, Exchange::new(operation));
        number
    }

    /// Reports an event to an exchange. It is ignored if the exchange is not in progress.
    pub(crate) fn on_event(&self, number: ExchangeId, on_event: impl FnOnce(&mut Exchange)) {
        let operation = match self.exchanges.borrow_mut().get_mut(&number) {
            Some(exchange) => {
                on_event(exchange);
                exchange.operation
            }
            None => return,
        };
        self.wake(operation, Awaited::Exchange(number));
    }

    /// Takes a part of the response from an exchange in progress.
    pub(crate) fn take_from<R>(
        &self,
        number: ExchangeId,
        take: impl FnOnce(&mut Exchange) -> Option<R>,
    ) -> Option<R> {
        self.exchanges.borrow_mut().get_mut(&number).and_then(take)
    }

    /// Removes an exchange, and cancels it if it has not ended.
    pub(crate) fn remove_exchange(&self, number: ExchangeId) {
        let removed = self.exchanges.borrow_mut().remove(&number);
        if removed.is_some_and(|exchange| !exchange.has_ended()) {
            self.effect(Effect::Abandon(number));
        }
    }

    pub(crate) fn new_claim(&self, operation: OperationId) -> ClaimId {
        let number = self.latest_claim.get() + 1;
        self.latest_claim.set(number);
        let reply = None;
        let claimed = PendingClaim { operation, reply };
        self.claims.borrow_mut().insert(number, claimed);
        number
    }

    /// Stores the ledger's reply to a claim. The first one counts.
    pub(crate) fn on_claimed(&self, number: ClaimId, found: Option<Found>) {
        let operation = match self.claims.borrow_mut().get_mut(&number) {
            Some(claimed) => {
                claimed.reply.get_or_insert(found);
                claimed.operation
            }
            None => return,
        };
        self.wake(operation, Awaited::Claim(number));
    }

    /// Takes the ledger's reply to a claim, and removes the claim.
    pub(crate) fn take_claimed(&self, number: ClaimId) -> Option<Option<Found>> {
        let mut claims = self.claims.borrow_mut();
        let reply = claims.get_mut(&number)?.reply.take()?;
        claims.remove(&number);
        Some(reply)
    }

    /// Removes a claim without waiting for its reply. Returns `false` if the reply was taken.
    pub(crate) fn remove_claim(&self, number: ClaimId) -> bool {
        self.claims.borrow_mut().remove(&number).is_some()
    }

    /// Opens the queue of a batch whose requests are handed over in parts.
    pub(crate) fn open_queue(&self, operation: OperationId) -> Rc<Queue> {
        let queue = Rc::<Queue>::default();
        self.queues.borrow_mut().insert(operation, queue.clone());
        queue
    }

    pub(crate) fn close_queue(&self, operation: OperationId) {
        self.queues.borrow_mut().remove(&operation);
    }

    /// Adds requests to a batch. They are ignored if it has ended.
    pub(crate) fn add_requests(&self, operation: OperationId, add: impl FnOnce(&Queue)) {
        let queue = self.queues.borrow().get(&operation).cloned();
        if let Some(queue) = queue {
            add(&queue);
            self.wake_all(operation);
        }
    }
}
