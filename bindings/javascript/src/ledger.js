/**
 * A ledger: which creates were begun, and how they ended. It outlives the process, so that a program
 * that was killed can be run again, and calls no one twice. Documented in `types/ledger.d.ts`.
 *
 * The client without I/O decides what an entry means; here it is stored.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { frozen, integer, text } from './conversion.js';
import { RequestError } from './errors.js';
import { IS_OPEN, LedgerFile, isBusy, isOfSqlite, sqlite } from './ledger_file.js';
import { METHODS } from './wit.js';
import { describe, invalidInput, misconfigured, refuse, tag } from './words.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const DAY_MS = 86_400_000;

/** How long a change waits for the transactions of other processes. */
const BUSY_LIMIT_MS = 30_000;

/** How long the event loop goes on between two tries. */
const BUSY_PAUSE_MS = 50;

const USABLE = 'a file of a ledger, or a path where one can be created, on a local disk with room';

const BEGIN = `
INSERT INTO creates (key, function, digests, state, claim, begun_ms) VALUES (?, ?, ?, 'begun', ?, ?)
ON CONFLICT (key) DO UPDATE SET
    function = excluded.function, digests = excluded.digests, state = excluded.state,
    claim = excluded.claim, begun_ms = excluded.begun_ms,
    ended_ms = NULL, answer = NULL, message = NULL, resolved_by = NULL
WHERE state = 'free'`;

/**
 * An outcome that was taken for unknown, since its caller was gone, may still come. The answer of the
 * service counts more than a docket that was seen.
 */
const END = `
UPDATE creates SET state = ?, ended_ms = ?, answer = ?, message = ?, resolved_by = NULL
WHERE key = ? AND claim = ? AND (
    state IN ('begun', 'unknown')
    OR ? = 'done' AND (state = 'free' OR state = 'done' AND resolved_by = 'docket')
)`;

const SETTLE = 'UPDATE creates SET state = ?, ended_ms = ?, answer = ?, resolved_by = ? WHERE key = ?';

export class Ledger {
  path;
  #file;
  /** The changes that are committed together next. */
  #tasks = [];
  #isScheduled = false;
  #lastNumber = 0;
  /** The names of the claims whose outcome is to be recorded. */
  #openClaims = new Set();

  /** @param {any} path */
  constructor(path) {
    if (!sqlite()) throw misconfigured('ledger', 'a runtime without node:sqlite', 'Node 22.13 or newer');
    this.path = absolute(path);
    this.#file = new LedgerFile(this.path);
    Object.freeze(this);
  }

  // --------------------------------------------------------------------------------- for users

  async get(key) {
    text(key, 'key');
    const row = await this.#commit((database) => this.#row(database, key));
    return row && entryOf(row);
  }

