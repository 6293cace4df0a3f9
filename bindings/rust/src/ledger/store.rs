//! The thread that writes a ledger, and the claims that are open in this process.

use super::entries::Entries;
use super::file::{self, LedgerFile};
use super::storage::{Begun, TakenClaim, log_not_observed};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{io, iter};
use tokio::sync::oneshot;
use voice_calling_core::ledger::{self, Claimed, Outcome, Sighting};

/// A change to the file, within a transaction.
pub(super) type Change = Box<dyn FnOnce(&Entries<'_>) -> rusqlite::Result<End> + Send>;

/// Reports a change that is on disk. If it is dropped, the change was not made.
pub(super) type End = Box<dyn FnOnce() + Send>;

/// An open ledger. Clones share it.
#[derive(Clone)]
pub(crate) struct Store(Arc<Shared>);

struct Shared {
    path: PathBuf,
    owner: String,
    next_claim: AtomicU64,
    open_claims: Arc<OpenClaims>,
    /// The reason for the latest failure.
    failure: Arc<Mutex<String>>,
    changes: Option<Sender<Change>>,
    thread: Option<JoinHandle<()>>,
}

/// The names of the claims that were taken and have no recorded outcome.
#[derive(Default)]
pub(super) struct OpenClaims(Mutex<HashSet<String>>);

/// A claim that was taken. It is open until this is dropped.
pub(super) struct OpenClaim {
    store: Store,
    name: String,
}

impl Store {
    pub(super) fn start(path: PathBuf, file: LedgerFile) -> io::Result<Self> {
        let (changes, receiver) = channel();
        let gone = format!("{}: its thread has ended", path.display());
        let mut shared = Shared {
            path,
            owner: file.owner().to_owned(),
            next_claim: AtomicU64::new(1),
            open_claims: Arc::default(),
            failure: Arc::new(Mutex::new(gone)),
            changes: Some(changes),
            thread: None,
        };
        let (path, open_claims) = (shared.path.clone(), shared.open_claims.clone());
        let failure = shared.failure.clone();
        let thread = thread::Builder::new().name("voice-calling-ledger".to_owned());
        let thread = thread.spawn(move || write(&path, file, &open_claims, &failure, &receiver))?;
        shared.thread = Some(thread);
        Ok(Self(Arc::new(shared)))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Makes a change, even if the future is dropped, which waits until it is on disk. The error
    /// names the file.
    pub(super) fn commit<T, C>(
        &self,
        change: C,
    ) -> impl Future<Output = Result<T, String>> + use<T, C>
    where
        T: Send + 'static,
        C: FnOnce(&Entries<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let (made, store) = (self.submit(change), self.clone());
        async move {
            match made.await {
                Ok(made) => made.map_err(|error| file::found(&store.0.path, &error)),
                Err(_) => Err(lock(&store.0.failure).clone()),
            }
        }
    }

    /// Resolves unknown outcomes by a docket, in the background.
    pub(super) fn observe(&self, sighting: Sighting) {
        let path = self.0.path.clone();
        drop(self.submit(move |entries| {
            let observed = entries.observe(&sighting);
            observed.inspect_err(|error| {
                log_not_observed(&sighting, &format!("{}: {error}", path.display()))
            })
        }));
    }

    /// Sends a change to the thread. The receiver gets its result once it is on disk, and nothing
    /// if the file cannot be written. A change that cannot read an entry fails alone.
    fn submit<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Entries<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> oneshot::Receiver<rusqlite::Result<T>> {
        let (sender, receiver) = oneshot::channel();
        let change: Change = Box::new(|entries| match change(entries) {
            Err(error) if !is_of_entry(&error) => Err(error),
            made => Ok(Box::new(|| drop(sender.send(made)))),
        });
        if let Some(changes) = &self.0.changes {
            // If the thread has panicked, the receiver gets nothing.
            let _ = changes.send(change);
        }
        receiver
    }
}

/// Returns `true` if an entry cannot be read, which does not affect others.
fn is_of_entry(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
    )
}

impl Store {
    /// Records that a create is begun, unless its key has an entry that is not free. The error
    /// names the file.
    pub(super) async fn claim(&self, create: ledger::Claim) -> Result<Claimed<Begun>, String> {
        let store = self.clone();
        let number = self.0.next_claim.fetch_add(1, Relaxed);
        let name = format!("{}/{number}", self.0.owner);
        let claimed = self.commit(move |entries| {
            if let Some(entry) = entries.begin(&create, &name)? {
                return Ok(Claimed::Found(entry));
            }
            lock(&store.0.open_claims.0).insert(name.clone());
            let claim = TakenClaim::File(Arc::new(OpenClaim { store, name }));
            Ok(Claimed::Taken(Begun::new(create, claim)))
        });
        claimed.await
    }
}

impl OpenClaim {
    /// Records how the create ended, even if the future is dropped: the claim is open until that
    /// is written. The error names the file.
    pub(super) fn end(
        self: &Arc<Self>,
        key: &str,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<(), String>> + use<> {
        let (claim, key, outcome) = (self.clone(), key.to_owned(), outcome.clone());
        let ended = self.store.commit(move |entries| {
            entries.end(&key, &claim.name, &outcome)?;
            Ok(claim)
        });
        async { ended.await.map(drop) }
    }
}

impl Drop for OpenClaim {
    fn drop(&mut self) {
        lock(&self.store.0.open_claims.0).remove(&self.name);
    }
}

impl OpenClaims {
    pub(super) fn contains(&self, name: &str) -> bool {
        lock(&self.0).contains(name)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.changes.take());
        let thread = self.thread.take();
        // The thread itself may drop the last clone.
        let thread = thread.filter(|it| it.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Commits changes until there are no more senders. Changes that have queued up are committed
/// together.
fn write(
    path: &Path,
    mut file: LedgerFile,
    open_claims: &OpenClaims,
    failure: &Mutex<String>,
    changes: &Receiver<Change>,
) {
    while let Ok(first) = changes.recv() {
        let together: Vec<_> = iter::once(first).chain(changes.try_iter()).collect();
        // Callers whose change is dropped meanwhile read the failure afterwards.
        let mut failure = lock(failure);
        match file.commit(together, open_claims) {
            Ok(ends) => ends.into_iter().for_each(|end| end()),
            Err(error) => {
                *failure = file::found(path, &*error);
                tracing::error!("the ledger could not be written: {failure}");
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
