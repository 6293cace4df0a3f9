/**
 * The base of all errors. What does not apply to an error is `undefined`, so that one handler can
 * log any of them; only what applies is shown by `console.log`.
 */
export class RequestError extends Error {
  /** @param {{ problem?: object, response?: object, attempts?: object[], mayHaveCreated?: boolean }} attributes */
  constructor(message, attributes, options = undefined) {
    super(message, options);
    Object.assign(this, attributes);
  }

  get isPermanent() {
    // To retry it might call a person twice.
    return this.kind.startsWith('permanent-') || this.mayHaveCreated;
  }

  toJSON() {
    const { name, kind, message, isPermanent, mayHaveCreated, problem, response, attempts } = this;
    return { name, kind, message, isPermanent, mayHaveCreated, problem, response, attempts };
  }
}

/** The error of something at fault, in a sentence as the component writes it. */
export function refusal(Class, subject, found, allowed, options = undefined) {
  const problem = Object.freeze({ subject, found, allowed });
  return new Class(`${subject}: found ${found}, allowed: ${allowed}`, { problem }, options);
}

/** The service answered, and its answer decided. */
export class ServiceError extends RequestError {}

/** No answer came, and nothing was created. */
export class NoAnswerError extends RequestError {}

Object.assign(RequestError.prototype, {
  name: 'RequestError',
  kind: '',
  attempts: Object.freeze([]),
  mayHaveCreated: false,
  problem: undefined,
  response: undefined,
});
