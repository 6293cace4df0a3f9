// The errors that a call rejects with.

/** The kinds of failures in the WIT, `execution-failed` and `in-progress`. */
export type RequestErrorKind =
  | 'execution-failed'
  | 'configuration'
  | 'invalid-input'
  | 'unauthorized'
  | 'not-found'
  | 'rejected'
  | 'unexpected-response'
  | 'outcome-unknown'
  | 'in-progress'
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
  /** The header `x-request-id`, or else `requestId` or `x-correlation-id`. */
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
  /**
   * The transport error, where there was one. With a `status`, the body ended early
   * or came too late.
   */
  readonly transportError?: string;
  /** When it began. Unit: milliseconds since the operation began. */
  readonly startedMs: number;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
}

/** Why an operation did not succeed: the base of all errors of this package. */
export declare class RequestError extends Error {
  /** The kind of failure. */
  readonly kind: RequestErrorKind;
  /** What follows from it. */
  readonly nextStep: NextStep;
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
  /** The value that `JSON.stringify` writes: all of this, and `name` and `message`. */
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

/** The client itself failed, for the reason in `cause`; nothing was created. */
export declare class ExecutionFailed extends RequestError {
  readonly kind: 'execution-failed';
}

/** A setting is missing or wrong, or an account is unknown. `problem` names the option or variable. */
export declare class ConfigurationProblem extends RequestError {
  readonly kind: 'configuration';
  readonly problem: Problem;
}

/**
 * An argument is not allowed, or the host rejects the request for what is in it.
 * `problem` names the argument. Nothing was created.
 */
export declare class InvalidInput extends RequestError {
  readonly kind: 'invalid-input';
  readonly problem: Problem;
}

/** The service rejected the token: 401 or 403. */
export declare class Unauthorized extends ServiceError {
  readonly kind: 'unauthorized';
}

/** The service answered not found: 404 or 410. */
export declare class NotFound extends ServiceError {
  readonly kind: 'not-found';
}

/**
 * The service rejected the request: any other 3xx or 4xx. Redirects are
 * never followed, since the token would go along. After a 3xx or a 409 to a
 * creating request the call or docket may exist.
 */
export declare class Rejected extends ServiceError {
  readonly kind: 'rejected';
}

/**
 * An answer that is not as specified: a 2xx whose body does not match the
 * specification or exceeds the size limit, a docket other than the requested one,
 * or a status outside 200 to 599. After a creating request the call or docket may
 * exist; `response` has what came.
 */
export declare class UnexpectedResponse extends ServiceError {
  readonly kind: 'unexpected-response';
}

/**
 * A creating request may have been processed: it was sent and no conclusive
 * answer came, or the service failed (5xx, 408), also in an attempt before the
 * last. A person's phone may be ringing: retry only after making sure that nothing
 * was created.
 */
export declare class OutcomeUnknown extends RequestError {
  readonly kind: 'outcome-unknown';
}

/**
 * A create with the same key (`once`) is in progress, in this process or another one, and nothing was
 * sent. The same call returns its answer later.
 */
export declare class InProgress extends RequestError {
  readonly kind: 'in-progress';
  readonly problem: Problem;
}

/** The service's rate limit: 429 or 425, until no attempt or no time was left. */
export declare class RateLimited extends ServiceError {
  readonly kind: 'rate-limited';
}

/**
 * The service failed: 5xx or 408 to a reading request, until no
 * attempt or no time was left.
 */
export declare class Unavailable extends ServiceError {
  readonly kind: 'unavailable';
}

/** The service could not be reached: no attempt was sent. */
export declare class Unreachable extends NoAnswerError {
  readonly kind: 'unreachable';
}

/**
 * Time ran out before anything was sent, or a reading request got no
 * complete answer in any of its attempts.
 */
export declare class TimedOut extends NoAnswerError {
  readonly kind: 'timed-out';
}

/**
 * A batch did not begin this request, because too many of the others had failed:
 * `message` says how. Nothing was sent.
 */
export declare class NotBegun extends RequestError {
  readonly kind: 'not-begun';
}
