//! The rows of a ledger's file, within a transaction.

use super::Reply;
use super::digest::{DigestKey, json};
use super::storage::PAGE_ROWS;
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement, params};
use std::cell::RefCell;
use voice_calling_core::ledger::{Entry, State};

const PUT: &str = "INSERT OR REPLACE INTO creates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const GET: &str = "SELECT * FROM creates WHERE key = ?";

const PAGE: &str = "SELECT * FROM creates WHERE key > ? ORDER BY key LIMIT ?";

/// What a file says about all of its rows. Rows that are lost, or come back from an older copy,
/// contradict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    /// The number of transactions that have changed the file.
    pub(super) generation: i64,
    pub(super) rows: i64,
    /// The digests of all rows, combined by exclusive or.
    pub(super) digest: [u8; 16],
}

impl Totals {
    /// Returns `true` if all rows are there.
    pub(super) fn agree(&self, database: &Connection) -> Result<bool> {
        let mut found = Self {
            rows: 0,
            digest: [0; 16],
            ..*self
        };
        let mut query = database.prepare("SELECT digest FROM creates")?;
        let mut rows = query.query(())?;
        while let Some(row) = rows.next()? {
            found.rows += 1;
            found.toggle(row.get(0).unwrap_or_default());
        }
        Ok(found == *self)
    }

    fn toggle(&mut self, digest: [u8; 16]) {
        for (total, byte) in self.digest.iter_mut().zip(digest) {
            *total ^= byte;
        }
    }
}

/// The statements that most transactions use. To prepare them takes longer than to carry them out.
pub(super) struct Statements<'a> {
    get: RefCell<Statement<'a>>,
    put: RefCell<Statement<'a>>,
    get_totals: RefCell<Statement<'a>>,
    put_totals: RefCell<Statement<'a>>,
}

impl<'a> Statements<'a> {
    pub(super) fn prepare(database: &'a Connection) -> Result<Self> {
        let prepare = |statement| database.prepare(statement).map(RefCell::new);
        Ok(Self {
            get: prepare(GET)?,
            put: prepare(PUT)?,
            get_totals: prepare("SELECT generation, rows, digest FROM totals")?,
            put_totals: prepare("UPDATE totals SET generation = ?, rows = ?, digest = ?")?,
        })
    }

    pub(super) fn totals(&self) -> Result<Totals> {
        self.get_totals.borrow_mut().query_row((), |row| {
            Ok(Totals {
                generation: row.get(0)?,
                rows: row.get(1)?,
                digest: row.get(2)?,
            })
        })
    }

    pub(super) fn put_totals(&self, totals: &Totals) -> Result<()> {
        let values = params![totals.generation, totals.rows, totals.digest];
        self.put_totals.borrow_mut().execute(values).map(drop)
    }
}

pub(super) struct Rows<'a, 'b> {
    database: &'a Connection,
    statements: &'a Statements<'b>,
    digest_key: &'a DigestKey,
    totals: RefCell<Totals>,
}

/// The digest of a row, if it is one.
type Stored = Option<[u8; 16]>;

impl<'a, 'b> Rows<'a, 'b> {
    pub(super) fn new(
        database: &'a Connection,
        statements: &'a Statements<'b>,
        digest_key: &'a DigestKey,
        totals: Totals,
    ) -> Self {
        Self {
            database,
            statements,
            digest_key,
            totals: RefCell::new(totals),
        }
    }

    /// Returns the totals with all changes.
    pub(super) fn totals(&self) -> Totals {
        *self.totals.borrow()
    }

    /// Changes the entry of a key.
    pub(super) fn change(
        &self,
        key: &str,
        change: impl FnOnce(Option<Entry>) -> (Option<Entry>, Reply),
    ) -> Result<Reply> {
        let (entry, stored) = self.row(key)?.unzip();
        let (entry, reply) = change(entry);
        if let (Some(entry), true) = (entry, reply.is_change()) {
            self.put(key, &entry, stored)?;
        }
        Ok(reply)
    }

    /// Returns the entries whose keys follow this one.
    pub(super) fn page(&self, after: &str) -> Result<Vec<(String, Entry)>> {
        let mut query = self.database.prepare(PAGE)?;
        query
            .query_map((after, PAGE_ROWS), |row| Ok(self.read(row)))?
            .collect()
    }

    /// Returns `true` if a docket is the answer of another key.
    pub(super) fn is_of_another_key(&self, docket_id: &str, key: &str) -> Result<bool> {
        let query = "SELECT 1 FROM creates WHERE created_id = ? AND key <> ?";
        self.database.prepare(query)?.exists([docket_id, key])
    }

    /// Removes the entries that were done before a time, and returns their number.
    pub(super) fn prune(&self, before_ms: u64) -> Result<usize> {
        let old = "FROM creates WHERE state = 'done' AND ended_ms < ?";
        let before_ms = stored_ms(before_ms);
        let mut query = self.database.prepare(&format!("SELECT digest {old}"))?;
        let mut rows = query.query([before_ms])?;
        let mut totals = self.totals.borrow_mut();
        while let Some(row) = rows.next()? {
            totals.toggle(row.get(0)?);
            totals.rows -= 1;
        }
        self.database.execute(&format!("DELETE {old}"), [before_ms])
    }

    fn row(&self, key: &str) -> Result<Option<(Entry, Stored)>> {
        let mut get = self.statements.get.borrow_mut();
        let row = get.query_row([key], |row| Ok((self.read(row).1, row.get("digest").ok())));
        row.optional()
    }

    /// Writes the entry of a key in place of the stored row.
    fn put(&self, key: &str, entry: &Entry, stored: Option<Stored>) -> Result<()> {
        let digest = self.digest_key.of_row(key, entry);
        let mut totals = self.totals.borrow_mut();
        match stored {
            Some(stored) => totals.toggle(stored.unwrap_or_default()),
            None => totals.rows += 1,
        }
        totals.toggle(digest);
        let mut put = self.statements.put.borrow_mut();
        put.execute(params![
            key,
            entry.function,
            json(&entry.digests),
            entry.state.name(),
            entry.claim,
            stored_ms(entry.begun_ms),
            stored_ms(entry.claim_ends_ms),
            entry.ended_ms.map(stored_ms),
            entry.answer,
            entry.message,
            entry.resolved_by,
            entry.created_id(),
            digest,
        ])
        .map(drop)
    }

    /// Reads a row, whatever is in it.
    fn read(&self, row: &Row<'_>) -> (String, Entry) {
        let text = |name| row.get::<_, String>(name).unwrap_or_default();
        let optional = |name| row.get::<_, Option<String>>(name).unwrap_or_default();
        let ms = |name| row.get(name).map(|ms: i64| ms.try_into().unwrap_or(0));
        let key = text("key");
        let entry = Entry {
            function: text("function"),
            digests: serde_json::from_str(&text("digests")).unwrap_or_default(),
            state: State::of_name(&text("state")),
            claim: text("claim"),
            begun_ms: ms("begun_ms").unwrap_or(0),
            claim_ends_ms: ms("claim_ends_ms").unwrap_or(0),
            ended_ms: row
                .get::<_, Option<i64>>("ended_ms")
                .unwrap_or_default()
                .map(|ms| ms.try_into().unwrap_or(0)),
            answer: optional("answer"),
            message: optional("message"),
            resolved_by: optional("resolved_by"),
        };
        let entry = self
            .digest_key
            .verified(&key, entry, row.get("digest").ok());
        (key, entry)
    }
}

fn stored_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
