/**
 * The classes of errors, documented in `types/errors.d.ts`. What does not apply to an error is `undefined`, so that
 * one handler can log any of them; only what applies is shown by `console.log`.
 */
export class RequestError extends Error {
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

Object.assign(RequestError.prototype, {
  name: 'RequestError',
  kind: '',
  index: undefined,
  externalId: undefined,
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
  attempts: Object.freeze([]),
});

export const ServiceError = subclass(RequestError, 'ServiceError');
export const NoAnswerError = subclass(RequestError, 'NoAnswerError');
export const ExecutionFailed = subclass(RequestError, 'ExecutionFailed', 'execution-failed');
export const ConfigurationProblem = subclass(RequestError, 'ConfigurationProblem', 'permanent-configuration');
export const InvalidInput = subclass(RequestError, 'InvalidInput', 'permanent-invalid-input');
export const Unauthorized = subclass(ServiceError, 'Unauthorized', 'permanent-unauthorized');
export const NotFound = subclass(ServiceError, 'NotFound', 'permanent-not-found');
export const Rejected = subclass(ServiceError, 'Rejected', 'permanent-rejected');
export const UnexpectedResponse = subclass(ServiceError, 'UnexpectedResponse', 'permanent-unexpected-response');
export const OutcomeUnknown = subclass(RequestError, 'OutcomeUnknown', 'permanent-outcome-unknown');
export const InProgress = subclass(RequestError, 'InProgress', 'in-progress');
export const RateLimited = subclass(ServiceError, 'RateLimited', 'rate-limited');
export const Unavailable = subclass(ServiceError, 'Unavailable', 'unavailable');
export const Unreachable = subclass(NoAnswerError, 'Unreachable', 'unreachable');
export const TimedOut = subclass(NoAnswerError, 'TimedOut', 'timed-out');

/**
 * Returns a class of errors with a name, which minifiers leave alone, for one case of the WIT if it has
 * a `kind`.
 *
 * @param {typeof RequestError} Above
 */
function subclass(Above, name, kind = undefined) {
  const Class = class extends Above {};
  Object.defineProperty(Class, 'name', { value: name });
  Object.assign(Class.prototype, { name }, kind && { kind });
  return Class;
}
