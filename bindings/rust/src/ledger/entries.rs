//! The entries of a ledger, within a transaction.

use super::Entry;
use super::file::Presence;
use super::store::OpenClaims;
use crate::operation::member;
use ring::hmac;
use rusqlite::{Connection, OptionalExtension, Result, params};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use voice_calling_core as core;
use voice_calling_core::ledger::{self, Claim, Outcome, Sighting, State};
use voice_calling_core::types::Problem;

const BEGIN: &str = "
INSERT INTO creates (key, function, digests, state, claim, begun_ms) VALUES (?, ?, ?, 'begun', ?, ?)
ON CONFLICT (key) DO UPDATE SET
    function = excluded.function, digests = excluded.digests, state = excluded.state,
    claim = excluded.claim, begun_ms = excluded.begun_ms,
    ended_ms = NULL, answer = NULL, message = NULL, resolved_by = NULL
WHERE state = 'free'";

/// An outcome that counts as unknown, since its caller was gone, may still arrive. The answer of
/// the service takes precedence over a docket that was seen.
const END: &str = "
UPDATE creates SET state = ?1, ended_ms = ?2, answer = ?3, message = ?4, resolved_by = NULL
WHERE key = ?5 AND claim = ?6 AND (
    state IN ('begun', 'unknown')
    OR ?1 = 'done' AND (state = 'free' OR state = 'done' AND resolved_by = 'docket')
)";

const SETTLE: &str =
    "UPDATE creates SET state = ?, ended_ms = ?, answer = ?, resolved_by = ? WHERE key = ?";

/// The condition is written like that of the index.
const OPEN: &str =
    "SELECT * FROM creates WHERE state IN ('begun', 'unknown') ORDER BY begun_ms, key";

type Digests = BTreeMap<String, String>;

pub(super) struct Entries<'a> {
    pub(super) database: &'a Connection,
    pub(super) presence: &'a Presence,
    pub(super) digest_key: &'a [u8],
    pub(super) open_claims: &'a OpenClaims,
}

pub(super) struct Row {
    pub(super) entry: Entry,
    /// The core's name of the function.
    function: String,
    digests: Digests,
    claim: String,
    answer: Option<String>,
}

