// The errors that a call rejects with.

/** The kinds of failures. */
export type FailureKind =
  | 'configuration'
  | 'invalid-input'
  | 'unauthorized'
  | 'not-found'
  | 'rejected'
  | 'unexpected-response'
  | 'outcome-unknown'
  | 'rate-limited'
  | 'unavailable'
  | 'unreachable'
  | 'timed-out'
  | 'not-begun';

/**
 * What follows from an error, for this request and for those to other people:
 *
 * - `retry-later`: nothing was created. The same request may succeed later; until then, others would
 *   probably fail in the same way.
 * - `fix-setting`: nothing was created, and no request can succeed until someone acts.
 * - `refused`: nothing was created, and the same request would be refused again. It is about this
 *   request alone, unless many are refused in a row.
 * - `unknown`: something may have been created. Make sure of it before this request is sent again.
 */
export type NextStep = 'retry-later' | 'fix-setting' | 'refused' | 'unknown';

/** A setting or argument at fault. */
export interface Problem {
  /**
   * The environment variable, such as `VOICE_CALLING_BASE_URL`, or the argument or
   * the field in it, such as `toPhoneNumber`, `callContext.name` or
   * `options.account`; a long key is cut. `request` where all of it is at fault.
   */
  readonly subject: string;
  /** The value that was found, cut if it is long, and not shown if it is secret. */
  readonly found: string;
  /** The values that are allowed. */
  readonly allowed: string;
}

/** The part of a response that an error keeps. */
export interface HttpResponse {
  /** The HTTP status, 100 to 999. */
  readonly status: number;
  /**
   * The body as text: its first 8192 bytes, with bytes that are not UTF-8
   * replaced, and with the API token masked where the service echoes it, if
   * the token has 8 bytes or more.
   */
  readonly body: string;
  /** Whether `body` is less than what the service sent, or meant to send. */
  readonly bodyCut: boolean;
  /** The header `x-request-id`, or else `request-id` or `x-correlation-id`. */
  readonly requestId?: string;
  /**
   * How long the service asks to wait (header `retry-after`, given there
   * in seconds or as a date), from the moment of the answer. A date is read
   * against the answer's own `date`. Unit: milliseconds; at most a day.
   */
  readonly retryAfterMs?: number;
}

/** One request that was tried. */
export interface Attempt {
  /** The HTTP status, where one came. */
  readonly status?: number;
  /** The transport error, where there was one. With a `status`, the body ended early or came too late. */
  readonly transportError?: string;
  /** When it began. Unit: milliseconds since the operation began. */
  readonly startedMs: number;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
}

/** What else is known of a failure: the members of an error. */
export interface FailureDetails {
  readonly mayHaveCreated?: boolean;
  readonly attempts?: readonly Attempt[];
  readonly problem?: Problem;
  readonly response?: HttpResponse;
  readonly externalId?: string;
  readonly index?: number;
  readonly cause?: unknown;
}

/** Why an operation did not succeed: the base of all errors of this package. */
export declare class VoiceCallingError extends Error {
  constructor(message: string, details?: FailureDetails);
  /** The kind of failure. */
  readonly kind: FailureKind;
  /** `VOICE_CALLING_` and the kind, such as `VOICE_CALLING_RATE_LIMITED`. */
  readonly code: string;
  /** What follows from it. */
  readonly nextStep: NextStep;
  /**
   * Whether the same call is not worth retrying as it is: it would fail again, or might call a
   * person twice. After any other error nothing was created, and the call may be retried later.
   */
  readonly isPermanent: boolean;
  /** Whether something may have been created: a phone may be ringing. Always `false` for calls that only read. */
  readonly mayHaveCreated: boolean;
  /** `externalId` of the create that failed, if it has one. */
  readonly externalId: string | undefined;
  /** The index of the create that failed, in a batch. */
  readonly index: number | undefined;
  /** The setting or argument at fault, if there is one. */
  readonly problem: Problem | undefined;
  /** The answer that decided, if one came. It need not be that of the last attempt: attempts without an answer may follow it. */
  readonly response: HttpResponse | undefined;
  /** The service's id of the request that was answered so. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait before the next request. */
  readonly retryAfterMs: number | undefined;
  /** All attempts of the operation, in order; empty if nothing was sent. */
  readonly attempts: readonly Attempt[];
  /** The value that `JSON.stringify` writes: all of this, and `name` and `message`. */
  toJSON(): object;
}

/** A setting is missing or wrong, an account is unknown, or the client is closed. `problem` names the option or variable. */
export declare class ConfigurationError extends VoiceCallingError {
  readonly kind: 'configuration';
}

/** An argument is not allowed; nothing was created. `problem` names it. */
export declare class InvalidInputError extends VoiceCallingError {
  readonly kind: 'invalid-input';
}

/** The service rejected the token: 401 or 403. */
export declare class UnauthorizedError extends VoiceCallingError {
  readonly kind: 'unauthorized';
}

/** The service answered not found: 404 or 410. */
export declare class NotFoundError extends VoiceCallingError {
  readonly kind: 'not-found';
}

/**
 * The service rejected the request: any other 3xx or 4xx. Redirects are never followed, since the token
 * would go along. After a 3xx or a 409 to a create the call or docket may exist.
 */
export declare class RejectedError extends VoiceCallingError {
  readonly kind: 'rejected';
}

/** An answer that is not as specified. After a create the call or docket may exist; `response` has what came. */
export declare class UnexpectedResponseError extends VoiceCallingError {
  readonly kind: 'unexpected-response';
}

/**
 * A create may have been carried out: it was sent and no conclusive answer came, or its key in the ledger
 * is of one that may have been, or is in progress. A phone may be ringing: make sure of it first.
 */
export declare class OutcomeUnknownError extends VoiceCallingError {
  readonly kind: 'outcome-unknown';
}

/** The service's rate limit: 429 or 425, until no attempt or no time was left. */
export declare class RateLimitedError extends VoiceCallingError {
  readonly kind: 'rate-limited';
}

/** The service failed: 5xx or 408 to a reading request, until no attempt or no time was left. */
export declare class UnavailableError extends VoiceCallingError {
  readonly kind: 'unavailable';
}

/** The service could not be reached: no attempt was sent. */
export declare class UnreachableError extends VoiceCallingError {
  readonly kind: 'unreachable';
}

/** Time ran out before anything was sent, or a reading request got no complete answer. */
export declare class TimedOutError extends VoiceCallingError {
  readonly kind: 'timed-out';
}

/** A batch did not begin this request: it was aborted, or too many of the others had failed. Nothing was sent. */
export declare class NotBegunError extends VoiceCallingError {
  readonly kind: 'not-begun';
}

/** A wait whose time ran out. It may be waited for again. */
export declare class WaitTimedOutError<T = unknown> extends TimedOutError {
  /** The latest state, if an answer came. */
  readonly last: T | undefined;
  /** How many polls were made, not counting retries within a poll. */
  readonly polls: number;
  /** How many of these polls failed with an error that may be temporary. */
  readonly failedPolls: number;
  /** How long the wait took. Unit: milliseconds. */
  readonly waitedMs: number;
  /** How much of that was spent on a rate limit that another call of the same account had met. */
  readonly heldBackMs: number;
}
