//! Creates that are carried out once: a [`Ledger`] has each of them on disk before its first byte
//! is sent, so that a program that was killed can be run again and calls no one twice.

mod digest;
mod file;
mod hold;
mod keys;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod storage;
mod store;
mod writer;

use crate::error::Error;
use digest::{DigestKey, NUMBER, json};
use file::LedgerFile;
pub use hold::{Hold, hold};
pub(crate) use keys::Keys;
use std::collections::HashMap;
use std::path::{self, Path};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{error, fmt};
pub use storage::{Change, Storage, StorageFuture};
use store::Store;
#[cfg(feature = "postgres")]
pub use tokio_postgres;
pub use voice_calling_core::ledger::{Digests, Entry as StoredEntry, Found, Reply, State};
use voice_calling_core::ledger::{Event, transition};
use writer::Writer;

/// A file with the keys and outcomes of creates, for any number of clients, tasks and processes on
/// one machine. [`Builder::ledger`](crate::Builder::ledger) gives it to a client, which uses it for
/// creates [with a key](crate::Client::with_key).
///
/// The file is a SQLite database, readable and writable by its owner only, on a local disk. It is
/// whole between two creates: it can be copied, backed up, and mounted alone into a container. It
/// contains keys and times, and the id and the status of each answer. Arguments, phone numbers
/// among them, are in it only as digests with a random key of the file. A row that was changed by
/// anything else, and a file that lost rows, are recognised, and nothing is sent for them. A copy
/// that was made earlier and is put back cannot be recognised before it is opened: it does not
/// contain later calls.
///
/// A create that is in progress holds a claim, which ends ten seconds after the create's deadline. If
/// its outcome is not recorded by then, its process is gone, and the outcome is unknown.
///
/// Clones are the same ledger. A thread writes the file; changes that arrive at the same time are
/// written together. Dropping the last clone, those of clients included, waits for that thread and
/// closes the file. A ledger must not be used in the child of a `fork`, unless the child executes
/// another program; [`hold()`] lets the child open another one.
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
    /// The method of [`Client`](crate::Client), such as `create_docket_v2`.
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

impl Entry {
    fn new(key: String, entry: StoredEntry) -> Self {
        let created_id = entry.created_id();
        let (_, method) = entry.function.split_once('.').unwrap_or_default();
        Self {
            key,
            function: method.replace('-', "_"),
            state: entry.state_at(now_ms()),
            begun_at: time_of(entry.begun_ms),
            ended_at: entry.ended_ms.map(time_of),
            created_id,
            message: entry.message,
            resolved_by: entry.resolved_by,
        }
    }
}