impl Entries<'_> {
    /// Records that a create is begun, or returns the entry of its key if that is not free.
    pub(super) fn begin(&self, claim: &Claim, name: &str) -> Result<Option<ledger::Entry>> {
        let digests: Digests = claim
            .arguments
            .iter()
            .map(|(it, value)| (it.clone(), self.digest(claim.function, it, value)))
            .collect();
        let written = json!(digests).to_string();
        let begun = params![claim.key, claim.function, written, name, now_ms()];
        if self.database.execute(BEGIN, begun)? == 1 {
            return Ok(None);
        }
        let row = self.get(&claim.key)?;
        let row = row.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let names = claim.arguments.iter().map(|(name, _)| name);
        let mut names = names.chain(row.digests.keys());
        let differs_in = names.find(|it| digests.get(*it) != row.digests.get(*it));
        Ok(Some(ledger::Entry {
            differs_in: differs_in.cloned(),
            function: row.function,
            state: row.entry.state,
            begun_ms: unix_ms(row.entry.begun_at) as u64,
            answer: row.answer,
        }))
    }

    /// Records how a create ended.
    pub(super) fn end(&self, key: &str, claim: &str, outcome: &Outcome) -> Result<()> {
        let Outcome {
            answer, message, ..
        } = outcome;
        let state = name_of(outcome.state);
        let ended = params![state, now_ms(), answer, message, key, claim];
        self.database.execute(END, ended).map(drop)
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<Row>> {
        let query = "SELECT * FROM creates WHERE key = ?";
        let row = self
            .database
            .query_row(query, [key], Row::read)
            .optional()?;
        row.map(|row| self.current(row)).transpose()
    }

    /// Returns the entries with unknown outcomes, the oldest first.
    pub(super) fn unknown(&self) -> Result<Vec<Entry>> {
        let mut query = self.database.prepare(OPEN)?;
        let read =
            |row: &rusqlite::Row<'_>| Row::read(row).or_else(|error| Row::unreadable(row, &error));
        let rows: Vec<_> = query.query_map((), read)?.collect::<Result<_>>()?;
        let entries = rows.into_iter().map(|row| Ok(self.current(row)?.entry));
        let mut entries: Vec<_> = entries.collect::<Result<_>>()?;
        entries.retain(|entry| entry.state == State::Unknown);
        Ok(entries)
    }

    /// Records what a create with an unknown outcome has created; `None` if nothing.
    pub(super) fn resolve(
        &self,
        key: &str,
        created_id: Option<&str>,
        by: &str,
    ) -> Result<Result<(), Problem>> {
        let row = self.get(key)?;
        let function = match &row {
            _ if by.is_empty() => {
                let problem = core::problem("by", "an empty text", "who made sure of it");
                return Ok(Err(problem));
            }
            Some(row) if row.entry.state == State::Unknown => &row.function,
            other => {
                let state = other.as_ref().map(|row| name_of(row.entry.state));
                let found = state.map(|state| format!("an entry that is {state}"));
                let found = found.unwrap_or_else(|| "no entry".to_owned());
                let allowed = "the key of an entry that is unknown";
                return Ok(Err(core::problem("key", found, allowed)));
            }
        };
        let answer = match created_id.map(|id| answer(function, id)).transpose() {
            Ok(answer) => answer,
            Err(problem) => return Ok(Err(problem)),
        };
        self.settle(key, answer.as_deref(), by).map(Ok)
    }

    /// Resolves entries with unknown outcomes by a docket that has their key.
    pub(super) fn observe(&self, sighting: &Sighting) -> Result<()> {
        for key in &sighting.keys {
            let Some(row) = self.get(key)? else { continue };
            if row.entry.state != State::Unknown || !row.function.starts_with("dockets.") {
                continue;
            }
            let number = &sighting.to_phone_number;
            let number = self.digest(&row.function, "to_phone_number", number);
            if row.digests.get("to_phone_number") == Some(&number) {
                let answer = json!({ "docket_id": sighting.docket_id }).to_string();
                self.settle(key, Some(&answer), "docket")?;
            }
        }
        Ok(())
    }

    /// Resolves an entry: it is done if it has an answer, and free otherwise.
    fn settle(&self, key: &str, answer: Option<&str>, by: &str) -> Result<()> {
        let state = match answer {
            Some(_) => State::Done,
            None => State::Free,
        };
        let settled = params![name_of(state), now_ms(), answer, by, key];
        self.database.execute(SETTLE, settled).map(drop)
    }

    /// Removes the entries that were done before a time.
    pub(super) fn prune(&self, done_before: SystemTime) -> Result<usize> {
        let delete = "DELETE FROM creates WHERE state = 'done' AND ended_ms < ?";
        self.database.execute(delete, [unix_ms(done_before)])
    }

    /// Returns the current entry: if it was begun by a process that is gone, its outcome is
    /// unknown.
    fn current(&self, mut row: Row) -> Result<Row> {
        if row.entry.state == State::Begun && !self.is_in_progress(&row.claim) {
            let update = "UPDATE creates SET state = 'unknown' WHERE key = ? AND claim = ?";
            self.database
                .execute(update, [&row.entry.key, &row.claim])?;
            row.entry.state = State::Unknown;
        }
        Ok(row)
    }

    fn is_in_progress(&self, claim: &str) -> bool {
        let (owner, _) = claim.split_once('/').unwrap_or((claim, ""));
        match owner == self.presence.name {
            true => self.open_claims.contains(claim),
            false => self.presence.is_present(owner),
        }
    }

    fn digest(&self, function: &str, name: &str, value: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.digest_key);
        let digest = hmac::sign(&key, format!("{function}\0{name}\0{value}").as_bytes());
        digest.as_ref()[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

impl Row {
    fn read(row: &rusqlite::Row<'_>) -> Result<Self> {
        let time = |ms: i64| UNIX_EPOCH + Duration::from_millis(ms.try_into().unwrap_or(0));
        let (function, state): (String, String) = (row.get("function")?, row.get("state")?);
        let (_, method) = function.split_once('.').unwrap_or(("", &function));
        let answer: Option<String> = row.get("answer")?;
        let created_id = created_id(&function, answer.as_deref());
        let digests: String = row.get("digests")?;
        Ok(Self {
            entry: Entry {
                key: row.get("key")?,
                function: method.replace('-', "_"),
                // Nothing is sent for one that this version does not know.
                state: serde_json::from_value(json!(state)).unwrap_or(State::Unknown),
                begun_at: time(row.get("begun_ms")?),
                ended_at: row.get::<_, Option<i64>>("ended_ms")?.map(time),
                created_id,
                message: row.get("message")?,
                resolved_by: row.get("resolved_by")?,
            },
            function,
            digests: serde_json::from_str(&digests).unwrap_or_default(),
            claim: row.get("claim")?,
            answer,
        })
    }

    /// Returns an entry for a row that cannot be read, whose outcome is unknown.
    fn unreadable(row: &rusqlite::Row<'_>, error: &rusqlite::Error) -> Result<Self> {
        Ok(Self {
            entry: Entry {
                key: row.get("key")?,
                function: String::new(),
                state: State::Unknown,
                begun_at: UNIX_EPOCH,
                ended_at: None,
                created_id: None,
                message: Some(format!("the entry cannot be read: {error}")),
                resolved_by: None,
            },
            function: String::new(),
            digests: Digests::new(),
            claim: String::new(),
            answer: None,
        })
    }
}

/// Returns the name of a state in the file, which is that in JSON.
fn name_of(state: State) -> String {
    json!(state).as_str().unwrap_or("unknown").to_owned()
}

/// Returns the name of the member of an answer that identifies what was created.
fn id_member(function: &str) -> &'static str {
    match function.split('.').next() {
        Some("agents") => "agent_id",
        Some("calls") => "task_id",
        _ => "docket_id",
    }
}

/// Returns the id of what was created, from the answer to a function.
pub(super) fn created_id(function: &str, answer: Option<&str>) -> Option<String> {
    member(answer?.as_bytes(), &[id_member(function)])
}

/// Returns the answer that is recorded for a resolved create.
fn answer(function: &str, created_id: &str) -> Result<String, Problem> {
    let member = id_member(function);
    let invalid = |allowed| core::problem("created-id", format!("{created_id:?}"), allowed);
    let id = match member {
        "agent_id" => {
            let id: i64 = created_id.parse().map_err(|_| invalid("an integer"))?;
            json!(id)
        }
        "task_id" if created_id.is_empty() => return Err(invalid("the id of a task")),
        "task_id" => json!(created_id),
        _ => {
            core::dockets::check_docket_id("created-id", created_id)?;
            json!(created_id)
        }
    };
    Ok(json!({ member: id }).to_string())
}

fn unix_ms(time: SystemTime) -> i64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_millis().try_into().unwrap_or(i64::MAX)
}

fn now_ms() -> i64 {
    unix_ms(SystemTime::now())
}
