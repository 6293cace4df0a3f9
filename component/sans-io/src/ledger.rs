//! The core's ledger, whose claims are effects and whose replies are events.

use crate::host::Host;
use crate::types::{self, ClaimId, Effect, Found};
use std::rc::Rc;
use voice_calling_core::ledger::{Claim, Claimed, Ledger, ObservedDocket, Outcome, State};
use voice_calling_core::types::Docket;

/// The ledger of the host.
pub(crate) struct HostLedger {
    pub(crate) host: Rc<Host>,
    /// Whether the host has one, which receives dockets that were fetched.
    pub(crate) observes: bool,
}

impl Ledger for HostLedger {
    type Claim = ClaimId;

    async fn claim(&self, create: &Claim) -> Claimed<ClaimId> {
        let host = &self.host;
        let (claim, reply) = host.new_claim();
        let mut pending = Pending {
            host,
            claim,
            is_answered: false,
        };
        host.effect(Effect::Claim(types::Claim {
            claim,
            operation: host.polled.get(),
            create: create.clone(),
        }));
        let found = reply.await;
        pending.is_answered = true;
        match found.expect("a claim is removed with its future") {
            None => Claimed::Taken(claim),
            Some(Found::Entry(entry)) => Claimed::Found(entry),
            Some(Found::Failed(message)) => Claimed::Failed(message),
        }
    }

    async fn record(&self, claim: ClaimId, outcome: &Outcome) {
        self.host.effect(Effect::Record(types::Record {
            claim,
            outcome: outcome.clone(),
        }));
    }

    fn observe(&self, docket: &Docket) {
        if self.observes
            && let Some(docket) = ObservedDocket::of(docket)
        {
            self.host.effect(Effect::Observe(docket));
        }
    }
}

/// A claim without a reply of the ledger.
struct Pending<'a> {
    host: &'a Host,
    claim: ClaimId,
    is_answered: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.host.remove_claim(self.claim);
            // The ledger may have taken the key, or may still do so.
            self.host.effect(Effect::Record(types::Record {
                claim: self.claim,
                outcome: Outcome {
                    state: State::Free,
                    answer: None,
                    message: None,
                },
            }));
        }
    }
}
