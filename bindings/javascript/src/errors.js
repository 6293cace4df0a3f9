/**
 * The classes of errors, documented in `types/errors.d.ts`. What does not apply to an error is `undefined`, so that one handler can
 * log any of them; only what applies is shown by `console.log`.
 */

/**
 * The names of an error's classes. A program may have this package twice, once by `import` and
 * once by `require`: `instanceof` goes by these names.
 */
const CLASSES = Symbol.for('voice-calling.error');

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

  get requestId() {
    return /** @type {any} */ (this).response?.requestId;
  }

  /** @this {any} */
  toJSON() {
    const { name, kind, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts } = this;
    return { name, kind, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts };
  }
}

export class ServiceError extends RequestError {}
export class NoAnswerError extends RequestError {}
export class ExecutionFailed extends RequestError {}
export class ConfigurationProblem extends RequestError {}
export class InvalidInput extends RequestError {}
export class Unauthorized extends ServiceError {}
export class NotFound extends ServiceError {}
export class Rejected extends ServiceError {}
export class UnexpectedResponse extends ServiceError {}
export class OutcomeUnknown extends RequestError {}
export class InProgress extends RequestError {}
export class RateLimited extends ServiceError {}
export class Unavailable extends ServiceError {}
export class Unreachable extends NoAnswerError {}
export class TimedOut extends NoAnswerError {}

define(RequestError, 'RequestError', {
  kind: '',
  index: undefined,
  externalId: undefined,
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
  attempts: Object.freeze([]),
});
define(ServiceError, 'ServiceError');
define(NoAnswerError, 'NoAnswerError');
define(ExecutionFailed, 'ExecutionFailed', { kind: 'execution-failed' });
define(ConfigurationProblem, 'ConfigurationProblem', { kind: 'permanent-configuration' });
define(InvalidInput, 'InvalidInput', { kind: 'permanent-invalid-input' });
define(Unauthorized, 'Unauthorized', { kind: 'permanent-unauthorized' });
define(NotFound, 'NotFound', { kind: 'permanent-not-found' });
define(Rejected, 'Rejected', { kind: 'permanent-rejected' });
define(UnexpectedResponse, 'UnexpectedResponse', { kind: 'permanent-unexpected-response' });
define(OutcomeUnknown, 'OutcomeUnknown', { kind: 'permanent-outcome-unknown' });
define(InProgress, 'InProgress', { kind: 'in-progress' });
define(RateLimited, 'RateLimited', { kind: 'rate-limited' });
define(Unavailable, 'Unavailable', { kind: 'unavailable' });
define(Unreachable, 'Unreachable', { kind: 'unreachable' });
define(TimedOut, 'TimedOut', { kind: 'timed-out' });

/** Gives a class its name, which minifiers leave alone, and what all of its errors have. */
function define(Class, name, attributes = {}) {
  const { [CLASSES]: above = [] } = Class.prototype;
  Object.assign(Class.prototype, { name, ...attributes });
  Object.defineProperty(Class.prototype, CLASSES, { value: [...above, name] });
}
