//! The state that the machine shares with its transports: open exchanges, effects, and the tasks
//! that wait.

use crate::exchange::Exchange;
use crate::requests::Queue;
use crate::types::{ClaimId, Effect, ExchangeId, Found, OperationId};
use fastrand::Rng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// The state that operations share with each other and with the machine. A waker may be called
/// while it is borrowed: the task is polled later.
pub(crate) struct Host {
    pub(crate) now_ms: Cell<u64>,
    pub(crate) unix_s: Cell<u64>,
    /// The random numbers for pauses.
    random: RefCell<Rng>,
    effects: RefCell<Vec<Effect>>,
    /// The operation that is being polled.
    pub(crate) polled: Cell<OperationId>,
    operations: RefCell<BTreeMap<OperationId, Operation>>,
    exchanges: RefCell<BTreeMap<ExchangeId, Exchange>>,
    latest_exchange: Cell<ExchangeId>,
    /// The claims that wait for the ledger's reply.
    claims: RefCell<BTreeMap<ClaimId, Sender<Option<Found>>>>,
    latest_claim: Cell<ClaimId>,
    /// The timers by due time, and the tasks that wait for them.
    timers: RefCell<BTreeMap<Timer, Waker>>,
    latest_timer: Cell<u64>,
}

/// An operation in progress.
#[derive(Default)]
pub(crate) struct Operation {
    pub(crate) is_cancelled: bool,
    /// The requests of a batch.
    pub(crate) queue: Queue,
    /// The operation's task, or those of the workers of a large batch: a cancelled operation is
    /// woken wherever it waits.
    tasks: Vec<Waker>,
}

impl Operation {
    /// Returns the waker of a task that waits.
    pub(crate) fn waiting(&mut self, context: &Context<'_>) -> Waker {
        let waker = context.waker();
        if !self.tasks.iter().any(|task| task.will_wake(waker)) {
            self.tasks.push(waker.clone());
        }
        waker.clone()
    }

    fn wake(&self) {
        self.tasks.iter().for_each(Waker::wake_by_ref);
    }
}

/// A timer. Timers that are due at the same time fire in the order in which they were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) due_ms: u64,
    number: u64,
}

