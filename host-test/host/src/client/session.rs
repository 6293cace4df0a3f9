//! An instance of the guest and what it has under way, and which events it gets for each input.

use super::bindings::{Begin, Event, ExchangeId, OperationId};
use super::exchange::{Exchange, News};
use super::machine::Machine;
use super::operation::Operation;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// Something that happened.
pub(super) enum Input {
    Begin(Box<Beginning>),
    Exchange(Arc<Exchange>, News),
    /// Nobody waits for an operation any more.
    Abandon(OperationId),
    /// A step is due.
    Wake,
}

/// An operation that is to begin.
pub(super) struct Beginning {
    pub(super) begin: Begin,
    pub(super) operation: Operation,
}

/// An instance, and what it has under way.
pub(super) struct Session {
    pub(super) machine: Machine,
    pub(super) operations: HashMap<OperationId, Operation>,
    pub(super) exchanges: HashMap<ExchangeId, UnderWay>,
    /// Those of which a part has come, or had.
    arriving: Vec<Arc<Exchange>>,
    pub(super) wake_at_ms: Option<u64>,
}

/// A request that is sent, or whose answer is read. It ends with this.
pub(super) struct UnderWay {
    pub(super) exchange: Arc<Exchange>,
    /// None if it could not be sent.
    pub(super) task: Option<AbortHandle>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Session {
    pub(super) fn of(machine: Machine) -> Self {
        Self {
            machine,
            operations: HashMap::new(),
            exchanges: HashMap::new(),
            arriving: Vec::new(),
            wake_at_ms: None,
        }
    }

    /// Adds the events that the guest gets for an input.
    pub(super) fn take_in(&mut self, input: Input, events: &mut Vec<Event>) {
        match input {
            Input::Begin(beginning) => self.begin(*beginning, events),
            Input::Exchange(exchange, news) => {
                if self.has(&exchange) {
                    self.hear(&exchange, news, events);
                }
            }
            Input::Abandon(operation) => self.abandon(operation, events),
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

    /// Whether an exchange is one of this session that has not ended.
    fn has(&self, exchange: &Arc<Exchange>) -> bool {
        let under_way = self.exchanges.get(&exchange.id);
        under_way.is_some_and(|under_way| Arc::ptr_eq(&under_way.exchange, exchange))
    }

    fn hear(&mut self, exchange: &Arc<Exchange>, news: News, events: &mut Vec<Event>) {
        match news {
            News::Waiting => self.arriving.push(exchange.clone()),
            News::Piece => {
                exchange.hand_over(events);
            }
            News::Ended => {
                let may_have_created = exchange.hand_over(events);
                if let Some(mut ended) = self.exchanges.remove(&exchange.id) {
                    ended.task = None;
                }
                if !may_have_created
                    && let Some(operation) = self.operations.get_mut(&exchange.operation)
                {
                    operation.did_not_create(exchange.id);
                }
            }
        }
    }

    /// What is here of the answers to its creates counts.
    fn abandon(&mut self, operation: OperationId, events: &mut Vec<Event>) {
        let Some(abandoned) = self.operations.get(&operation) else {
            return;
        };
        let creates = abandoned.creates().filter_map(|id| self.exchanges.get(&id));
        let creates: Vec<_> = creates.map(|it| it.exchange.clone()).collect();
        for exchange in creates {
            let news = match exchange.is_over() {
                true => News::Ended,
                false => News::Piece,
            };
            self.hear(&exchange, news, events);
        }
        events.push(Event::Abandon(operation));
    }

    /// What has come of answers that are not whole.
    pub(super) fn hand_over_parts(&mut self, events: &mut Vec<Event>) {
        let mut arriving = mem::take(&mut self.arriving);
        arriving.retain(|exchange| self.has(exchange));
        for exchange in &arriving {
            exchange.hand_over(events);
        }
        self.arriving = arriving;
    }

    /// The instance is gone: ends everything, and notifies every caller.
    pub(super) fn lose(self, reason: &str) {
        drop(self.exchanges);
        for operation in self.operations.into_values() {
            operation.lose(reason);
        }
    }
}
