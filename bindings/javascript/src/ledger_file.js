/**
 * The file of a ledger, which is a SQLite database, and the files beside it that show which
 * processes live. Other languages have the same files.
 *
 * Once they are in use, SQLite alone opens and closes them: to close one in another way would release
 * the locks that the process has on it, in any thread.
 */
import { createHmac, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Marks a SQLite database as a ledger: `VOIC`. */
const APPLICATION_ID = 0x564f4943;

const VERSION = 1;

/** How long a transaction stops the event loop to wait for those of others. */
const BUSY_TIMEOUT_MS = 50;

const BUSY = 5;

/** A draft of a file that is older is not in use. */
const DRAFT_MS = 60_000;

/** The files beside a ledger, after its name and a hyphen. */
const OWN_FILE = /^[0-9a-f]{32}\.(owner|new)$/;

/** The entries that the index has, which are few. SQLite uses it for queries with the same words. */
export const IS_OPEN = "state IN ('begun', 'unknown')";

const SCHEMA = `
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
CREATE INDEX by_state ON creates (state) WHERE ${IS_OPEN};
INSERT INTO digest_key VALUES (randomblob(32));
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
`;

/** Returns Node's module, which some versions warn of when it is loaded; `undefined` if there is none. */
export function sqlite() {
  return /** @type {any} */ (process).getBuiltinModule('node:sqlite');
}

/** Returns `true` if SQLite reports the error. */
export function isOfSqlite(error) {
  return error?.code === 'ERR_SQLITE_ERROR';
}

/** Returns `true` if others have locked the file. */
export function isBusy(error) {
  return isOfSqlite(error) && (error.errcode & 0xff) === BUSY;
}

export class LedgerFile {
  #path;
  #database;
  /** The descriptor of the database's log (WAL), on which SQLite has no locks. */
  #log;
  #presence;
  #digestKey;
  /** The device and inode of the file, for as long as there is a presence. */
  #id;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /** The name of this ledger's presence, within a transaction. */
  get owner() {
    return this.#presence.name;
  }

  /** Returns `true` if the process of an owner lives, within a transaction. */
  isPresent(owner) {
    return this.#presence.isPresent(owner);
  }

  /** Returns the digest of an argument, within a transaction. */
  digest(fn, name, canonicalText) {
    const hmac = createHmac('sha256', this.#digestKey);
    return hmac.update(`${fn}\0${name}\0${canonicalText}`).digest('hex').slice(0, 32);
  }

  /** Commits what `change(database)` does, and returns what it returns. It is on the disk after `sync`. */
  commit(change) {
    const database = (this.#database ??= this.#open());
    database.exec('BEGIN IMMEDIATE');
    try {
      this.#check();
      const result = change(database);
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // Rolls back, whatever state it is in.
      this.close({ endsPresence: false });
      throw error;
    }
  }

  /**
   * Waits until all that was committed is on the disk: the log, or the database in which SQLite has
   * put it from there. SQLite itself would stop the event loop meanwhile.
   */
  sync() {
    return new Promise((resolve, reject) => {
      fs.fsync(this.#log, (error) => (error ? reject(error) : resolve(undefined)));
    });
  }

  /** Closes the database. It is opened again when it is used again. */
  close({ endsPresence }) {
    if (this.#log !== undefined) fs.closeSync(this.#log);
    this.#log = undefined;
    this.#database?.close();
    this.#database = undefined;
    if (!endsPresence) return;
    this.#presence?.end();
    this.#presence = undefined;
  }

  /** Throws if the path is no longer that of the file that was opened. */
  #check() {
    if (fileId(this.#path) !== this.#id) throw new Error('it was removed or replaced while it was open');
  }

  #open() {
    if (this.#presence) this.#check();
    createPrivate(this.#path);
    checkFile(this.#path);
    const database = connect(this.#path);
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      // Before anything of another database is changed, and anything is written that others could read.
      if (isNew(database)) makePrivate(this.#path);
      const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get();
      if (mode !== 'wal') throw new Error(`the journal mode ${mode}, not WAL`);
      // The rest is done by `sync`.
      database.exec('PRAGMA synchronous = NORMAL');
      database.exec('BEGIN IMMEDIATE');
      if (isNew(database)) database.exec(SCHEMA);
      this.#digestKey = database.prepare('SELECT value FROM digest_key').get().value;
      if (!this.#presence) {
        this.#id = fileId(this.#path);
        this.#presence = new Presence(fs.realpathSync(this.#path));
      }
      database.exec('COMMIT');
      this.#log = fs.openSync(`${fs.realpathSync(this.#path)}-wal`, 'r+');
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/**
 * A file that is locked for as long as this process, or its thread, lives. SQLite does that in the
 * same way on all systems and in all languages. Such files come and go within transactions of the
 * ledger.
 */
class Presence {
  name = randomName();
  #ledger;
  #database;

  /** @param {string} ledger */
  constructor(ledger) {
    this.#ledger = ledger;
    this.#removeStale();
    fs.closeSync(fs.openSync(this.#path(this.name), 'wx', 0o600));
    this.#database = locked(this.#path(this.name));
  }

  #path(name) {
    return `${this.#ledger}-${name}.owner`;
  }

  /** Removes the files of processes that are gone, drafts included. */
  #removeStale() {
    const folder = dirname(this.#ledger);
    const prefix = `${basename(this.#ledger)}-`;
    for (const name of fs.readdirSync(folder)) {
      const [, extension] = (name.startsWith(prefix) && OWN_FILE.exec(name.slice(prefix.length))) || [];
      const path = join(folder, name);
      if (extension === 'owner') isLocked(path);
      if (extension === 'new' && fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs < Date.now() - DRAFT_MS) remove(path);
    }
  }

  isPresent(name) {
    return isLocked(this.#path(name));
  }

  end() {
    this.#database.close();
    remove(this.#path(this.name));
  }
}

/** 32 hexadecimal digits. */
function randomName() {
  return randomUUID().replaceAll('-', '');
}

/** Returns the device and inode of a file, which is not opened for it; `undefined` if there is none. */
function fileId(path) {
  // A file that is open cannot be removed in Windows.
  if (process.platform === 'win32') return undefined;
  const stat = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}/${stat.ino}`;
}

function connect(path) {
  return new (sqlite().DatabaseSync)(path);
}

function locked(path) {
  const database = connect(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns `true` if another connection has locked a file, or may have. Otherwise it is removed. */
function isLocked(path) {
  if (!fs.existsSync(path)) return false;
  try {
    locked(path).close();
  } catch {
    return true;
  }
  remove(path);
  return false;
}

/** Removes a file. One that stays is removed later. */
function remove(path) {
  try {
    fs.rmSync(path, { force: true });
  } catch {}
}

/** Returns `true` if the database is new. Throws if it is no ledger of this version. */
function isNew(database) {
  // First, since another process may create the tables meanwhile, and sets the others with them.
  const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_master').get();
  if (tables === 0) return true;
  const { application_id: application } = database.prepare('PRAGMA application_id').get();
  const { user_version: version } = database.prepare('PRAGMA user_version').get();
  if (application !== APPLICATION_ID) throw new Error('another SQLite database');
  if (version !== VERSION) throw new Error(`a ledger of version ${version}, not ${VERSION}`);
  return false;
}

/**
 * Creates a file for its owner alone, unless it exists. It is closed before it has its name, since
 * another thread may lock it from then on. If that fails, SQLite creates it or reports why not.
 */
function createPrivate(path) {
  if (fs.existsSync(path)) return;
  const draft = `${path}-${randomName()}.new`;
  try {
    fs.closeSync(fs.openSync(draft, 'wx', 0o600));
    fs.linkSync(draft, path);
  } catch {}
  remove(draft);
}

/** Throws if it is no file, or read-only: SQLite would read it, and leave files beside it that are read-only as well. */
function checkFile(path) {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() === false) throw new Error('not a file');
  if (stat && (stat.mode & 0o222) === 0) throw new Error('a read-only file');
}

/** Leaves the file to its owner alone. */
function makePrivate(path) {
  fs.chmodSync(path, fs.statSync(path).mode & 0o700);
}
