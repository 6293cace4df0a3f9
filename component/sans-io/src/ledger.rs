//! The core's ledger, where a claim is an effect and its answer an event.

use crate::host::{Awaited, Host};
use crate::types::{self, ClaimId, Effect, Found, OperationId};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use voice_calling_core::ledger::{Claim, Claimed, Ledger, Outcome, State};

/// The way to the ledger of the host.
pub(crate) struct HostLedger(pub(crate) Rc<Host>);

impl Ledger for HostLedger {
    type Claim = ClaimId;

    async fn claim(&self, create: &Claim) -> Claimed<ClaimId> {
        let host = &self.0;
        let operation = host.polled.get();
        if host.is_abandoned(operation) {
            return Claimed::Abandoned;
        }
        let claim = host.new_claim(operation);
        host.effect(Effect::Claim(types::Claim {
            claim,
            operation,
            item: create.item,
            key: create.key.clone(),
            function: create.function,
            arguments: create.arguments.clone(),
        }));
        let claimed = poll_fn(|context| self.poll(operation, claim, context)).await;
        host.wait_no_more(operation, Awaited::Claim(claim));
        claimed
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

impl HostLedger {
    fn poll(
        &self,
        operation: OperationId,
        claim: ClaimId,
        context: &Context<'_>,
    ) -> Poll<Claimed<ClaimId>> {
        let host = &self.0;
        if let Some(found) = host.take_claimed(claim) {
            return Poll::Ready(match found {
                None => Claimed::Taken(claim),
                Some(Found::Entry(entry)) => Claimed::Found(entry),
                Some(Found::Failed(message)) => Claimed::Failed(message),
            });
        }
        if host.is_abandoned(operation) {
            host.remove_claim(claim);
            // The ledger may have taken it, or may do so still.
            host.effect(Effect::Record(types::Record {
                claim,
                state: State::Free,
                answer: None,
                message: None,
            }));
            return Poll::Ready(Claimed::Abandoned);
        }
        host.wait(operation, Awaited::Claim(claim), context.waker());
        Poll::Pending
    }
}