impl Ledger {
    /// Opens the file, or creates it, and checks all of it. Blocks the thread meanwhile: for a few
    /// milliseconds, for a second if it has a million keys, or up to half a minute if other
    /// processes have locked the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used: [`Error::problem`] names it.
    ///
    /// # Examples
    /// ```
    /// use voice_calling::Ledger;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("calls.db");
    /// let ledger = Ledger::open(path)?;
    /// # Ok::<_, voice_calling::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let open = || -> Result<Writer, Box<dyn error::Error>> {
            let path = path::absolute(path)?;
            let file = LedgerFile::open(&path)?;
            Ok(Writer::start(path, file)?)
        };
        let writer = open().map_err(|error| {
            let found = file::found(path, &*error);
            let allowed = "a file of a ledger, or a path where one can be created, on a local disk \
                           with room";
            Error::configuration("ledger", found, allowed)
        })?;
        Ok(Self {
            store: Store::File(writer),
        })
    }

    /// Returns a ledger on your own storage. `secret` is the key of the digests that are stored in
    /// place of arguments, which contain phone numbers: at least 16 bytes, which are the same for
    /// all programs that use the storage, and are kept elsewhere.
    ///
    /// # Errors
    /// Returns an error if the secret is shorter.
    pub fn on(storage: impl Storage, secret: impl AsRef<[u8]>) -> Result<Self, Error> {
        let digest_key = digest_key(secret.as_ref())?;
        Ok(Self {
            store: Store::Own(Arc::new(storage), digest_key),
        })
    }

    /// Connects to a database of PostgreSQL, 9.5 or newer, in which a table has the keys for any
    /// number of clients on any number of machines. It is created unless it exists:
    ///
    /// ```sql
    #[doc = include_str!("ledger/postgres.sql")]
    /// ```
    ///
    /// `tls` is [`NoTls`](tokio_postgres::NoTls), or a connector such as that of the crates
    /// `tokio-postgres-rustls` and `postgres-native-tls`: set `sslmode=require` with it. `secret` is
    /// that of [`on`](Self::on), and also signs each row. The user of the database reads and writes
    /// the table, and creates it unless it exists. There must be no pooler in between that gives
    /// each transaction another session.
    ///
    /// A row that was changed by anything else, or with another secret, is unknown, and nothing is
    /// sent for it. What a table has lost cannot be recognised: rows that were deleted, a database
    /// that was restored from a backup, or a replica that took over and lagged. Calls that are
    /// missing then are made again.
    ///
    /// If the database is away, a create fails, and nothing is sent; an outcome is recorded when it
    /// is back within 30 seconds, or is unknown.
    ///
    /// # Errors
    /// Returns an error if the secret is too short, or the table cannot be used.
    #[cfg(feature = "postgres")]
    pub async fn postgres<T>(
        config: tokio_postgres::Config,
        tls: T,
        secret: impl AsRef<[u8]>,
    ) -> Result<Self, Error>
    where
        T: tokio_postgres::tls::MakeTlsConnect<
                tokio_postgres::Socket,
                Stream: Send,
                TlsConnect: Send,
            > + Clone
            + Send
            + Sync
            + 'static,
        <T::TlsConnect as tokio_postgres::tls::TlsConnect<tokio_postgres::Socket>>::Future: Send,
    {
        let digest_key = digest_key(secret.as_ref())?;
        let storage = postgres::Postgres::open(config, tls, digest_key.clone()).await;
        Ok(Self {
            store: Store::Own(Arc::new(storage.map_err(unusable)?), digest_key),
        })
    }

    /// Returns the entry of a key.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example(ledger: voice_calling::Ledger) -> Result<(), voice_calling::Error> {
    /// let entry = ledger.get("crm-1").await?.unwrap();
    /// assert_eq!(entry.state, voice_calling::ledger::State::Unknown);
    /// # Ok(()) }
    /// ```
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, Error> {
        let read = self.store.change(key, |entry| (entry, Reply::Ignored));
        let (entry, _) = read.await.map_err(unusable)?;
        Ok(entry.map(|entry| Entry::new(key.to_owned(), entry)))
    }

    /// Returns the entries with unknown outcomes, the oldest first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example(ledger: voice_calling::Ledger) -> Result<(), voice_calling::Error> {
    /// for entry in ledger.unknown().await? {
    ///     println!("{} since {:?}: {:?}", entry.key, entry.begun_at, entry.message);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn unknown(&self) -> Result<Vec<Entry>, Error> {
        let mut unknown = self
            .entries("", |key, entry| {
                let entry = Entry::new(key, entry);
                (entry.state == State::Unknown).then_some(entry)
            })
            .await?;
        unknown.sort_by_key(|entry| entry.begun_at);
        Ok(unknown)
    }

    /// Returns the entries of the creates that call one of these numbers, each with its number: of
    /// those that are not free, and whose keys begin with the prefix. The numbers are in the form in
    /// which they were sent.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example(ledger: voice_calling::Ledger) -> Result<(), voice_calling::Error> {
    /// for (number, entry) in ledger.calls_to(&["910000000000"], "renewals/").await? {
    ///     println!("{number} was called by {} at {:?}", entry.key, entry.begun_at);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn calls_to<N: AsRef<str>>(
        &self,
        numbers: &[N],
        key_prefix: &str,
    ) -> Result<Vec<(String, Entry)>, Error> {
        let digest_key = self.store.digest_key();
        let digests_of = |function: &String| {
            let numbers = numbers.iter().map(AsRef::as_ref);
            let digests = numbers.map(|number: &str| {
                let digest = digest_key.of_argument(function, NUMBER, &json(&number));
                (digest, number.to_owned())
            });
            HashMap::<_, _>::from_iter(digests)
        };
        let mut by_function = HashMap::new();
        let mut number_of = |entry: &StoredEntry| {
            let function = by_function.entry(entry.function.clone());
            let numbers = function.or_insert_with_key(digests_of);
            numbers.get(entry.digests.get(NUMBER)?).cloned()
        };
        self.entries(key_prefix, |key, entry| {
            let number = number_of(&entry)?;
            let entry = Entry::new(key, entry);
            (entry.state != State::Free).then_some((number, entry))
        })
        .await
    }

    /// Records what a create with an unknown outcome has created: the id of the docket, task or
    /// agent. `by` names the person who made sure of it.
    ///
    /// # Errors
    /// Returns an error if the key has no entry with an unknown outcome, the id is not one of its
    /// function, or the file cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example(ledger: voice_calling::Ledger) -> Result<(), voice_calling::Error> {
    /// let docket_id = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    /// let entry = ledger.resolve("crm-1", docket_id, "Asha").await?;
    /// assert_eq!(entry.created_id.as_deref(), Some(docket_id));
    /// # Ok(()) }
    /// ```
    pub async fn resolve(
        &self,
        key: &str,
        created_id: impl fmt::Display,
        by: &str,
    ) -> Result<Entry, Error> {
        self.settle(key, Some(created_id.to_string()), by).await
    }

    /// Records that a create with an unknown outcome has created nothing, so that the next create
    /// with the key is sent. `by` names the person who made sure of it.
    ///
    /// # Errors
    /// Returns an error if the key has no entry with an unknown outcome, or the file cannot be
    /// used.
    ///
    /// # Examples
    /// ```
    /// # use voice_calling::{Client, DocketRequest, Error, Ledger};
    /// # async fn example(ledger: Ledger, client: Client, request: DocketRequest) -> Result<(), Error> {
    /// ledger.release("crm-1", "Asha").await?;
    /// client.with_key("crm-1").create_docket(&request).await?; // sent again
    /// # Ok(()) }
    /// ```
    pub async fn release(&self, key: &str, by: &str) -> Result<Entry, Error> {
        self.settle(key, None, by).await
    }

    /// Removes the entries that were done before this time, by the clock of the machine that recorded
    /// them, and returns their number. A create with such a key is sent again.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    ///
    /// # Examples
    /// ```
    /// # async fn example(ledger: voice_calling::Ledger) -> Result<(), voice_calling::Error> {
    /// use std::time::{Duration, SystemTime};
    ///
    /// let a_year_ago = SystemTime::now() - Duration::from_secs(365 * 24 * 3600);
    /// assert_eq!(ledger.prune(a_year_ago).await?, 0);
    /// # Ok(()) }
    /// ```
    pub async fn prune(&self, done_before: SystemTime) -> Result<usize, Error> {
        let pruned = self.store.prune(ms_of(done_before)).await;
        pruned.map_err(unusable)
    }

    /// Returns what is taken of the entries whose keys begin with the prefix.
    async fn entries<T>(
        &self,
        key_prefix: &str,
        mut take: impl FnMut(String, StoredEntry) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let (mut taken, mut after) = (Vec::new(), key_prefix.to_owned());
        // The prefix may be a key itself, and those that follow a key are without it.
        after.pop();
        loop {
            let page = self.store.entries_after(&after).await.map_err(unusable)?;
            let last = page.last().map(|(key, _)| key.clone()).unwrap_or_default();
            let found = page
                .into_iter()
                .filter(|(key, _)| key.starts_with(key_prefix));
            taken.extend(found.filter_map(|(key, entry)| take(key, entry)));
            // A damaged row may have no key.
            if last <= after || (*last > *key_prefix && !last.starts_with(key_prefix)) {
                return Ok(taken);
            }
            after = last;
        }
    }

    async fn settle(
        &self,
        key: &str,
        created_id: Option<String>,
        by: &str,
    ) -> Result<Entry, Error> {
        let by = by.to_owned();
        let settled = self.store.change(key, move |entry| {
            let event = match &created_id {
                Some(created_id) => Event::Resolve {
                    created_id,
                    by: &by,
                },
                None => Event::Release { by: &by },
            };
            transition(entry, event, now_ms())
        });
        match settled.await.map_err(unusable)? {
            (Some(entry), Reply::Recorded) => Ok(Entry::new(key.to_owned(), entry)),
            (_, Reply::Refused(problem)) => Err(problem.into()),
            (_, reply) => unreachable!("{reply:?}"),
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ledger = formatter.debug_struct("Ledger");
        if let Store::File(writer) = &self.store {
            ledger.field("path", &writer.path());
        }
        ledger.finish_non_exhaustive()
    }
}

/// Returns the key of the digests in a storage that others may read.
fn digest_key(secret: &[u8]) -> Result<DigestKey, Error> {
    if secret.len() < 16 {
        let found = format!("{} bytes", secret.len());
        return Err(Error::configuration("secret", found, "at least 16 bytes"));
    }
    Ok(DigestKey::new(secret))
}

fn unusable(found: String) -> Error {
    Error::configuration("ledger", found, "a ledger that can be read and written")
}

fn now_ms() -> u64 {
    ms_of(SystemTime::now())
}

fn ms_of(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_millis().try_into().unwrap_or(u64::MAX)
}

/// Returns a time that was stored; a damaged one may be beyond what the system can express.
fn time_of(ms: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    time.unwrap_or(UNIX_EPOCH)
}