  async unknown() {
    const entries = await this.#commit((database) => {
      const open = database.prepare(`SELECT key FROM creates WHERE ${IS_OPEN} ORDER BY begun_ms, key`).all();
      return open.flatMap(({ key }) => this.#readable(database, key));
    });
    return entries.filter(({ state }) => state === 'unknown');
  }

  async resolve(key, createdId, { by } = /** @type {any} */ ({})) {
    return this.#settle(key, by, 'done', (row) => {
      const member = idMember(row.function);
      if (member === 'agent_id') return `{"agent_id":${integer(createdId, 'createdId')}}`;
      text(createdId, 'createdId');
      if (member === 'docket_id' && !UUID.test(createdId)) {
        throw refuse('createdId', createdId, 'a docket_id, which is a UUID');
      }
      if (createdId === '') throw invalidInput('createdId', 'an empty text', 'a task_id');
      return JSON.stringify({ [member]: createdId });
    });
  }

  async release(key, { by } = /** @type {any} */ ({})) {
    return this.#settle(key, by, 'free', () => null);
  }

  async prune({ doneBefore } = /** @type {any} */ ({})) {
    if (tag(doneBefore) !== 'Date' || Number.isNaN(doneBefore.getTime())) {
      throw refuse('doneBefore', doneBefore, 'a Date');
    }
    const beforeMs = doneBefore.getTime();
    const { changes } = await this.#commit((database) =>
      database.prepare("DELETE FROM creates WHERE state = 'done' AND ended_ms < ?").run(beforeMs),
    );
    return changes;
  }

  async close() {
    // What is not open stays closed.
    if (this.#isScheduled) await this.#submit(() => {}).catch(() => {});
    // While there are claims, others must see that this process lives.
    this.#file.close({ endsPresence: this.#openClaims.size === 0 });
  }

  [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    return this.close();
  }

  /** Resolves an entry that is unknown, with the answer that `answerOf(row)` makes. */
  async #settle(key, by, state, answerOf) {
    text(key, 'key');
    if (text(by, 'by') === '') throw invalidInput('by', 'an empty text', 'who made sure of it');
    const row = await this.#commit((database) => {
      const row = this.#row(database, key);
      if (row?.state !== 'unknown') {
        const current = row ? `an entry that is ${row.state}` : 'no entry';
        throw invalidInput('key', current, 'the key of an entry that is unknown');
      }
      settle(database, row, state, answerOf(row), by);
      return rowOf(database, key);
    });
    return entryOf(row);
  }

  // ------------------------------------------------------------ for drivers: a `LedgerStorage`

  /** If the disk fails after the claim was committed, its key is unknown: it may have been written. */
  async claim({ key, function: fn, arguments: given }) {
    const number = ++this.#lastNumber;
    let name;
    try {
      return await this.#write((database) => {
        name = `${this.#file.owner}/${number}`;
        const digests = Object.fromEntries(given.map(([it, value]) => [it, this.#file.digest(fn, it, value)]));
        const begun = database.prepare(BEGIN).run(key, fn, JSON.stringify(digests), name, Date.now());
        if (begun.changes === 1) {
          this.#openClaims.add(name);
          return { taken: name };
        }
        const { function: other, state, begun_ms, answer, digests: known } = this.#row(database, key);
        const differs_in = difference(digests, JSON.parse(known));
        return { entry: { function: other, state, begun_ms, answer, differs_in } };
      });
    } catch (error) {
      this.#openClaims.delete(name);
      throw error;
    }
  }

  /** An outcome that cannot be written is unknown. */
  async record(key, claimName, { state, answer = null, message = null }) {
    try {
      await this.#write((database) =>
        database.prepare(END).run(state, Date.now(), answer, message, key, claimName, state),
      );
    } finally {
      this.#openClaims.delete(claimName);
    }
  }

  async observe({ keys, docket_id, to_phone_number: number, created_day: day }) {
    if (keys.length === 0 || day === null) return;
    await this.#write((database) => {
      for (const key of new Set(keys)) {
        const row = this.#row(database, key);
        if (row?.state !== 'unknown' || !row.function.startsWith('dockets.')) continue;
        // One that was created before the create was begun is another one. The service's time has no
        // zone, hence a day more.
        if (day + 1 < Math.floor(row.begun_ms / DAY_MS)) continue;
        const digest = this.#file.digest(row.function, 'to_phone_number', number);
        if (JSON.parse(row.digests).to_phone_number !== digest) continue;
        settle(database, row, 'done', JSON.stringify({ docket_id }), 'docket');
      }
    });
  }

  // -------------------------------------------------------------------------------- the entries

  /** Returns the entry of a key. */
  #row(database, key) {
    return this.#current(database, rowOf(database, key));
  }

  /** Returns an entry in a list. Without it, with a warning, if it is damaged: the others are shown. */
  #readable(database, key) {
    try {
      return [entryOf(this.#row(database, key))];
    } catch (error) {
      if (isOfSqlite(error)) throw error;
      const message = `the entry with the key ${JSON.stringify(key)} cannot be read: ${this.#reason(error)}`;
      process.emitWarning(message, 'VoiceCallingWarning');
      return [];
    }
  }

  /** Returns an entry as it is now: one that was begun by a process that is gone is unknown. */
  #current(database, row) {
    if (row?.state !== 'begun' || this.#isInProgress(row.claim)) return row;
    database.prepare("UPDATE creates SET state = 'unknown' WHERE key = ? AND claim = ?").run(row.key, row.claim);
    return { ...row, state: 'unknown' };
  }

  #isInProgress(claimName) {
    const [owner] = claimName.split('/');
    if (owner === this.#file.owner) return this.#openClaims.has(claimName);
    return this.#file.isPresent(owner);
  }

  // ------------------------------------------------------------------------------- transactions

  /** Commits a change of a user. */
  async #commit(change) {
    try {
      return await this.#submit(change);
    } catch (error) {
      if (error instanceof RequestError) throw error;
      throw misconfigured('ledger', this.#reason(error), USABLE, { cause: error });
    }
  }

  /** Commits a change of a driver. */
  async #write(change) {
    try {
      return await this.#submit(change);
    } catch (error) {
      throw new Error(this.#reason(error));
    }
  }

  /** Commits a change together with all others of this turn, since each commit waits for the disk. */
  #submit(change) {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ change, resolve, reject, untilMs: performance.now() + BUSY_LIMIT_MS });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(() => this.#commitAll());
    });
  }

  /** Commits the changes that have come. Those that come until they are on the disk are the next. */
  async #commitAll() {
    const tasks = this.#tasks;
    this.#tasks = [];
    /** @type {(then: () => void) => void} */
    let nextTry = setImmediate;
    try {
      const ends = this.#file.commit((database) => tasks.map((task) => carriedOut(task, database)));
      await this.#file.sync();
      for (const end of ends) end();
    } catch (error) {
      const nowMs = performance.now();
      for (const task of tasks) {
        if (isBusy(error) && nowMs < task.untilMs) this.#tasks.push(task);
        else task.reject(error);
      }
      if (isBusy(error)) nextTry = (then) => setTimeout(then, BUSY_PAUSE_MS);
    }
    this.#isScheduled = this.#tasks.length > 0;
    if (this.#isScheduled) nextTry(() => this.#commitAll());
  }

  #reason(error) {
    const reason = isBusy(error) ? `others have locked it for ${BUSY_LIMIT_MS / 1000} s` : error.message;
    return `${this.path}: ${reason}`;
  }
}

