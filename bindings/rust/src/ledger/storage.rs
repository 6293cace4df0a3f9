//! The storage of a client's keys: a file, or the user's own storage.

use super::Ledger;
use super::entries::created_id;
use super::store::OpenClaim;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use tokio::runtime::Handle;
use tracing::Instrument;
use voice_calling_core::ledger::{self, Claim, Claimed, Outcome, Sighting, State};
use voice_calling_core::types::Docket;

/// A future of a [`Storage`].
pub type StorageFuture<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// Your own storage in place of a [`Ledger`], such as a database that several machines use.
/// [`Builder::ledger_storage`](crate::Builder::ledger_storage) gives it to a client.
///
/// An answer must be durable when it is returned: a create is sent after its claim. Futures run to
/// their end in their own tasks, even if their operation is dropped.
pub trait Storage: Send + Sync + 'static {
    /// Records that a create is begun, unless its key has an entry that is not free, and returns a
    /// unique name for the claim. An entry that was begun by a process that is gone must be found
    /// as unknown. The arguments may contain a phone number: store digests of them, with a key, and
    /// compare these for [`StoredEntry::differs_in`](super::StoredEntry::differs_in).
    fn claim<'a>(&'a self, create: &'a Claim) -> StorageFuture<'a, Claimed<String>>;

    /// Records how a create ended, if the entry of the key is of this claim, and begun or unknown.
    /// An outcome that is done also counts if the entry was released, or resolved by a docket,
    /// meanwhile. The error says why it was not recorded; it is logged, and the key is unknown.
    fn record<'a>(
        &'a self,
        key: &'a str,
        claim_name: &'a str,
        outcome: &'a Outcome,
    ) -> StorageFuture<'a, Result<(), String>>;

    /// Resolves the entries that are unknown, have one of the keys and the same `to_phone_number`,
    /// and are of a function of `dockets`: they become done.
    fn observe<'a>(&'a self, sighting: &'a Sighting) -> StorageFuture<'a, Result<(), String>>;
}

/// The storage of a client's keys.
#[derive(Clone)]
pub(crate) enum Keys {
    File(Ledger),
    Own(Arc<dyn Storage>),
}

/// A create whose claim was taken. If it is dropped before its outcome is recorded, the outcome is
/// unknown; if it is dropped before it is delivered to its operation, the key is free again.
pub(crate) struct Begun {
    key: String,
    function: &'static str,
    claim: TakenClaim,
    /// The outcome to record if it is dropped.
    if_dropped: Option<Outcome>,
}

pub(super) enum TakenClaim {
    File(Arc<OpenClaim>),
    /// The claim with this name.
    Own(Arc<dyn Storage>, String),
}

impl Keys {
    /// Resolves unknown outcomes by a docket, in the background.
    pub(crate) fn observe(&self, docket: &Docket) {
        let Some(sighting) = Sighting::of(docket) else {
            return;
        };
        match self {
            Self::File(ledger) => ledger.store.observe(sighting),
            Self::Own(storage) => {
                let storage = storage.clone();
                tokio::spawn(async move {
                    if let Err(error) = storage.observe(&sighting).await {
                        log_not_observed(&sighting, &error);
                    }
                });
            }
        }
    }
}

impl ledger::Ledger for Keys {
    type Claim = Begun;

    async fn claim(&self, create: &Claim) -> Claimed<Begun> {
        let create = create.clone();
        let claimed = match self {
            Self::File(ledger) => ledger.store.claim(create).await,
            Self::Own(storage) => {
                let storage = storage.clone();
                // In a task of its own: a key that is taken although the caller is gone is free.
                let task = tokio::spawn(async move {
                    let claimed = storage.claim(&create).await;
                    claimed.map(|name| Begun::new(create, TakenClaim::Own(storage, name)))
                });
                task.await.map_err(|error| error.to_string())
            }
        };
        let claimed = claimed.unwrap_or_else(Claimed::Failed);
        claimed.map(|mut begun| {
            let message = "the operation was dropped before its outcome was known";
            begun.if_dropped = Some(dropped(State::Unknown, message));
            begun
        })
    }

    async fn record(&self, begun: Begun, outcome: &Outcome) {
        // In a task of its own: an outcome that is known is recorded even if the caller is gone.
        let recorded = tokio::spawn(begun.record(outcome.clone()).in_current_span());
        let _ = recorded.await;
    }
}

impl Begun {
    pub(super) fn new(create: Claim, claim: TakenClaim) -> Self {
        let message = "the operation was dropped before its request was sent";
        Self {
            key: create.key,
            function: create.function,
            claim,
            if_dropped: Some(dropped(State::Free, message)),
        }
    }

    async fn record(mut self, outcome: Outcome) {
        let recorded = match &self.claim {
            TakenClaim::File(claim) => claim.end(&self.key, &outcome).await,
            TakenClaim::Own(storage, name) => storage.record(&self.key, name, &outcome).await,
        };
        match recorded {
            Ok(()) => self.if_dropped = None,
            Err(error) => {
                let id = created_id(self.function, outcome.answer.as_deref());
                let created = id.map_or(String::new(), |id| format!(" (it has created {id})"));
                tracing::error!(
                    "how the create with the key {:?} ended{created} could not be recorded in the ledger {error}",
                    self.key
                );
            }
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Some(outcome) = self.if_dropped.take() else {
            return;
        };
        let key = mem::take(&mut self.key);
        match &self.claim {
            TakenClaim::File(claim) => drop(claim.end(&key, &outcome)),
            TakenClaim::Own(storage, name) => {
                let Ok(runtime) = Handle::try_current() else {
                    return;
                };
                let (storage, name) = (storage.clone(), name.clone());
                runtime.spawn(async move {
                    if let Err(error) = storage.record(&key, &name, &outcome).await {
                        tracing::error!("that the create with the key {key:?} was dropped could not be recorded in the ledger {error}");
                    }
                });
            }
        }
    }
}

/// Returns the outcome of a create that was dropped.
fn dropped(state: State, message: &str) -> Outcome {
    Outcome {
        state,
        answer: None,
        message: Some(message.to_owned()),
    }
}

pub(super) fn log_not_observed(sighting: &Sighting, error: &str) {
    let id = &sighting.docket_id;
    tracing::error!("that docket {id} was seen could not be recorded in the ledger {error}");
}
