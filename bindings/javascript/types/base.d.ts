// What the types of the WIT are used with: options, errors, batches, JSON.
import type { Agents, Attempt, Calls, Dockets, HttpResponse, Problem, RequestErrorKind, Settings, Webhooks } from './wit.js';

/** Any JSON value. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Free-form JSON that you give: a value (objects, arrays, `bigint` for integers that `number`
 * cannot hold), or a string, which is JSON text already and is passed on as it is, so that
 * numbers keep their digits and objects the order of their keys. Members that are `undefined` are
 * left out. What JSON cannot hold (`NaN`, functions, bytes, a `Map`, an invalid `Date`, a circle) is
 * `InvalidInput`. `toJSON` is asked, as `JSON.stringify` does.
 */
export type JsonInput = null | boolean | number | bigint | string | object;

/**
 * An integer that you get: a number, or a `bigint` where a number would lose digits (beyond 2^53),
 * which `JSON.stringify` writes as text. You may give all of these.
 */
export type Integer = number | bigint;

// ------------------------------------------------------------------------------------- options

/** What all calls take as their last argument, and `withOptions`. */
export interface SharedOptions {
  /** Which account sends the request: one of the names in `accounts`. Default: the client's own. */
  readonly account?: string | null | undefined;
  /**
   * How often it may be tried again, `maxAttempts - 1` if absent: the operation, each poll of a
   * wait, each request of a batch; 0 to 99.
   */
  readonly maxRetries?: number | null | undefined;
  /**
   * Ends the call as soon as it is aborted. It cancels nothing at the service, which has no endpoint
   * for that. A call that creates something rejects with an error
   * whose `mayHaveCreated` is true if it may have been created by then, and whose `cause` is the
   * signal's reason; any other call rejects with that reason, as `fetch` does. Nothing is sent
   * afterwards.
   */
  readonly signal?: AbortSignal | null | undefined;
}

/** The last argument of every call that sends something. */
export interface CallOptions extends SharedOptions {
  /**
   * How long the operation may take, `deadlineMs` if absent; 1 to 86400000. It never cuts off a
   * request that may have created something: none is begun that could not be finished in time.
   * Among the options of `withOptions` it holds for each poll and each request of a batch as well.
   */
  readonly timeoutMs?: number | null | undefined;
}

/** The last argument of waits. */
export interface WaitOptions extends SharedOptions {
  /** How long to wait at most. Unit: milliseconds; 1 or more. */
  readonly timeoutMs: number;
  /** How long each poll may take, `deadlineMs` if absent. Unit: milliseconds; 1 to 86400000. */
  readonly pollTimeoutMs?: number | null | undefined;
  /**
   * Whether an answer of 404 means "not yet". `false` ends the wait with `NotFound`. Default:
   * `true` for a task id, so that one that `calls.make` has just returned is waited for; `false`
   * for a docket.
   */
  readonly notFoundIsPending?: boolean | null | undefined;
  /** Called after each answer. What it throws becomes a warning, and does not end the wait. */
  readonly onProgress?: ((progress: Progress) => void | Promise<void>) | null | undefined;
}

/** The last argument of a batch. */
export interface BatchOptions extends SharedOptions {
  /**
   * For how long requests may be begun; 1 or more. Those that were not begun by then are
   * `TimedOut` with no attempts. Those that were are finished, each within its own time.
   */
  readonly timeoutMs: number;
  /** How long each request may take, `deadlineMs` if absent. Unit: milliseconds; 1 to 86400000. */
  readonly requestTimeoutMs?: number | null | undefined;
}

/** How a wait goes on. */
export interface Progress {
  /** How many answers came, this one included. */
  readonly answers: number;
  /** For how long it has waited. Unit: milliseconds. */
  readonly waitedMs: number;
  /** The HTTP status of this answer. */
  readonly status: number;
  /** The answer, parsed when it is read; `undefined` where it is not JSON. */
  readonly raw: JsonValue | undefined;
}

/** Options of a client on any platform. What is absent is taken from the environment. */
export interface SharedClientOptions extends Settings {
  /**
   * Accounts by their names, each with a `token` and any other setting of its own; the client's
   * settings apply where one is absent. `account` in the options of a call selects one. A name is
   * lower-case letters, digits and `-`. Variables: `VOICE_CALLING_ACCOUNTS`, whose names are added
   * to these, and `VOICE_CALLING_<NAME>_<SETTING>`.
   */
  readonly accounts?: { readonly [name: string]: Settings } | undefined;
  /**
   * Where variables with the prefix `VOICE_CALLING_` are taken from; `process.env` if absent. A
   * variable that looks like a misspelt setting is refused.
   */
  readonly env?: { readonly [variable: string]: string | undefined } | undefined;
  /**
   * Called after every attempt, without token, phone numbers and call context. What it throws, or
   * rejects with, becomes a warning, and does not fail the call.
   */
  readonly onAttempt?: ((entry: AttemptEntry) => void | Promise<void>) | undefined;
  /**
   * Called as soon as something was created, before the call returns it or the batch reports it, so
   * that its id can be logged whatever happens to the caller. What it throws, or rejects with,
   * becomes a warning, and does not fail the call.
   */
  readonly onCreated?: ((entry: CreatedEntry) => void | Promise<void>) | undefined;
  /** Sends the requests; such as a `ScriptedService` in a test. */
  readonly transport?: Transport | undefined;
  /**
   * `voice-calling/voice-calling-sans-io.wasm`, compiled, for platforms that compile ahead of
   * time; the constructor throws if it is absent there. Elsewhere what is in the package is compiled
   * by the first call.
   */
  readonly wasm?: WebAssemblyModule | undefined;
}

