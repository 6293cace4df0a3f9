/** The kinds after which nothing was created, and the same call may succeed later. */
const TRANSIENT = new Set(['execution-failed', 'not-begun', 'rate-limited', 'timed-out', 'unavailable', 'unreachable']);

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
    return !TRANSIENT.has(/** @type {any} */ (this).kind);
  }

  get requestId() {
    return /** @type {any} */ (this).response?.requestId;
  }

  /** @this {any} */
  toJSON() {
    const { name, kind, nextStep, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts } = this;
    return { name, kind, nextStep, message, index, externalId, isPermanent, mayHaveCreated, problem, response, attempts };
  }
}

Object.assign(RequestError.prototype, {
  name: 'RequestError',
  kind: '',
  nextStep: '',
  index: undefined,
  externalId: undefined,
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
  attempts: Object.freeze([]),
});

export const ServiceError = subclass(RequestError, 'ServiceError');
export const NoAnswerError = subclass(RequestError, 'NoAnswerError');
export const ExecutionFailed = subclass(RequestError, 'ExecutionFailed', 'execution-failed', 'retry-later');
export const ConfigurationProblem = subclass(RequestError, 'ConfigurationProblem', 'configuration', 'fix-setting');
export const InvalidInput = subclass(RequestError, 'InvalidInput', 'invalid-input', 'refused');
export const Unauthorized = subclass(ServiceError, 'Unauthorized', 'unauthorized');
export const NotFound = subclass(ServiceError, 'NotFound', 'not-found');
export const Rejected = subclass(ServiceError, 'Rejected', 'rejected');
export const UnexpectedResponse = subclass(ServiceError, 'UnexpectedResponse', 'unexpected-response');
export const OutcomeUnknown = subclass(RequestError, 'OutcomeUnknown', 'outcome-unknown', 'unknown');
export const InProgress = subclass(RequestError, 'InProgress', 'in-progress');
export const RateLimited = subclass(ServiceError, 'RateLimited', 'rate-limited');
export const Unavailable = subclass(ServiceError, 'Unavailable', 'unavailable');
export const Unreachable = subclass(NoAnswerError, 'Unreachable', 'unreachable');
export const TimedOut = subclass(NoAnswerError, 'TimedOut', 'timed-out', 'retry-later');
export const NotBegun = subclass(RequestError, 'NotBegun', 'not-begun');

/**
 * Returns a class of errors with a name, which minifiers leave alone, for one kind of the WIT if it has
 * a `kind`; `nextStep` is that of the errors that the package itself makes.
 *
 * @param {typeof RequestError} Above
 */
function subclass(Above, name, kind = undefined, nextStep = undefined) {
  const Class = class extends Above {};
  Object.defineProperty(Class, 'name', { value: name });
  Object.assign(Class.prototype, { name }, kind && { kind }, nextStep && { nextStep });
  return Class;
}