impl Host {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now_ms: Cell::default(),
            unix_s: Cell::default(),
            random: Rng::with_seed(seed).into(),
            effects: RefCell::default(),
            polled: Cell::default(),
            operations: RefCell::default(),
            exchanges: RefCell::default(),
            latest_exchange: Cell::default(),
            claims: RefCell::default(),
            latest_claim: Cell::default(),
            timers: RefCell::default(),
            latest_timer: Cell::default(),
        }
    }

    /// Sets the time. The clock never goes back, whatever the host reports.
    pub(crate) fn set_time(&self, now_ms: u64, unix_s: u64) {
        self.now_ms.set(self.now_ms.get().max(now_ms));
        self.unix_s.set(unix_s);
    }

    pub(crate) fn random(&self) -> u64 {
        self.random.borrow_mut().u64(..)
    }

    pub(crate) fn effect(&self, effect: Effect) {
        self.effects.borrow_mut().push(effect);
    }

    pub(crate) fn take_effects(&self) -> Vec<Effect> {
        self.effects.take()
    }

    /// Registers an operation that begins; returns `false` if one with its number is in progress.
    pub(crate) fn register(&self, number: OperationId) -> bool {
        match self.operations.borrow_mut().entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(Operation::default());
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    pub(crate) fn unregister(&self, number: OperationId) {
        self.operations.borrow_mut().remove(&number);
    }

    /// Applies a function to an operation; returns `None` if it is not in progress.
    pub(crate) fn with<R>(
        &self,
        number: OperationId,
        function: impl FnOnce(&mut Operation) -> R,
    ) -> Option<R> {
        self.operations.borrow_mut().get_mut(&number).map(function)
    }

    /// Changes an operation, and wakes it. It is ignored if the operation is not in progress.
    pub(crate) fn wake_with(&self, number: OperationId, change: impl FnOnce(&mut Operation)) {
        self.with(number, |operation| {
            change(operation);
            operation.wake();
        });
    }

    /// Returns `true` if the operation that is being polled is cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.with(self.polled.get(), |operation| operation.is_cancelled) == Some(true)
    }

    /// Returns the waker of a task that waits, of the operation that is being polled.
    fn waiting(&self, context: &Context<'_>) -> Option<Waker> {
        self.with(self.polled.get(), |operation| operation.waiting(context))
    }

    pub(crate) fn new_timer(&self, duration_ms: u64) -> Timer {
        let number = self.latest_timer.get() + 1;
        self.latest_timer.set(number);
        Timer {
            due_ms: self.now_ms.get().saturating_add(duration_ms),
            number,
        }
    }

    /// Is ready when a timer is due, or its operation is cancelled.
    pub(crate) fn poll_timer(&self, timer: Timer, context: &Context<'_>) -> Poll<()> {
        if timer.due_ms <= self.now_ms.get() || self.is_cancelled() {
            return Poll::Ready(());
        }
        let task = self.waiting(context);
        let mut timers = self.timers.borrow_mut();
        timers.extend(task.map(|task| (timer, task)));
        Poll::Pending
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
        let mut timers = self.timers.borrow_mut();
        let first = timers.first_entry();
        let due = first.filter(|first| first.key().due_ms <= self.now_ms.get());
        due.map(|due| due.remove().wake()).is_some()
    }

    pub(crate) fn new_exchange(&self) -> ExchangeId {
        let number = self.latest_exchange.get() + 1;
        self.latest_exchange.set(number);
        let mut exchanges = self.exchanges.borrow_mut();
        exchanges.insert(number, Exchange::default());
        number
    }

    /// Reports an event to an exchange. It is ignored if the exchange is not in progress.
    pub(crate) fn on_event(&self, number: ExchangeId, on_event: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = self.exchanges.borrow_mut().get_mut(&number) {
            on_event(exchange);
            if let Some(task) = exchange.task.take() {
                task.wake();
            }
        }
    }

    /// Takes a part of the response from an exchange in progress, or `None` if its operation is
    /// cancelled.
    pub(crate) fn poll_exchange<R>(
        &self,
        number: ExchangeId,
        context: &Context<'_>,
        take: impl FnOnce(&mut Exchange) -> Option<R>,
    ) -> Poll<Option<R>> {
        let mut exchanges = self.exchanges.borrow_mut();
        let Some(exchange) = exchanges.get_mut(&number) else {
            return Poll::Ready(None);
        };
        let taken = take(exchange);
        if taken.is_some() || self.is_cancelled() {
            return Poll::Ready(taken);
        }
        exchange.task = self.waiting(context);
        Poll::Pending
    }

    /// Removes an exchange, and cancels it if it has not ended.
    pub(crate) fn remove_exchange(&self, number: ExchangeId) {
        let removed = self.exchanges.borrow_mut().remove(&number);
        if removed.is_some_and(|exchange| !exchange.has_ended()) {
            self.effect(Effect::Abandon(number));
        }
    }

    /// Returns the number of a new claim, and the receiver of the ledger's reply.
    pub(crate) fn new_claim(&self) -> (ClaimId, Receiver<Option<Found>>) {
        let number = self.latest_claim.get() + 1;
        self.latest_claim.set(number);
        let (reply, receiver) = channel();
        self.claims.borrow_mut().insert(number, reply);
        (number, receiver)
    }

    /// Passes on the ledger's reply to a claim. The first one counts.
    pub(crate) fn on_claimed(&self, number: ClaimId, found: Option<Found>) {
        if let Some(reply) = self.claims.borrow_mut().remove(&number) {
            // Its operation may have ended.
            let _ = reply.send(found);
        }
    }

    /// Removes a claim without waiting for its reply.
    pub(crate) fn remove_claim(&self, number: ClaimId) {
        self.claims.borrow_mut().remove(&number);
    }
}
