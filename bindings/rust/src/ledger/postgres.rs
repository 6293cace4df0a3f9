//! A table of PostgreSQL, which the clients of several machines use.
//!
//! A row is replaced only if it is the one that was read: each statement is a transaction of its
//! own, and no lock is held while this program decides, or after it is gone. If the connection is
//! lost before the answer, the row is read again, and tells whether it was written.

use super::digest::{DigestKey, json};
use super::storage::{Change, PAGE_ROWS, Storage, StorageFuture};
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Row, Socket};
use voice_calling_core::ledger::{Entry, Reply};

/// The number of connections, each of which writes one change at a time.
const CONNECTIONS: usize = 4;

/// The time for an answer of the server, whose own limit for a statement is a second less.
const ANSWER_LIMIT: Duration = Duration::from_secs(4);

/// The time for a change, on new connections if one is lost.
const CHANGE_LIMIT: Duration = Duration::from_secs(30);

const RETRY_PAUSE: Duration = Duration::from_millis(250);

const SCHEMA: &str = include_str!("postgres.sql");

/// An outcome that was recorded must survive a crash of the server.
const SETTINGS: &str = "
SET statement_timeout = '3s';
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'";

const READ: &str = "SELECT key, entry::text, digest FROM voice_calling_creates WHERE key = $1";

const INSERT: &str = "
INSERT INTO voice_calling_creates (key, entry, created_id, digest)
VALUES ($1, $2::json, $3, $4) ON CONFLICT DO NOTHING RETURNING true";

const REPLACE: &str = "
UPDATE voice_calling_creates SET entry = $2::json, created_id = $3, digest = $4
WHERE key = $1 AND digest = $5 RETURNING true";

const PAGE: &str = "
SELECT key, entry::text, digest FROM voice_calling_creates
WHERE key > $1 ORDER BY key LIMIT $2";

const OTHER: &str =
    "SELECT true FROM voice_calling_creates WHERE created_id = $1 AND key <> $2 LIMIT 1";

const PRUNE: &str = "
DELETE FROM voice_calling_creates
WHERE entry->>'state' = 'done' AND (entry->>'ended_ms')::numeric < $1::text::numeric";

pub(super) struct Postgres {
    connect: Connect,
    digest_key: DigestKey,
    connections: [Mutex<Option<Arc<Connection>>>; CONNECTIONS],
    next: AtomicUsize,
}

type Connect = Box<dyn Fn() -> StorageFuture<'static, Result<Client, Error>> + Send + Sync>;

struct Connection {
    client: Client,
    /// Whether an answer is missing.
    is_stuck: AtomicBool,
}

/// A row that was read.
struct Stored {
    key: String,
    entry: Entry,
    digest: Vec<u8>,
}

/// Says why a statement failed.
struct Failed {
    found: String,
    /// Whether it may succeed on a new connection.
    is_passing: bool,
}

