//! The keys of a client: the core's ledger on a store.

use super::store::{Done, LOST, Store};
use super::{Change, Ledger, now_ms};
use crate::clock::out_of_time;
use crate::operation::member;
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;
use std::{mem, process};
use tokio::sync::oneshot;
use tracing::{Span, dispatcher};
use voice_calling_core::Departure;
use voice_calling_core::ledger::{
    self, Claim, Claimed, Event, NO_LEDGER, ObservedDocket, Outcome, Reply, State, transition,
};
use voice_calling_core::types::Docket;

/// The keys of a client.
#[derive(Clone)]
pub(crate) struct Keys(pub(crate) Option<Ledger>);

impl ledger::Ledger for Keys {
    type Claim = Begun;

    async fn claim(&self, create: &Claim) -> Claimed<Begun> {
        let Some(Ledger { store }) = &self.0 else {
            return Claimed::Failed(NO_LEDGER.to_owned());
        };
        let digests = store.digest_key().of_arguments(create);
        let begun = Begun {
            store: store.clone(),
            key: create.key.clone(),
            function: create.function,
            claim: random_name(),
            departure: create.departure.clone(),
            is_open: true,
        };
        // Nothing is sent before the claim is taken.
        begun.departure.hold();
        let (claim, function, lasts_ms) = (begun.claim.clone(), create.function, create.lasts_ms);
        let change: Change = Box::new(move |entry| {
            let event = Event::Claim {
                function,
                digests: &digests,
                claim: &claim,
                lasts_ms,
            };
            transition(entry, event, now_ms())
        });
        let (sender, receiver) = oneshot::channel();
        // If the operation is gone, what was taken is dropped here.
        let done: Done = Box::new(move |reply| drop(sender.send(begun.claimed(reply))));
        store.update(create.key.clone(), change, done);
        let lost = |_| Claimed::Failed(LOST.to_owned());
        out_of_time(receiver).await.unwrap_or_else(lost)
    }

    async fn record(&self, mut begun: Begun, outcome: &Outcome) {
        begun.is_open = false;
        // It is recorded even if this future, or its runtime, ends.
        let _ = out_of_time(begun.record(outcome.clone())).await;
    }

    fn observe(&self, docket: &Docket) {
        if let (Some(ledger), Some(docket)) = (&self.0, ObservedDocket::of(docket)) {
            ledger.store.observe(docket);
        }
    }
}

/// A create whose claim was taken. If it is dropped before its outcome is known, the outcome is
/// unknown if its request may have left; otherwise the key is free again.
pub(crate) struct Begun {
    store: Store,
    key: String,
    function: &'static str,
    claim: String,
    departure: Departure,
    /// Whether its claim was taken and its outcome is not known.
    is_open: bool,
}

impl Begun {
    /// Returns the answer of the ledger to the claim.
    fn claimed(mut self, reply: Result<Reply, String>) -> Claimed<Self> {
        self.is_open = !matches!(reply, Err(_) | Ok(Reply::Found(_)));
        match reply {
            Ok(Reply::Found(found)) => Claimed::Found(found),
            Err(error) => Claimed::Failed(error),
            Ok(_) => Claimed::Taken(self),
        }
    }

    /// Records an outcome in the background, and logs it if that fails. The receiver learns when
    /// that has happened.
    fn record(&mut self, outcome: Outcome) -> oneshot::Receiver<()> {
        let (key, function) = (mem::take(&mut self.key), self.function);
        let (claim, recorded) = (mem::take(&mut self.claim), outcome.clone());
        let change: Change = Box::new(move |entry| {
            let event = Event::Record {
                claim: &claim,
                outcome: &recorded,
            };
            transition(entry, event, now_ms())
        });
        let (sender, receiver) = oneshot::channel();
        let its_key = key.clone();
        // It is logged as if by the operation, whatever thread reports it.
        let (log, span) = (dispatcher::get_default(Clone::clone), Span::current());
        let done: Done = Box::new(move |reply| {
            if let Err(error) = reply {
                let log_unrecorded = || log_unrecorded(&its_key, function, &outcome, &error);
                dispatcher::with_default(&log, || span.in_scope(log_unrecorded));
            }
            let _ = sender.send(());
        });
        self.store.update(key, change, done);
        receiver
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.is_open {
            let (state, before) = match self.departure.withdraw() {
                true => (State::Free, "its request was sent"),
                false => (State::Unknown, "its outcome was known"),
            };
            drop(self.record(Outcome {
                state,
                answer: None,
                message: Some(format!("the operation was dropped before {before}")),
            }));
        }
    }
}

fn log_unrecorded(key: &str, function: &str, outcome: &Outcome, error: &str) {
    let answer = outcome.answer.as_deref().unwrap_or_default();
    let id = member(answer.as_bytes(), &["docket_id", "task_id", "agent_id"]);
    let created = id.map_or(String::new(), |id| format!(" (it has created {id})"));
    tracing::error!(
        function,
        "how the create with the key {key:?} ended{created} could not be recorded in the ledger {error}"
    );
}

/// Returns a name that no other claim has: 32 hexadecimal digits.
fn random_name() -> String {
    let random = || RandomState::new().hash_one((process::id(), SystemTime::now()));
    format!("{:016x}{:016x}", random(), random())
}
