//! Creates that are carried out once: a ledger has each of them on disk before its first byte is
//! sent, so that a program that was killed can be run again and calls no one twice.
//!
//! A host stores the entries; what may happen to one is decided here, by [`transition`].

mod claim;
mod docket;
mod entry;

pub use claim::Claim;
pub use docket::ObservedDocket;
pub use entry::{Digests, Entry, Event, Found, Outcome, Reply, State, transition};

use crate::types::Docket;
use std::ops::Deref;

/// The answer of a ledger to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed<C> {
    /// The key had no entry, or a free one. It is on disk now that the create was begun.
    Taken(C),
    /// The key has an entry that is not free.
    Found(Found),
    /// The ledger cannot be used, for this reason.
    Failed(String),
}

/// The storage of a ledger.
#[allow(async_fn_in_trait)]
pub trait Ledger {
    /// A claim that was taken. If it is dropped before its outcome is recorded, the outcome is
    /// unknown.
    type Claim;

    /// Records that a create is begun, unless its key has an entry that is not free. If the future
    /// is dropped, and the key is taken nevertheless, it is free: nothing was sent.
    async fn claim(&self, claim: &Claim) -> Claimed<Self::Claim>;

    /// Records how a create ended. If this fails, its outcome is unknown. If the future is dropped,
    /// which happens at the deadline of the create, recording goes on.
    async fn record(&self, claim: Self::Claim, outcome: &Outcome);

    /// Takes a docket that was fetched or verified, in the background: it may resolve an unknown
    /// outcome.
    fn observe(&self, docket: &Docket);

    /// Carries out a create with a key, which claims it. Returns `None` if no key can be claimed: a
    /// guest without a ledger contains nothing of such creates.
    async fn once<F: Future>(&self, create: F) -> Option<F::Output> {
        Some(create.await)
    }
}

/// What an error says of a client without a ledger.
pub const NO_LEDGER: &str = "a client without a ledger";

/// The ledger of a client that has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    type Claim = std::convert::Infallible;

    async fn claim(&self, _: &Claim) -> Claimed<Self::Claim> {
        Claimed::Failed(NO_LEDGER.to_owned())
    }

    async fn record(&self, claim: Self::Claim, _: &Outcome) {
        match claim {}
    }

    fn observe(&self, _: &Docket) {}

    async fn once<F: Future>(&self, _: F) -> Option<F::Output> {
        None
    }
}

/// The answer to a create, whose fields can be read as if it was the answer itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded<R> {
    /// The answer.
    pub answer: R,
    /// Whether it comes from the ledger, and nothing was sent.
    pub from_ledger: bool,
}

impl<R> Deref for Recorded<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.answer
    }
}