impl Failed {
    fn no_answer() -> Self {
        Self {
            found: format!("PostgreSQL has not answered within {ANSWER_LIMIT:?}"),
            is_passing: true,
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}"));
        // The classes of a lost connection, a conflict and a server that stops; its last one.
        let is_passing = |code: &str| {
            ["08", "40", "57"].iter().any(|it| code.starts_with(it)) || code == "53300"
        };
        Self {
            found: format!("PostgreSQL: {error}{}", cause.unwrap_or_default()),
            is_passing: error.code().is_none_or(|code| is_passing(code.code())),
        }
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> Self {
        failed.found
    }
}

impl Postgres {
    /// Connects, and creates the table unless it exists.
    pub(super) async fn open<T>(
        config: Config,
        tls: T,
        digest_key: DigestKey,
    ) -> Result<Self, String>
    where
        T: MakeTlsConnect<Socket, Stream: Send, TlsConnect: Send> + Clone + Send + Sync + 'static,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let connect: Connect = Box::new(move || {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move {
                let (client, connection) = config.connect(tls).await?;
                // Its error is that of the statements that it breaks.
                tokio::spawn(async { drop(connection.await) });
                client.batch_execute(SETTINGS).await?;
                Ok(client)
            })
        });
        let postgres = Self {
            connect,
            digest_key,
            connections: Default::default(),
            next: AtomicUsize::new(0),
        };
        postgres.create_table().await?;
        Ok(postgres)
    }

    async fn create_table(&self) -> Result<(), Failed> {
        let client = self.connect().await?;
        // Others may create it at the same time.
        let begin = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('voice_calling_creates'))";
        client.batch_execute(begin).await?;
        let exists = "SELECT to_regclass('voice_calling_creates') IS NOT NULL";
        let exists = client.query_typed(exists, &[]).await?;
        if !exists[0].try_get::<_, bool>(0)? {
            client.batch_execute(SCHEMA).await?;
        }
        Ok(client.batch_execute("COMMIT").await?)
    }

    async fn connect(&self) -> Result<Client, Failed> {
        let connected = timeout(ANSWER_LIMIT, (self.connect)()).await;
        Ok(connected.map_err(|_| Failed::no_answer())??)
    }

    /// Returns one of the connections, a new one if it was lost.
    async fn connection(&self) -> Result<Arc<Connection>, Failed> {
        let index = self.next.fetch_add(1, Relaxed) % CONNECTIONS;
        let mut current = self.connections[index].lock().await;
        if let Some(connection) = &*current
            && !connection.client.is_closed()
            && !connection.is_stuck.load(Relaxed)
        {
            return Ok(connection.clone());
        }
        let new = Arc::new(Connection {
            client: self.connect().await?,
            is_stuck: AtomicBool::new(false),
        });
        *current = Some(new.clone());
        Ok(new)
    }

    async fn query(
        &self,
        statement: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Failed> {
        let connection = self.connection().await?;
        let query = connection.client.query_typed(statement, values);
        match timeout(ANSWER_LIMIT, query).await {
            Ok(rows) => Ok(rows?),
            Err(_) => {
                connection.is_stuck.store(true, Relaxed);
                Err(Failed::no_answer())
            }
        }
    }

    /// Reads the entry of a key, and replaces it. Returns `None` if another change came first.
    /// `written` are the digests that were written, perhaps, and the replies of their changes.
    async fn try_update(
        &self,
        key: &str,
        change: &mut Change,
        written: &mut Vec<([u8; 16], Reply)>,
    ) -> Result<Option<Reply>, Failed> {
        let rows = self.query(READ, &[(&key, Type::TEXT)]).await?;
        let stored = rows.first().map(|row| self.stored(row)).transpose()?;
        let (entry, stored) = stored.map(|it| (it.entry, it.digest)).unzip();
        if let Some(stored) = &stored
            && let Some((_, reply)) = written.iter().find(|(digest, _)| digest[..] == stored[..])
        {
            return Ok(Some(reply.clone()));
        }
        let (entry, reply) = change(entry);
        let (Some(entry), true) = (entry, reply.is_change()) else {
            return Ok(Some(reply));
        };
        let digest = self.digest_key.of_row(key, &entry);
        written.push((digest, reply.clone()));
        let digest = &digest[..];
        let (entry, created_id) = (json(&entry), entry.created_id());
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![
            (&key, Type::TEXT),
            (&entry, Type::TEXT),
            (&created_id, Type::TEXT),
            (&digest, Type::BYTEA),
        ];
        let replaced = match &stored {
            None => self.query(INSERT, &values).await?,
            Some(stored) => {
                values.push((stored, Type::BYTEA));
                self.query(REPLACE, &values).await?
            }
        };
        Ok((!replaced.is_empty()).then_some(reply))
    }

    /// Reads a row, whatever is in it.
    fn stored(&self, row: &Row) -> Result<Stored, Failed> {
        let (key, entry): (String, &str) = (row.try_get(0)?, row.try_get(1)?);
        let digest: Vec<u8> = row.try_get(2)?;
        let entry = serde_json::from_str(entry).unwrap_or_default();
        let its_digest = digest[..].try_into().ok();
        let entry = self.digest_key.verified(&key, entry, its_digest);
        Ok(Stored { key, entry, digest })
    }
}

impl Storage for Postgres {
    fn update<'a>(
        &'a self,
        key: &'a str,
        mut change: Change,
    ) -> StorageFuture<'a, Result<Reply, String>> {
        Box::pin(async move {
            let mut written = Vec::new();
            let began = Instant::now();
            loop {
                match self.try_update(key, &mut change, &mut written).await {
                    Ok(Some(reply)) => return Ok(reply),
                    Ok(None) => {}
                    Err(failed) if failed.is_passing && began.elapsed() < CHANGE_LIMIT => {
                        tracing::warn!("the ledger is tried again: {}", failed.found);
                        sleep(RETRY_PAUSE).await;
                    }
                    Err(failed) => return Err(failed.found),
                }
            }
        })
    }

    fn entries_after<'a>(
        &'a self,
        key: &'a str,
    ) -> StorageFuture<'a, Result<Vec<(String, Entry)>, String>> {
        Box::pin(async move {
            let limit = i64::from(PAGE_ROWS);
            let values: [(&(dyn ToSql + Sync), Type); 2] =
                [(&key, Type::TEXT), (&limit, Type::INT8)];
            let rows = self.query(PAGE, &values).await?;
            let rows = rows.iter().map(|row| self.stored(row));
            let entries = rows.map(|row| row.map(|it| (it.key, it.entry)));
            Ok(entries.collect::<Result<_, _>>()?)
        })
    }

    fn prune(&self, done_before_ms: u64) -> StorageFuture<'_, Result<usize, String>> {
        Box::pin(async move {
            // It may take longer than other statements, which must not wait for it.
            let client = self.connect().await?;
            let before = done_before_ms.to_string();
            let prune = async {
                client.batch_execute("SET statement_timeout = 0").await?;
                client.execute_typed(PRUNE, &[(&before, Type::TEXT)]).await
            };
            let pruned = prune.await.map_err(Failed::from)?;
            Ok(usize::try_from(pruned).unwrap_or(usize::MAX))
        })
    }

    fn is_of_another_key<'a>(
        &'a self,
        created_id: &'a str,
        key: &'a str,
    ) -> StorageFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let values: [(&(dyn ToSql + Sync), Type); 2] =
                [(&created_id, Type::TEXT), (&key, Type::TEXT)];
            Ok(!self.query(OTHER, &values).await?.is_empty())
        })
    }
}
