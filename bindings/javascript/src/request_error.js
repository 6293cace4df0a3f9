/**
 * The base of all errors. What does not apply to an error is `undefined`, so that one handler can
 * log any of them; only what applies is shown by `console.log`.
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

  /** @this {any} */
  toJSON() {
    const { name, kind, message, isPermanent, mayHaveCreated, problem, response, attempts } = this;
    return { name, kind, message, isPermanent, mayHaveCreated, problem, response, attempts };
  }
}

Object.assign(RequestError.prototype, {
  name: 'RequestError',
  kind: '',
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
  attempts: Object.freeze([]),
});

/** The service answered, and its answer decided. */
export class ServiceError extends RequestError {}

/** No answer came, and nothing was created. */
export class NoAnswerError extends RequestError {}

/** The error of something at fault, in a sentence as the component writes it. */
export function refusal(Class, subject, found, allowed, options = undefined) {
  const problem = Object.freeze({ subject, found, allowed });
  return new Class(`${subject}: found ${found}; allowed: ${allowed}`, { problem }, options);
}
