//! Creates that are carried out once: a [`Ledger`] has each of them on disk before its first byte
//! is sent, so that a program that was killed can be run again and calls no one twice.

mod entries;
mod file;
mod storage;
mod store;

use crate::error::Error;
use file::LedgerFile;
use std::path::{self, Path};
use std::time::SystemTime;
use std::{error, fmt};
pub(crate) use storage::Keys;
pub use storage::{Storage, StorageFuture};
use store::Store;
use voice_calling_core as core;
pub use voice_calling_core::ledger::{
    Claim, Claimed, Entry as StoredEntry, Outcome, Sighting, State,
};
use voice_calling_core::types::RequestError;

/// A file with the keys and outcomes of creates, for any number of clients, tasks and processes on
/// one machine. [`Builder::ledger`](crate::Builder::ledger) gives it to a client, which uses it for
/// [`once`](crate::Client::once). The project's clients in other languages can use the same file.
///
/// The file is a SQLite database, readable and writable by its owner only, on a local disk. It
/// contains keys and times, and the id and the status of each answer. Arguments, phone numbers
/// among them, are in it only as digests with a random key of the file. A restored copy does not
/// contain later calls.
///
/// Clones are the same ledger. A thread writes the file; changes that arrive at the same time are
/// written together. Dropping the last clone, those of clients included, waits for that thread and
/// closes the file. A ledger must not be used in the child of a `fork`, unless the child executes
/// another program.
#[derive(Clone)]
pub struct Ledger {
    store: Store,
}

/// A key of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The method of [`Once`](crate::Once), such as `create_docket_v2`.
    pub function: String,
    /// The state.
    pub state: State,
    /// When a create with the key was last begun, by the clock of its machine.
    pub begun_at: SystemTime,
    /// When it ended, or was resolved.
    pub ended_at: Option<SystemTime>,
    /// The id of what was created, if it is known.
    pub created_id: Option<String>,
    /// The message of the error in which it ended.
    pub message: Option<String>,
    /// The person that resolved it, which is the `by` of [`resolve`](Ledger::resolve) or
    /// [`release`](Ledger::release), or `docket` for a docket that was fetched or verified.
    pub resolved_by: Option<String>,
}

impl Ledger {
    /// Opens the file, or creates it. Blocks the thread meanwhile: for a few milliseconds, or up to
    /// a minute if other processes have locked the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used: [`Error::problem`] names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let open = || -> Result<Store, Box<dyn error::Error>> {
            let path = path::absolute(path)?;
            let file = LedgerFile::open(&path)?;
            Ok(Store::start(path, file)?)
        };
        let store = open().map_err(|error| unusable(file::found(path, &*error)))?;
        Ok(Self { store })
    }

    /// Returns the entry of a key.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        let key = key.to_owned();
        let row = self.store.commit(move |entries| entries.get(&key)).await;
        Ok(row.map_err(unusable)?.map(|row| row.entry))
    }

    /// Returns the entries with unknown outcomes, the oldest first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub async fn unknown(&self) -> Result<Vec<Entry>, Error> {
        let unknown = self.store.commit(|entries| entries.unknown()).await;
        unknown.map_err(unusable)
    }

    /// Records what a create with an unknown outcome has created: the id of the docket, task or
    /// agent. `by` names the person who made sure of it.
    ///
    /// # Errors
    /// Returns an error if the key has no entry with an unknown outcome, the id is not one of its
    /// function, or the file cannot be used.
    pub async fn resolve(
        &self,
        key: &str,
        created_id: impl fmt::Display,
        by: &str,
    ) -> Result<Entry, Error> {
        let created_id = created_id.to_string();
        self.settle(key, Some(created_id), by).await
    }

    /// Records that a create with an unknown outcome has created nothing, so that the next create
    /// with the key is sent. `by` names the person who made sure of it.
    ///
    /// # Errors
    /// Returns an error if the key has no entry with an unknown outcome, or the file cannot be
    /// used.
    pub async fn release(&self, key: &str, by: &str) -> Result<Entry, Error> {
        self.settle(key, None, by).await
    }

    /// Removes the entries that were done before this time, and returns their number. A create with
    /// such a key is sent again.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub async fn prune(&self, done_before: SystemTime) -> Result<usize, Error> {
        let pruned = self.store.commit(move |entries| entries.prune(done_before));
        pruned.await.map_err(unusable)
    }

    async fn settle(
        &self,
        key: &str,
        created_id: Option<String>,
        by: &str,
    ) -> Result<Entry, Error> {
        let (key, by) = (key.to_owned(), by.to_owned());
        let settled = self.store.commit(move |entries| {
            let settled = entries.resolve(&key, created_id.as_deref(), &by)?;
            let entry = entries.get(&key)?.map(|row| row.entry);
            Ok(settled.map(|()| entry))
        });
        let entry = settled
            .await
            .map_err(unusable)?
            .map_err(RequestError::from)?;
        entry.ok_or(RequestError::ExecutionFailed.into())
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Ledger")
            .field("path", &self.store.path())
            .finish()
    }
}

fn unusable(found: String) -> Error {
    let allowed =
        "a file of a ledger, or a path where one can be created, on a local disk with room";
    core::configuration_error(core::problem("ledger", found, allowed)).into()
}
