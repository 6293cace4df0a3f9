// The values that users give: JSON, the settings of a client, the options of its calls, and the listeners.
import type { Ledger, LedgerStorage } from './ledger.js';

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

/** The settings. */
export interface Settings {
  /** The service: http(s)://host[:port][/path]; http only to loopback. Required. Variable: `VOICE_CALLING_BASE_URL`. */
  readonly baseUrl?: string | undefined;
  /**
   * The organization's token, without `Bearer `. It is sent as the header `auth_token: Bearer <token>`. Required. Variable: `VOICE_CALLING_API_TOKEN`.
   */
  readonly token?: string | undefined;
  /**
   * Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to 100. Default: `4`. Variable: `VOICE_CALLING_MAX_ATTEMPTS`.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The ceiling of the first pause, doubled from then on; the pause itself is drawn between half of it and all of it. Unit: milliseconds. Default: `2000`. Variable: `VOICE_CALLING_BACKOFF_MS`.
   */
  readonly backoffMs?: number | undefined;
  /**
   * The highest ceiling, and the longest pause between polls; the service may ask for more. Unit: milliseconds. Default: `8000`. Variable: `VOICE_CALLING_MAX_BACKOFF_MS`.
   */
  readonly maxBackoffMs?: number | undefined;
  /** For a connection, TLS included. Unit: milliseconds. Default: `3000`. Variable: `VOICE_CALLING_CONNECT_TIMEOUT_MS`. */
  readonly connectTimeoutMs?: number | undefined;
  /** For an attempt, the body included. Unit: milliseconds. Default: `10000`. Variable: `VOICE_CALLING_ATTEMPT_TIMEOUT_MS`. */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * For an operation, an item of a batch, a poll of a wait. Unit: milliseconds. Default: `30000`. Variable: `VOICE_CALLING_DEADLINE_MS`.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * When a create is sent again: also after 5xx and 408, as the specification asks, although a phone may ring twice then; only if nothing was sent or the service refused it with 429 or 425; or never. Default: `server-errors`. Variable: `VOICE_CALLING_CREATE_RETRY`.
   */
  readonly createRetry?: 'server-errors' | 'not-sent' | 'never' | undefined;
  /** Open requests of all calls together; 1 to 100000. Default: `16`. Variable: `VOICE_CALLING_MAX_IN_FLIGHT`. */
  readonly maxInFlight?: number | undefined;
  /** The body of a request; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_REQUEST_BYTES`. */
  readonly maxRequestBytes?: number | undefined;
  /**
   * The body of an answer; 1 to 67108864. An answer to a create has at most 16384 bytes more than six times its request. Default: `8388608`. Variable: `VOICE_CALLING_MAX_RESPONSE_BYTES`.
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * The body of a delivery to the webhook, which anyone can send; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_DELIVERY_BYTES`.
   */
  readonly maxDeliveryBytes?: number | undefined;
  /** Whether plain http may go to a host that is not loopback. Default: `false`. Variable: `VOICE_CALLING_ALLOW_INSECURE_HTTP`. */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** The options that all calls take as their last argument. */
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
   */
  readonly timeoutMs?: number | null | undefined;
}

/** The last argument of every call that creates something, except a batch. */
export interface CreateOptions extends CallOptions {
  /**
   * A key of your own for this create in the ledger of the client, without control characters. A call whose key is
   * done returns the recorded answer (`fromLedger`). One whose outcome is not known rejects with
   * `OutcomeUnknown`, one that is in progress elsewhere with `InProgress`, and another request with
   * the key with `InvalidInput`; nothing is sent then. With a key a create is never sent again once
   * it may have been carried out, whatever `createRetry` says.
   */
  readonly once?: string | null | undefined;
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
  /** `'externalId'`: the key of each request that has no `once` is its `externalId`. */
  readonly once?: 'externalId' | null | undefined;
}

/** Options of a client. What is absent is taken from the environment. */
export interface ClientOptions extends Settings {
  /** Certificates of the authorities that are trusted, in place of Node's own. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /**
   * Makes the connections, for client certificates and proxies. One of Node's own has to be of
   * `node:https` where `baseUrl` is https. The client's own keeps idle connections for one
   * second, so that a call is seldom placed on one that the service has just given up.
   */
  readonly agent?: import('node:http').Agent | undefined;
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
   * By which a create that is given a key (`once`) is sent once, also if the program is killed and run
   * again: the path of a file, a `Ledger`, or a storage of your own.
   */
  readonly ledger?: string | URL | Ledger | LedgerStorage | undefined;
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
}

/** Sends requests, such as a `ScriptedService`. Its insides may change. */
export interface Transport {
  /** Sends a request once, reports to the exchange what comes of it, and returns what ends it. */
  send(request: never, exchange: never): () => void;
}

/** The argument of `onCreated`. */
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

/** The argument of `onAttempt`. */
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
  /** The transport error, if there was one. */
  readonly transportError?: string;
  /** When it began. Unit: milliseconds since the operation began. */
  readonly startedMs: number;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
  /** The pause before the next attempt, where there is to be one. Unit: milliseconds. */
  readonly pauseMs?: number;
}
