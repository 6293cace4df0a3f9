/**
 * The classes of errors. What does not apply to an error is `undefined`, so that one handler can
 * log any of them; only what applies is shown by `console.log`.
 */

/**
 * The names of an error's classes. A program may have this package twice, once by `import` and
 * once by `require`: `instanceof` goes by these names.
 */
const CLASSES = Symbol.for('voice-calling.error');

/** Why an operation did not succeed: the base of all errors of this package. */
export class RequestError extends Error {
  static [Symbol.hasInstance](error) {
    // A class of the user's own is one of a kind.
    if (!Object.hasOwn(this.prototype, CLASSES)) return super[Symbol.hasInstance](error);
    return error?.[CLASSES]?.includes(this.prototype.name) === true;
  }

  constructor(message, attributes = {}, options = undefined) {
    super(message, options);
    Object.assign(this, attributes);
  }

  get isPermanent() {
    const { kind, mayHaveCreated } = /** @type {any} */ (this);
    // To retry it might call a person twice.
    return kind.startsWith('permanent-') || mayHaveCreated;
  }

  /** The id of the request whose answer decided. */
  get requestId() {
    return /** @type {any} */ (this).response?.requestId;
  }

  /** @this {any} */
  toJSON() {
    const { name, kind, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts } = this;
    return { name, kind, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts };
  }
}

define(RequestError, 'RequestError', {
  kind: '',
  index: undefined,
  externalId: undefined,
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
  attempts: Object.freeze([]),
});

/** The service answered, and its answer decided. */
export class ServiceError extends RequestError {}

define(ServiceError, 'ServiceError');

/** No answer came, and nothing was created. */
export class NoAnswerError extends RequestError {}

define(NoAnswerError, 'NoAnswerError');

/** The client itself failed. */
export class ExecutionFailed extends RequestError {}

define(ExecutionFailed, 'ExecutionFailed', { kind: 'execution-failed' });

/** A setting is missing or wrong, or an account is unknown. */
export class ConfigurationProblem extends RequestError {}

define(ConfigurationProblem, 'ConfigurationProblem', { kind: 'permanent-configuration' });

/** An argument is not allowed. Nothing was created. */
export class InvalidInput extends RequestError {}

define(InvalidInput, 'InvalidInput', { kind: 'permanent-invalid-input' });

/** The service rejected the token: 401 or 403. */
export class Unauthorized extends ServiceError {}

define(Unauthorized, 'Unauthorized', { kind: 'permanent-unauthorized' });

/** The service answered not found: 404 or 410. */
export class NotFound extends ServiceError {}

define(NotFound, 'NotFound', { kind: 'permanent-not-found' });

/** The service rejected the request: any other 3xx or 4xx. */
export class Rejected extends ServiceError {}

define(Rejected, 'Rejected', { kind: 'permanent-rejected' });

/** An answer that is not as specified. */
export class UnexpectedResponse extends ServiceError {}

define(UnexpectedResponse, 'UnexpectedResponse', { kind: 'permanent-unexpected-response' });

/** A creating request may have been processed: a person's phone may be ringing. */
export class OutcomeUnknown extends RequestError {}

define(OutcomeUnknown, 'OutcomeUnknown', { kind: 'permanent-outcome-unknown' });

/** The service's rate limit: 429 or 425, until no attempt or no time was left. */
export class RateLimited extends ServiceError {}

define(RateLimited, 'RateLimited', { kind: 'rate-limited' });

/** The service failed: 5xx or 408 to a reading request, until no attempt or no time was left. */
export class Unavailable extends ServiceError {}

define(Unavailable, 'Unavailable', { kind: 'unavailable' });

/** The service could not be reached: no attempt was sent. */
export class Unreachable extends NoAnswerError {}

define(Unreachable, 'Unreachable', { kind: 'unreachable' });

/** Time ran out before anything was sent, or no attempt of a reading request got a complete answer. */
export class TimedOut extends NoAnswerError {}

define(TimedOut, 'TimedOut', { kind: 'timed-out' });

/** Gives a class its name, which minifiers leave alone, and what all of its errors have. */
function define(Class, name, attributes = {}) {
  const { [CLASSES]: above = [] } = Class.prototype;
  Object.assign(Class.prototype, { name, ...attributes });
  Object.defineProperty(Class.prototype, CLASSES, { value: [...above, name] });
}
