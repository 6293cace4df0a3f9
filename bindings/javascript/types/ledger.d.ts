// The ledger: which creates were begun, and how they ended.
import type { Integer } from './options.js';

/**
 * The state of a key:
 *
 * - `begun`: the create is in progress.
 * - `done`: it succeeded. A call with the key returns the recorded answer, and sends nothing.
 * - `unknown`: it may have been carried out: its outcome is not known, or its process ended before
 *   it was. A call with the key rejects with `OutcomeUnknown`, and sends nothing.
 * - `free`: it was certainly not carried out. A call with the key sends.
 */
export type LedgerState = 'begun' | 'done' | 'unknown' | 'free';

/** A key of a ledger. */
export interface LedgerEntry {
  /** The key, as it was given. */
  readonly key: string;
  /** The method, such as `dockets.create`, which stands for creates in a batch as well. */
  readonly function: string;
  /** The state. */
  readonly state: LedgerState;
  /** When a create with the key was begun last, by the clock of its machine. */
  readonly begunAt: Date;
  /** When it ended, or was resolved. */
  readonly endedAt: Date | undefined;
  /** The id of the docket, task or agent that was created, if it is known. */
  readonly createdId: string | Integer | undefined;
  /** The message of the error that it ended in. */
  readonly message: string | undefined;
  /** Who resolved it, as given to `resolve` or `release`; `docket` for a docket that was fetched or verified. */
  readonly resolvedBy: string | undefined;
}

/** A create with a key. */
export interface LedgerClaim {
  readonly key: string;
  /** The function in the WIT, such as `dockets.create-docket-v2`. */
  readonly function: string;
  /**
   * The arguments with their names. Values that mean the same are the same text, which may have a
   * phone number.
   */
  readonly arguments: readonly (readonly [name: string, value: string])[];
}

/** The answer to a claim. */
export type LedgerAnswer =
  /** The key had no entry, or one that was free. It is `begun` now, under this name of the claim. */
  | { readonly taken: string }
  | {
      readonly entry: {
        readonly function: string;
        readonly state: LedgerState;
        /** Unit: milliseconds since 1970. */
        readonly begun_ms: number;
        readonly answer: string | null;
        /** The first argument that differs from that of the claim; `null` if all are equal. */
        readonly differs_in: string | null;
      };
    };

/** A docket that was fetched or verified. */
export interface LedgerSighting {
  /** What may be its key: its `external_id`, and the texts of its context. */
  readonly keys: readonly string[];
  readonly docket_id: string;
  /** As an argument of a claim. */
  readonly to_phone_number: string;
  /** The day of its creation, counted from 1970. */
  readonly created_day: number | null;
}

/**
 * A storage of your own in place of a `Ledger`, for runtimes without `node:sqlite`. What it answers
 * has to be on the disk before it answers: a create is sent after its claim.
 */
export interface LedgerStorage {
  /** Takes a key, unless it has an entry that is not free. If it rejects, nothing is sent. */
  claim(create: LedgerClaim): Promise<LedgerAnswer>;
  /**
   * Writes how a create has ended, if the entry of its key is that of this claim. The call waits for it,
   * beyond its timeout as well: give it a time limit of its own.
   */
  record(
    key: string,
    claimName: string,
    outcome: { readonly state: 'done' | 'unknown' | 'free'; readonly answer?: string | null; readonly message?: string | null },
  ): Promise<void>;
  /**
   * Resolves the entries of these keys that are unknown, are of a function of `dockets`, have the same
   * `to_phone_number`, and were begun at the latest on the day after its `created_day`, without which it
   * resolves nothing.
   */
  observe(sighting: LedgerSighting): Promise<void>;
}

/** Who has made sure of what became of a create. */
export interface ResolvedBy {
  /** Their name, which is recorded. */
  readonly by: string;
}

/**
 * A file with the keys of creates and what became of them, for any number of clients, threads and
 * processes of one machine, and for the packages of other languages. It needs Node 22.13 or newer,
 * for `node:sqlite`.
 *
 * The file is a SQLite database, readable and writable by its owner alone, on a local disk. It has
 * keys, times, and of each answer the id and the status; arguments, phone numbers among them, only as digests
 * that are keyed by a random key of the file. Nothing but a ledger may open it in a process that has it
 * open. Restoring a copy forgets what was called since.
 *
 * Every method rejects with a `ConfigurationProblem` if the file cannot be used.
 */
export declare class Ledger {
  /**
   * Opens nothing yet.
   *
   * @throws {ConfigurationProblem} for a path of another type, and on a runtime without `node:sqlite`.
   */
  constructor(path: string | URL);

  /** The absolute path of the file. */
  readonly path: string;

  /** Returns the entry of a key, or `undefined` if it has none. */
  get(key: string): Promise<LedgerEntry | undefined>;
  /** Returns the entries whose outcome is not known, the oldest first. */
  unknown(): Promise<LedgerEntry[]>;
  /**
   * Records what a create whose outcome was unknown has created: the id of the docket, task or agent.
   *
   * @throws {InvalidInput} if the entry is not unknown.
   */
  resolve(key: string, createdId: string | Integer, options: ResolvedBy): Promise<LedgerEntry>;
  /**
   * Records that a create whose outcome was unknown has created nothing, so that the next call with
   * the key is sent.
   *
   * @throws {InvalidInput} if the entry is not unknown.
   */
  release(key: string, options: ResolvedBy): Promise<LedgerEntry>;
  /**
   * Forgets the entries that were done before this time, and returns how many. A call with such a
   * key is sent again. No other entry is ever forgotten.
   */
  prune(options: { readonly doneBefore: Date }): Promise<number>;
  /** Closes the file, after all that is being recorded. It is opened again when it is used again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
