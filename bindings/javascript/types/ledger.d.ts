// The ledger: which creates were begun, and how they ended.
import type { Integer } from './options.js';

/**
 * The state of a key:
 *
 * - `begun`: the create is in progress.
 * - `done`: it succeeded. A call with the key returns the recorded answer, and sends nothing.
 * - `unknown`: it may have been carried out: its outcome is not known, or its process ended before
 *   it was. A call with the key rejects with `OutcomeUnknownError`, and sends nothing.
 * - `free`: it was certainly not carried out. A call with the key sends.
 */
export type LedgerState = 'begun' | 'done' | 'unknown' | 'free';

/** A key of a ledger. */
export interface LedgerEntry {
  /** The key, as it was given. */
  readonly key: string;
  /** What created it: `create_docket_v2`, `create_docket`, `make_call` or `create_agent`. */
  readonly function: string;
  /** The state. */
  readonly state: LedgerState;
  /** When a create with the key was begun last, by the clock of its machine. */
  readonly begunAt: Date;
  /** When it ended, or was resolved. */
  readonly endedAt?: Date;
  /** The id of the docket, task or agent that was created, if it is known. */
  readonly createdId?: string;
  /** The message of the error that it ended in. */
  readonly message?: string;
  /** Who resolved it, as given to `resolve` or `release`; `docket` for a docket that was fetched or verified. */
  readonly resolvedBy?: string;
}

/** Who has made sure of what became of a create. */
export interface ResolvedBy {
  /** Their name, which is recorded. */
  readonly by: string;
}

/**
 * Your own storage of a ledger. Entries are JSON text. Only `update` is needed for creates; what the other
 * methods are for fails without them.
 */
export interface LedgerStorage {
  /**
   * Changes the entry of a key in a transaction that no other change of the key is concurrent with:
   * reads the entry, calls `change` with it (`undefined` if there is none), and stores what that returns,
   * unless it is `undefined`. `change` may be called again if the transaction has to be repeated.
   *
   * The entry must be durable when this returns: a create is sent after its claim. If it throws, or
   * rejects, nothing is sent.
   */
  update(key: string, change: (entry: string | undefined) => string | undefined): void | Promise<void>;
  /** Returns entries in the order of their keys, compared as bytes: some that follow this key, if there are more. For `unknown`. */
  entriesAfter?(key: string): Iterable<LedgerRow> | Promise<Iterable<LedgerRow>>;
  /** Removes the entries whose `state` is `done` and whose `ended_ms` is less, and returns their number. For `prune`. */
  prune?(doneBeforeMs: number): number | Promise<number>;
  /** Returns whether another key than this one has created the id. A docket that is fetched resolves no unknown outcome without it. */
  isOfAnotherKey?(createdId: string, key: string): boolean | Promise<boolean>;
}

/** A key of a storage, and its entry. */
export type LedgerRow = readonly [key: string, entry: string];

/**
 * A file with the keys of creates and what became of them, for any number of clients, threads and
 * processes of one machine, and for the packages of other languages.
 *
 * The file is a SQLite database, readable and writable by its owner alone, on a local disk. It is whole
 * between two creates: it can be copied, backed up, and mounted alone into a container. It has keys,
 * times, and of each answer the id and the status; arguments, phone numbers among them, only as digests
 * that are keyed by a random key of the file. A copy that is put back does not know of later calls.
 *
 * Every method rejects with a `ConfigurationError` if the file cannot be used.
 */
export declare class Ledger {
  /**
   * Opens the file, or creates it, and checks all of it, which blocks: for some milliseconds, for a
   * second if it has a million keys, up to half a minute if other processes have locked it.
   *
   * @throws {ConfigurationError} if the file cannot be used.
   */
  constructor(path: string | URL);

  /**
   * Returns a ledger on your own storage, such as a database that several machines use.
   *
   * @param secret the key of the digests that are stored in place of arguments: at least 16 bytes, the
   * same for all programs that use the storage, kept elsewhere
   */
  static on(storage: LedgerStorage, secret: string | Uint8Array): Ledger;

  /** The absolute path of the file, if it is one. */
  readonly path: string | undefined;

  /** Returns the entry of a key, or `undefined` if it has none. */
  get(key: string): Promise<LedgerEntry | undefined>;
  /** Returns the entries whose outcome is not known, the oldest first. */
  unknown(): Promise<LedgerEntry[]>;
  /**
   * Records what a create whose outcome was unknown has created: the id of the docket, task or agent.
   *
   * @throws {InvalidInputError} if the entry is not unknown.
   */
  resolve(key: string, createdId: string | Integer, options: ResolvedBy): Promise<LedgerEntry>;
  /**
   * Records that a create whose outcome was unknown has created nothing, so that the next call with
   * the key is sent.
   *
   * @throws {InvalidInputError} if the entry is not unknown.
   */
  release(key: string, options: ResolvedBy): Promise<LedgerEntry>;
  /**
   * Removes the entries that were done before this time, and returns their number. A create with such a
   * key is sent again. No other entry is ever removed.
   */
  prune(options: { readonly doneBefore: Date }): Promise<number>;
  /** Closes the file once no client uses it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
