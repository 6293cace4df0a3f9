//! The file of a ledger, which is a SQLite database, and the files beside it that show which
//! processes live. The clients in other languages use the same files.
//!
//! Once they are in use, only SQLite opens and closes them: closing one in another way would
//! release the locks that the process has on it, in any thread.

use super::entries::Entries;
use super::store::{Change, End, OpenClaims};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{io, process, thread};

/// The application id that marks a SQLite database as a ledger: `VOIC`.
const APPLICATION_ID: i32 = 0x564F_4943;

const VERSION: i32 = 1;

/// The time that a transaction waits for others.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// Held while a file is created, so that no other thread has locked it when that one is closed.
static CREATING: Mutex<()> = Mutex::new(());

const SCHEMA: &str = "
CREATE TABLE digest_key (value BLOB NOT NULL);
CREATE TABLE creates (
    key TEXT PRIMARY KEY,
    function TEXT NOT NULL,
    digests TEXT NOT NULL,      -- of each argument, as an object of JSON
    state TEXT NOT NULL,        -- begun, done, unknown, free
    claim TEXT NOT NULL,        -- owner/number: the process that began it last
    begun_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    answer TEXT,                -- of a create that is done, in the JSON of the core
    message TEXT,               -- of the error that a create ended in
    resolved_by TEXT
) WITHOUT ROWID;
CREATE INDEX by_state ON creates (state) WHERE state IN ('begun', 'unknown');
INSERT INTO digest_key VALUES (randomblob(32));
";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(super) struct LedgerFile {
    // The connection is closed first.
    database: Connection,
    presence: Presence,
    digest_key: Vec<u8>,
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl LedgerFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let began = Instant::now();
        loop {
            // The change to WAL does not wait by itself.
            match Self::try_open(path) {
                Err(error) if is_busy(&*error) && began.elapsed() < BUSY_LIMIT => {
                    thread::sleep(Duration::from_millis(50));
                }
                opened => return opened,
            }
        }
    }

    fn try_open(path: &Path) -> Result<Self> {
        create_private(path);
        check_file(path)?;
        let mut database = connect(path, BUSY_LIMIT)?;
        // This comes before any change to another database, and before others could read anything
        // that is written.
        if is_new(&database)? {
            make_private(path)?;
        }
        let mode = "PRAGMA journal_mode = WAL";
        let mode: String = database.query_row(mode, (), |row| row.get(0))?;
        if mode != "wal" {
            return Err(format!("the journal mode {mode}, not WAL").into());
        }
        database.execute_batch("PRAGMA synchronous = FULL")?;
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_new(&transaction)? {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        let key = "SELECT value FROM digest_key";
        let digest_key = transaction.query_row(key, (), |row| row.get(0))?;
        let presence = Presence::begin(fs::canonicalize(path)?)?;
        transaction.commit()?;
        Ok(Self {
            database,
            presence,
            digest_key,
            path: path.to_owned(),
            id: id_of(path),
        })
    }

    /// Returns the name of this ledger's presence.
    pub(super) fn owner(&self) -> &str {
        &self.presence.name
    }

    /// Commits changes in one transaction, and returns their ends, to be called after it.
    pub(super) fn commit(
        &mut self,
        changes: Vec<Change>,
        open_claims: &OpenClaims,
    ) -> Result<Vec<End>> {
        let immediate = TransactionBehavior::Immediate;
        let transaction = self.database.transaction_with_behavior(immediate)?;
        if id_of(&self.path) != self.id {
            return Err("it was removed or replaced while it was open".into());
        }
        let entries = Entries {
            database: &transaction,
            presence: &self.presence,
            digest_key: &self.digest_key,
            open_claims,
        };
        let ends = changes
            .into_iter()
            .map(|change| change(&entries))
            .collect::<rusqlite::Result<_>>()?;
        transaction.commit()?;
        Ok(ends)
    }
}

/// A file that is locked for as long as this process lives. SQLite locks it in the same way on all
/// systems and in all languages. Such files are created within transactions of the ledger, and
/// removed when no process has locked them.
pub(super) struct Presence {
    pub(super) name: String,
    ledger: PathBuf,
    lock: Option<Connection>,
}