/** A `WebAssembly.Module`. */
export type WebAssemblyModule = object;

/** Sends requests: `NodeHttp`, `FetchHttp` or a `ScriptedService`. Their insides may change. */
export interface Transport {
  /** Sends a request once, reports to the exchange what comes of it, and returns what ends it. */
  send(request: never, exchange: never): () => void;
}

/** What `onCreated` is called with. */
export interface CreatedEntry {
  /** The function in the WIT, such as `dockets.create-docket-v2`. */
  readonly function: string;
  /** The docket id, the task id, or the agent id if the service gave one. */
  readonly id: string | Integer | undefined;
  /** `externalId` of the request, if it has one. */
  readonly externalId?: string;
  /** The index of the request, in a batch. */
  readonly index?: number;
}

/** What `onAttempt` is called with. */
export interface AttemptEntry {
  /** The function in the WIT, such as `dockets.create-docket-v2`. */
  readonly function: string;
  /** The account, where one was named. */
  readonly account?: string;
  readonly method: 'GET' | 'POST';
  /** The path, with names in braces for what varies. */
  readonly path: string;
  /** From 1. */
  readonly attempt: number;
  /** The HTTP status, where one came. */
  readonly status?: number;
  /** What went wrong in transport, where something did. */
  readonly transportError?: string;
  /** When it began. Unit: milliseconds since the operation began. */
  readonly startedMs: number;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
  /** The pause before the next attempt, where there is to be one. Unit: milliseconds. */
  readonly pauseMs?: number;
}

// -------------------------------------------------------------------------------------- batches

/** One result of a batch. */
export type BatchResult<T> =
  | { readonly index: number; readonly ok: true; readonly value: T }
  | { readonly index: number; readonly ok: false; readonly error: RequestError };

/**
 * A batch that was begun. `await` gives all results in the order of the requests; `for await` each
 * as it comes, with the index of its request. After the loop is left nothing more is sent. Leaving
 * it waits for the answers to the requests that are open, and logs each docket that was or may have
 * been created and that the loop was not given. The signal ends the batch at once: each request has
 * a result all the same, which is `OutcomeUnknown` if its create was in flight. If the whole batch is refused, it rejects, and a warning says so where
 * nobody awaits it.
 */
export interface Batch<T> extends Promise<readonly BatchResult<T>[]>, AsyncIterable<BatchResult<T>> {
  /** What is known by now, by the index of the request. */
  readonly results: readonly (BatchResult<T> | undefined)[];
}

// --------------------------------------------------------------------------------------- errors

/** Why an operation did not succeed: the base of all errors of this package. */
export declare class RequestError extends Error {
  /** The case in the WIT. */
  readonly kind: RequestErrorKind;
  /**
   * Whether the same call is not worth retrying as it is: it would fail again, or might call a
   * person twice. After any other error nothing was created, and the call may be retried later.
   */
  readonly isPermanent: boolean;
  /**
   * Whether something may have been created: a phone may be ringing. Always `false` for calls that
   * only read.
   */
  readonly mayHaveCreated: boolean;
  /** `externalId` of the create that failed, if it has one. */
  readonly externalId: string | undefined;
  /** The index of the create that failed, in a batch. */
  readonly index: number | undefined;
  /** The setting or argument at fault, where one is. */
  readonly problem: Problem | undefined;
  /**
   * The answer that decided, where one came. It need not be that of the last attempt: attempts
   * without an answer may follow it.
   */
  readonly response: HttpResponse | undefined;
  /** The id of the request that was answered so. */
  readonly requestId: string | undefined;
  /** All attempts of the operation, in order; empty where nothing was sent. */
  readonly attempts: readonly Attempt[];
  /** What `JSON.stringify` writes: all of this, and `name` and `message`. */
  toJSON(): object;
}

/** The service answered, and its answer decided. */
export declare class ServiceError extends RequestError {
  readonly response: HttpResponse;
}

/** No answer came, and nothing was created: the call may be retried later. */
export declare class NoAnswerError extends RequestError {
  readonly response: undefined;
  readonly mayHaveCreated: false;
}

// --------------------------------------------------------------------------------------- client

/**
 * A client of the voice-calling service. It may be used for many calls at once; one client for
 * each service and token is enough.
 *
 * By default a create that was carried out and then answered 5xx or 408 is sent again, and two
 * phones may ring: the result has `mayBeDuplicate`. With `createRetry: 'not-sent'` a create is sent
 * again only if it was not sent, or was refused with 429 or 425; any other one that got no
 * conclusive answer is `OutcomeUnknown`.
 */
export interface Client {
  readonly agents: Agents;
  readonly calls: Calls;
  readonly dockets: Dockets;
  readonly webhooks: Webhooks;
  /** The same client, with other options where a call has none. Closing one closes both. */
  withOptions(options: CallOptions): this;
  /**
   * Refuses new calls, waits for those that run, and closes the connections. A program that
   * forgets it ends all the same.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
