//! The core's ledger, whose claims are effects and whose replies are events.

use crate::host::{Awaited, Host};
use crate::types::{self, ClaimId, Effect, Found, OperationId};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use voice_calling_core::ledger::{Claim, Claimed, Ledger, Outcome, State};

/// The ledger of the host.
pub(crate) struct HostLedger(pub(crate) Rc<Host>);

impl Ledger for HostLedger {
    type Claim = ClaimId;

    async fn claim(&self, create: &Claim) -> Claimed<ClaimId> {
        let host = &self.0;
        let operation = host.polled.get();
        let claim = host.new_claim(operation);
        let pending = Pending {
            host,
            operation,
            claim,
        };
        host.effect(Effect::Claim(types::Claim {
            claim,
            operation,
            item: create.item,
            key: create.key.clone(),
            function: create.function,
            arguments: create.arguments.clone(),
        }));
        poll_fn(|context| pending.poll(context)).await
    }

    async fn record(&self, claim: ClaimId, outcome: &Outcome) {
        self.0.effect(Effect::Record(types::Record {
            claim,
            state: outcome.state,
            answer: outcome.answer.clone(),
            message: outcome.message.clone(),
        }));
    }
}

/// A claim without a reply of the ledger.
struct Pending<'a> {
    host: &'a Host,
    operation: OperationId,
    claim: ClaimId,
}

impl Pending<'_> {
    fn poll(&self, context: &Context<'_>) -> Poll<Claimed<ClaimId>> {
        let awaited = Awaited::Claim(self.claim);
        match self.host.take_claimed(self.claim) {
            Some(None) => Poll::Ready(Claimed::Taken(self.claim)),
            Some(Some(Found::Entry(entry))) => Poll::Ready(Claimed::Found(entry)),
            Some(Some(Found::Failed(message))) => Poll::Ready(Claimed::Failed(message)),
            None => {
                self.host
                    .set_waker(self.operation, awaited, context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let awaited = Awaited::Claim(self.claim);
        self.host.remove_waker(self.operation, awaited);
        // The ledger may have taken the key, or may still do so.
        if self.host.remove_claim(self.claim) {
            self.host.effect(Effect::Record(types::Record {
                claim: self.claim,
                state: State::Free,
                answer: None,
                message: None,
            }));
        }
    }
}
