//! The file of a ledger, which is a SQLite database.
//!
//! Its journal is a rollback journal, so that the file alone is the ledger: nothing of it is lost
//! if another program opens and closes it, or if it is copied or mounted without its folder. Once
//! it is in use, only SQLite opens and closes it: closing it in another way would release the locks
//! that the process has on it, in any thread.

use super::digest::DigestKey;
use super::hold;
use super::rows::{Rows, Statements};
use super::writer::Job;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::cell::Cell;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The application id that marks a SQLite database as a ledger: `VOIC`.
const APPLICATION_ID: i32 = 0x564F_4943;

const VERSION: i32 = 2;

/// The time that a transaction waits for others.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// The pause between two attempts to begin a transaction, and that after one that had to wait: the
/// others, which waited as well, find the file free in it.
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// Held while a file is created, so that no other thread has locked it when that one is closed.
static CREATING: Mutex<()> = Mutex::new(());

const SCHEMA: &str = "
CREATE TABLE creates (
    key TEXT PRIMARY KEY,
    function TEXT NOT NULL,
    digests TEXT NOT NULL,      -- of each argument, as an object of JSON
    state TEXT NOT NULL,        -- begun, done, unknown, free
    claim TEXT NOT NULL,        -- the name of the claim that began it last
    begun_ms INTEGER NOT NULL,
    claim_ends_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    answer TEXT,                -- of a create that is done, in the JSON of the service
    message TEXT,               -- of the error that a create ended in
    resolved_by TEXT,
    created_id TEXT,            -- from the answer
    digest BLOB NOT NULL        -- of the row
) WITHOUT ROWID;
CREATE INDEX by_created_id ON creates (created_id) WHERE created_id IS NOT NULL;
CREATE TABLE totals (digest_key BLOB, generation INTEGER, rows INTEGER, digest BLOB);
INSERT INTO totals VALUES (randomblob(32), 0, 0, zeroblob(16));
";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(super) struct LedgerFile {
    database: Connection,
    digest_key: DigestKey,
    path: PathBuf,
    id: Option<(u64, u64)>,
    /// The number of the latest transaction that was seen in the file.
    generation: Cell<i64>,
}

impl LedgerFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let _in_use = hold::in_use();
        create_private(path);
        check_file(path)?;
        let database = connect(path)?;
        // This comes before any change to another database, and before others could read anything
        // that is written.
        if is_new(&database)? {
            make_private(path)?;
        }
        database.execute_batch("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL")?;
        let transaction = begin(&database)?;
        if is_new(&transaction)? {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        check_content(&transaction)?;
        let secret = "SELECT digest_key FROM totals";
        let secret: Vec<u8> = transaction.query_row(secret, (), |row| row.get(0))?;
        let statements = Statements::prepare(&transaction)?;
        let totals = statements.totals()?;
        // A file, a folder or a disk that is read-only is noticed now.
        statements.put_totals(&totals)?;
        drop(statements);
        transaction.commit()?;
        Ok(Self {
            database,
            digest_key: DigestKey::new(&secret),
            path: path.to_owned(),
            id: id_of(path),
            generation: Cell::new(totals.generation),
        })
    }

    pub(super) fn digest_key(&self) -> &DigestKey {
        &self.digest_key
    }

    /// Commits jobs in one transaction, and returns `true` if it had to wait for others. The
    /// statements are prepared for the first, and kept.
    pub(super) fn commit<'a>(
        &'a self,
        statements: &mut Option<Statements<'a>>,
        jobs: &mut [Box<dyn Job>],
    ) -> Result<bool> {
        let _in_use = hold::in_use();
        let asked = Instant::now();
        let transaction = begin(&self.database)?;
        let has_waited = asked.elapsed() >= BUSY_PAUSE;
        let statements = match statements {
            Some(statements) => statements,
            none => none.insert(Statements::prepare(&self.database)?),
        };
        let before = statements.totals()?;
        if id_of(&self.path) != self.id || before.generation < self.generation.get() {
            return Err("it was removed or replaced while it was open".into());
        }
        let rows = Rows::new(&self.database, statements, &self.digest_key, before);
        for job in jobs {
            job.run(&rows)?;
        }
        let mut totals = rows.totals();
        if totals != before {
            totals.generation += 1;
            statements.put_totals(&totals)?;
        }
        transaction.commit()?;
        self.generation.set(totals.generation);
        Ok(has_waited)
    }
}

fn begin(database: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(database, TransactionBehavior::Immediate)
}

/// Fails if the file is damaged, or has lost rows.
fn check_content(database: &Connection) -> Result<()> {
    let check = "PRAGMA quick_check(1)";
    let found: String = database.query_row(check, (), |row| row.get(0))?;
    if found != "ok" {
        return Err(format!("it is damaged ({found}): creates may be missing").into());
    }
    let totals = Statements::prepare(database)?.totals()?;
    match totals.agree(database)? {
        true => Ok(()),
        false => {
            Err("it is damaged: creates are missing, or were changed by another program".into())
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

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // The path is not a URI, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Connection::open_with_flags(path, flags)?;
    database.busy_handler(Some(waits_again as fn(i32) -> bool))?;
    Ok(database)
}

/// Pauses, and returns `true` if a transaction that others have kept from the file this often is to
/// be begun again. SQLite's own pauses grow until a process rarely meets the file free.
fn waits_again(attempts: i32) -> bool {
    thread::sleep(BUSY_PAUSE);
    BUSY_PAUSE * attempts.unsigned_abs() < BUSY_LIMIT
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
