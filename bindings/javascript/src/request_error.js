/**
 * The bases of all errors. What does not apply to an error is `undefined`, so that one handler can
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

named(RequestError, 'RequestError', {
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

named(ServiceError, 'ServiceError');

/** No answer came, and nothing was created. */
export class NoAnswerError extends RequestError {}

named(NoAnswerError, 'NoAnswerError');

/** Gives a class its name, which minifiers leave alone, and what all of its errors have. */
export function named(Class, name, attributes = {}) {
  const { [CLASSES]: above = [] } = Class.prototype;
  Object.assign(Class.prototype, { name, ...attributes });
  Object.defineProperty(Class.prototype, CLASSES, { value: [...above, name] });
}

/** The error of something at fault, in a sentence as the client without I/O writes it. */
export function refusal(Class, subject, found, allowed, options = undefined) {
  const problem = Object.freeze({ subject, found, allowed });
  return new Class(`${subject}: found ${found}; allowed: ${allowed}`, { problem }, options);
}