/** Carries out a change, and returns what reports its end after the commit. */
function carriedOut({ change, resolve, reject }, database) {
  try {
    const result = change(database);
    return () => resolve(result);
  } catch (error) {
    // The others of the transaction fail with it.
    if (isOfSqlite(error)) throw error;
    return () => reject(error);
  }
}

function rowOf(database, key) {
  return database.prepare('SELECT * FROM creates WHERE key = ?').get(key);
}

function settle(database, row, state, answer, by) {
  database.prepare(SETTLE).run(state, Date.now(), answer, by, row.key);
}

/** Returns the name of the first argument that differs; `null` if all are equal. */
function difference(digests, known) {
  const names = Object.keys({ ...digests, ...known });
  return names.find((name) => digests[name] !== known[name]) ?? null;
}

/** The member of an answer that identifies what was created. */
function idMember(fn) {
  if (fn.startsWith('agents.')) return 'agent_id';
  return fn.startsWith('calls.') ? 'task_id' : 'docket_id';
}

function entryOf(row) {
  return frozen({
    key: row.key,
    function: METHODS.get(row.function) ?? row.function,
    state: row.state,
    begunAt: new Date(row.begun_ms),
    endedAt: row.ended_ms === null ? undefined : new Date(row.ended_ms),
    createdId: createdId(row),
    message: row.message ?? undefined,
    resolvedBy: row.resolved_by ?? undefined,
  });
}

export function createdId({ function: fn, answer }) {
  if (answer === null || answer === undefined) return undefined;
  try {
    return JSON.parse(answer, /** @type {any} */ (exact))?.[idMember(fn)] ?? undefined;
  } catch {
    // An answer that is damaged hides only its id.
    return undefined;
  }
}

/** Keeps the digits of an integer beyond 2^53, where the parser has the text (not in Node 20). */
function exact(_, value, { source } = { source: '' }) {
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : BigInt(source);
}

function absolute(path) {
  if (tag(path) === 'URL' && path.protocol === 'file:') return fileURLToPath(path);
  if (typeof path !== 'string' || path === '') throw misconfigured('ledger', describe(path), 'a path, or the URL of a file');
  return resolve(path);
}
