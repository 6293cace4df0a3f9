//! The storage of a client's keys: a file, or the user's own storage.

use super::Ledger;
use super::entries::created_id;
use super::store;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};
use tracing::Instrument;
use voice_calling_core::ledger::{self, Claim, Claimed, Outcome, Sighting, State};
use voice_calling_core::types::Docket;

/// The time for which recording an outcome is retried, since a disk may be full only for a moment.
const RECORD_LIMIT: Duration = Duration::from_secs(1);

const RECORD_PAUSE: Duration = Duration::from_millis(100);

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
    /// meanwhile. The error says why it was not recorded; then it is retried for a second.
    fn record<'a>(
        &'a self,
        key: &'a str,
        claim_name: &'a str,
        outcome: &'a Outcome,
    ) -> StorageFuture<'a, Result<(), String>>;

    /// Resolves the entries that are unknown, have one of the keys and the same `to_phone_number`,
    /// and are of a function of `dockets`: they become done.
    fn observe<'a>(&'a self, sighting: &'a Sighting) -> StorageFuture<'a, Result<(), String>>;

    /// Returns `true` if a create waits, until its deadline, for another one with its key that is
    /// in progress. Otherwise it is an error.
    fn waits_in_progress(&self) -> bool {
        false
    }
}

/// The storage of a client's keys.
#[derive(Clone)]
pub(crate) enum Keys {
    File(Ledger),
    Own(Arc<dyn Storage>),
}

/// A create whose claim was taken. If it is dropped before its outcome is recorded, the outcome is
/// unknown.
pub(crate) struct Begun {
    function: &'static str,
    claim: TakenClaim,
}

enum TakenClaim {
    File(Arc<store::Claim>),
    Own(OwnClaim),
}

struct OwnClaim {
    storage: Arc<dyn Storage>,
    key: String,
    name: String,
    /// The outcome to record if it is dropped.
    if_dropped: Option<Outcome>,
}

impl Keys {
    pub(crate) fn waits_in_progress(&self) -> bool {
        match self {
            Self::File(ledger) => ledger.waits_in_progress,
            Self::Own(storage) => storage.waits_in_progress(),
        }
    }

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

    async fn claim(&self, claim: &Claim) -> Claimed<Begun> {
        let claimed = match self {
            Self::File(ledger) => ledger.store.claim(claim).await.map(TakenClaim::File),
            Self::Own(storage) => OwnClaim::take(storage.clone(), claim.clone())
                .await
                .map(TakenClaim::Own),
        };
        claimed.map(|taken| Begun {
            function: claim.function,
            claim: taken,
        })
    }

    async fn record(&self, begun: Begun, outcome: &Outcome) {
        // In a task of its own: an outcome that is known is recorded even if the caller is gone.
        let recorded = tokio::spawn(begun.record(outcome.clone()).in_current_span());
        let _ = recorded.await;
    }
}

impl Begun {
    async fn record(mut self, outcome: Outcome) {
        let began = Instant::now();
        while let Err(error) = self.claim.record(&outcome).await {
            if began.elapsed() >= RECORD_LIMIT {
                let (key, answer) = (self.claim.key(), outcome.answer.as_deref());
                let id = created_id(self.function, answer);
                let created = id.map_or(String::new(), |id| format!(" (it has created {id})"));
                tracing::error!(
                    "how the create with the key {key:?} ended{created} could not be recorded in the ledger {error}"
                );
                return;
            }
            sleep(RECORD_PAUSE).await;
        }
    }
}

impl TakenClaim {
    fn key(&self) -> &str {
        match self {
            Self::File(claim) => claim.key(),
            Self::Own(claim) => &claim.key,
        }
    }

    async fn record(&mut self, outcome: &Outcome) -> Result<(), String> {
        match self {
            Self::File(claim) => store::record(claim, outcome).await,
            Self::Own(claim) => claim.record(outcome).await,
        }
    }
}

impl OwnClaim {
    /// Takes a key in its own task: if the caller is gone meanwhile, the key is free again.
    async fn take(storage: Arc<dyn Storage>, create: Claim) -> Claimed<Self> {
        let task = tokio::spawn(async move {
            storage.claim(&create).await.map(|name| Self {
                storage: storage.clone(),
                key: create.key.clone(),
                name,
                if_dropped: Some(not_sent()),
            })
        });
        let claimed = task
            .await
            .unwrap_or_else(|error| Claimed::Failed(error.to_string()));
        claimed.map(|mut claim| {
            let message = "the operation was dropped before its outcome was known";
            claim.if_dropped = Some(Outcome {
                state: State::Unknown,
                message: Some(message.to_owned()),
                answer: None,
            });
            claim
        })
    }

    async fn record(&mut self, outcome: &Outcome) -> Result<(), String> {
        self.storage.record(&self.key, &self.name, outcome).await?;
        self.if_dropped = None;
        Ok(())
    }
}

impl Drop for OwnClaim {
    fn drop(&mut self) {
        let (Some(outcome), Ok(runtime)) = (self.if_dropped.take(), Handle::try_current()) else {
            return;
        };
        let storage = self.storage.clone();
        let (key, name) = (mem::take(&mut self.key), mem::take(&mut self.name));
        runtime.spawn(async move {
            if let Err(error) = storage.record(&key, &name, &outcome).await {
                tracing::error!("that the create with the key {key:?} was dropped could not be recorded in the ledger {error}");
            }
        });
    }
}

/// Returns the outcome of a create that was dropped between its claim and its request.
pub(super) fn not_sent() -> Outcome {
    let message = "the operation was dropped before its request was sent";
    Outcome {
        state: State::Free,
        answer: None,
        message: Some(message.to_owned()),
    }
}

pub(super) fn log_not_observed(sighting: &Sighting, error: &str) {
    let id = &sighting.docket_id;
    tracing::error!("that docket {id} was seen could not be recorded in the ledger {error}");
}
