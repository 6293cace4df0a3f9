// The values that users give: JSON, the settings of a client, the options of its calls, and the listeners.
import type { Ledger } from './ledger.js';
import type { ScriptedService } from './testing.js';

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

/** An integer that you get: a number, or its digits as text where a number would lose some (beyond 2^53). */
export type Integer = number | string;

/** An integer that you give. */
export type IntegerInput = number | bigint | string;

/** The settings. */
export interface Settings {
  /** The service: http(s)://host[:port][/path]; http only to loopback. Required. Variable: `VOICE_CALLING_BASE_URL`. */
  readonly baseUrl?: string | undefined;
  /** The organization's token, without `Bearer `. It is sent as the header `auth_token: Bearer <token>`. Required. Variable: `VOICE_CALLING_API_TOKEN`. */
  readonly token?: string | undefined;
  /** How often an operation, an item of a batch or a poll of a wait is tried again; 0 to 99. The variable has the number of attempts, one more. Default: `3`. Variable: `VOICE_CALLING_MAX_ATTEMPTS`. */
  readonly maxRetries?: number | undefined;
  /** The ceiling of the first pause, doubled from then on; the pause itself is drawn between half of it and all of it. Unit: milliseconds. Default: `2000`. Variable: `VOICE_CALLING_BACKOFF_MS`. */
  readonly backoffMs?: number | undefined;
  /** The highest ceiling, and the longest pause between polls; the service may ask for more. Unit: milliseconds. Default: `8000`. Variable: `VOICE_CALLING_MAX_BACKOFF_MS`. */
  readonly maxBackoffMs?: number | undefined;
  /** For a connection, TLS included. Unit: milliseconds. Default: `3000`. Variable: `VOICE_CALLING_CONNECT_TIMEOUT_MS`. */
  readonly connectTimeoutMs?: number | undefined;
  /** For an attempt, the body included. Unit: milliseconds. Default: `10000`. Variable: `VOICE_CALLING_ATTEMPT_TIMEOUT_MS`. */
  readonly attemptTimeoutMs?: number | undefined;
  /** For an operation, an item of a batch, a poll of a wait. Unit: milliseconds. Default: `30000`. Variable: `VOICE_CALLING_DEADLINE_MS`. */
  readonly timeoutMs?: number | undefined;
  /** When a create is sent again: also after 5xx and 408, as the specification asks, although a phone may ring twice then; only if nothing was sent or the service refused it with 429 or 425; or never. Default: `server-errors`. Variable: `VOICE_CALLING_CREATE_RETRY`. */
  readonly createRetry?: 'server-errors' | 'not-sent' | 'never' | undefined;
  /** Open requests of all calls together; 1 to 100000. Default: `16`. Variable: `VOICE_CALLING_MAX_IN_FLIGHT`. */
  readonly maxInFlight?: number | undefined;
  /** The body of a request; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_REQUEST_BYTES`. */
  readonly maxRequestBytes?: number | undefined;
  /** The body of an answer; 1 to 67108864. Default: `8388608`. Variable: `VOICE_CALLING_MAX_RESPONSE_BYTES`. */
  readonly maxResponseBytes?: number | undefined;
  /** The body of a delivery to the webhook, which anyone can send; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_DELIVERY_BYTES`. */
  readonly maxDeliveryBytes?: number | undefined;
  /** Whether plain http may go to a host that is not loopback. Default: `false`. Variable: `VOICE_CALLING_ALLOW_INSECURE_HTTP`. */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** The options that all calls take as their last argument. */
export interface SharedOptions {
  /** Which account sends the request: one of the names in `accounts`. Default: the client's own. */
  readonly account?: string | null | undefined;
  /** How often it may be tried again: the operation, each poll of a wait, each request of a batch; 0 to 99. */
  readonly maxRetries?: number | null | undefined;
  /**
   * Ends the call as soon as it is aborted; nothing is sent afterwards. It cancels nothing at the
   * service, which has no endpoint for that. If something may have been created by then, the call
   * rejects with `OutcomeUnknownError`, whose `cause` is the signal's reason; otherwise with that
   * reason, as `fetch` does. An answer that has arrived counts. A batch finishes its open requests.
   */
  readonly signal?: AbortSignal | null | undefined;
}

/** The last argument of every call that sends something. */
export interface CallOptions extends SharedOptions {
  /**
   * How long the operation may take, the client's `timeoutMs` if absent; 1 to 86400000. It never cuts
   * off a request that may have created something: none is begun that could not be finished in time.
   */
  readonly timeoutMs?: number | null | undefined;
}

/** The last argument of every call that creates something, except a batch. */
export interface CreateOptions extends CallOptions {
  /**
   * A key of your own for this create in the ledger of the client. A create whose key is done returns
   * the recorded answer (`fromLedger`). One that may have been carried out, or is in progress, rejects
   * with `OutcomeUnknownError`, and another request with the key with `InvalidInputError`; nothing is
   * sent then. With a key a create is never sent again once it may have been carried out, whatever
   * `createRetry` says.
   */
  readonly key?: string | null | undefined;
}

/** The last argument of waits. */
export interface WaitOptions extends SharedOptions {
  /** How long to wait at most. Unit: milliseconds; 1 or more. */
  readonly timeoutMs: number;
  /** How long each poll may take, the client's `timeoutMs` if absent. Unit: milliseconds; 1 to 86400000. */
  readonly pollTimeoutMs?: number | null | undefined;
  /**
   * Whether an answer of 404 means "not yet". `false` ends the wait with `NotFoundError`. Default:
   * `true` for a task id, so that one that `calls.make` has just returned is waited for; `false`
   * for a docket.
   */
  readonly notFoundIsPending?: boolean | null | undefined;
}

/** The last argument of a batch. */
export interface BatchOptions extends SharedOptions {
  /** For how long requests may be begun; 1 or more. Those that were begun are finished, each within its own time. */
  readonly timeoutMs: number;
  /** How long each request may take, the client's `timeoutMs` if absent. Unit: milliseconds; 1 to 86400000. */
  readonly requestTimeoutMs?: number | null | undefined;
  /** `'externalId'`: the key of each request that has no `key` is its `externalId`, which it must have. */
  readonly key?: 'externalId' | null | undefined;
}

/** Certificates and keys, as text or bytes. */
export type Pem = string | Uint8Array;

/** Options of a client. What is absent is taken from the environment. */
export interface ClientOptions extends Settings {
  /**
   * A proxy for all requests, `http://host:port` or `https://host:port`, with `user:password@` if it
   * wants them; `false`: none. Default: the variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
   * `NO_PROXY`. A service on loopback never has one.
   */
  readonly proxy?: string | false | undefined;
  /** The authorities that may certify the service, in place of those of the system. */
  readonly authorities?: Pem | undefined;
  /** The client's own certificate, with those of its issuers, and its private key. */
  readonly clientCertificate?: Pem | undefined;
  /** Headers of all requests, other than those that the client sets itself. */
  readonly headers?: { readonly [name: string]: string } | undefined;
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
   * By which a create that is given a `key` is sent once, also if the program is killed and run again:
   * the path of a file, which is opened at once, or a `Ledger`.
   */
  readonly ledger?: string | URL | Ledger | undefined;
  /** Answers in place of the network, in a test. */
  readonly service?: ScriptedService | undefined;
  /** Takes what the client logs, such as `console`. Without one, warnings go to stderr. */
  readonly logger?: Logger | undefined;
  /**
   * Is asked before each create of a docket or call, with its request, before its key is claimed and
   * anything is sent; may be async. `true` goes on. `false`, or the reason, is an `InvalidInputError` of
   * this request alone, in a batch too. What it throws is thrown. See `ContactRules`.
   */
  readonly mayCall?: ((request: MayCallRequest) => MayCallAnswer | Promise<MayCallAnswer>) | undefined;
  /** Is called after each attempt. What it throws, or rejects with, becomes a warning. */
  readonly onAttempt?: ((ended: EndedAttempt) => void | Promise<void>) | undefined;
}

/** What takes lines of a log. */
export interface Logger {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

/** The argument of `onAttempt`. With neither status nor error, its time was up, or it was aborted. */
export interface EndedAttempt {
  readonly method: 'GET' | 'POST';
  /** The path and the query, which contain ids. */
  readonly path: string;
  /** The index of the request in its batch. */
  readonly index?: number;
  /** The HTTP status, if one came. */
  readonly status?: number;
  /** Why there was no response, or why it was incomplete. */
  readonly transportError?: string;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
}

/** The request that `mayCall` is asked about, as it was given. */
export interface MayCallRequest {
  /** The number to be called. */
  readonly toPhoneNumber: string;
  /** Any other field of the request. */
  readonly [field: string]: unknown;
}

/** Whether it may be sent, or why not. */
export type MayCallAnswer = boolean | string;