impl Presence {
    fn begin(ledger: PathBuf) -> Result<Self> {
        let mut presence = Self {
            name: random_name(),
            ledger,
            lock: None,
        };
        presence.remove_stale();
        let path = presence.path(&presence.name);
        drop(private_file(&path)?);
        presence.lock = Some(locked(&path)?);
        Ok(presence)
    }

    fn path(&self, name: &str) -> PathBuf {
        let mut path = OsString::from(&self.ledger);
        path.push(format!("-{name}.owner"));
        path.into()
    }

    /// Removes the files of processes that are gone.
    fn remove_stale(&self) {
        let folder = self.ledger.parent().and_then(|it| fs::read_dir(it).ok());
        for file in folder.into_iter().flatten().flatten() {
            if let Some(name) = self.owner_of(&file.file_name()) {
                self.is_present(name);
            }
        }
    }

    /// Returns the name in one of exactly the form `<ledger>-<32 hexadecimal digits>.owner`.
    fn owner_of<'a>(&self, file: &'a OsStr) -> Option<&'a str> {
        let start = file.to_str()?.strip_suffix(".owner")?;
        let name = start.get(start.len().checked_sub(32)?..)?;
        let is_own = name.bytes().all(|digit| digit.is_ascii_hexdigit());
        (is_own && self.path(name).file_name() == Some(file)).then_some(name)
    }

    /// Returns `true` if the process with this name lives, or may live. Otherwise its file is
    /// removed.
    pub(super) fn is_present(&self, name: &str) -> bool {
        let path = self.path(name);
        if !path.exists() {
            return false;
        }
        let is_locked = locked(&path).is_err();
        if !is_locked {
            // A file that stays is removed later.
            let _ = fs::remove_file(path);
        }
        is_locked
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            let _ = fs::remove_file(self.path(&self.name));
        }
    }
}

/// Returns the device and inode of a file, which is not opened; `None` if it does not exist, and on
/// Windows, where an open file cannot be removed.
fn id_of(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(path).ok()?;
        Some((file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn connect(path: &Path, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    // The path is not a URI, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(busy_timeout)?;
    Ok(database)
}

fn locked(path: &Path) -> rusqlite::Result<Connection> {
    let database = connect(path, Duration::ZERO)?;
    database.execute_batch("BEGIN EXCLUSIVE")?;
    Ok(database)
}

/// Returns `true` if the database is new; fails if it is not a ledger of this version.
fn is_new(database: &Connection) -> Result<bool> {
    let number = |query| database.query_row(query, (), |row| row.get::<_, i32>(0));
    // This comes first, since another process may create the tables meanwhile, and sets the others
    // with them.
    if number("SELECT count(*) FROM sqlite_master")? == 0 {
        return Ok(true);
    }
    if number("PRAGMA application_id")? != APPLICATION_ID {
        return Err("another SQLite database".into());
    }
    match number("PRAGMA user_version")? {
        VERSION => Ok(false),
        other => Err(format!("a ledger of version {other}, not {VERSION}").into()),
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Creates a file for its owner only, unless it exists. If that fails, SQLite reports why.
fn create_private(path: &Path) {
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(private_file(path));
}

/// Fails if it is not a file, or read-only: SQLite would read it, and leave files beside it that are
/// read-only as well.
fn check_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => Err("not a file".into()),
        Ok(file) if file.permissions().readonly() => Err("a read-only file".into()),
        _ => Ok(()),
    }
}

/// Makes the file private to its owner.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Returns 32 hexadecimal digits.
fn random_name() -> String {
    let random = || RandomState::new().hash_one((process::id(), SystemTime::now()));
    format!("{:016x}{:016x}", random(), random())
}

/// Returns `true` if others have locked the file.
fn is_busy(error: &(dyn Error + 'static)) -> bool {
    let error = error
        .downcast_ref()
        .and_then(rusqlite::Error::sqlite_error_code);
    error == Some(ErrorCode::DatabaseBusy)
}

/// Returns the description of an error of the file.
pub(super) fn found(path: &Path, error: &(dyn Error + 'static)) -> String {
    match is_busy(error) {
        true => format!(
            "{}: others have locked it for {BUSY_LIMIT:?}",
            path.display()
        ),
        false => format!("{}: {error}", path.display()),
    }
}
