/**
 * The base of all errors. What does not apply to an error is `undefined`, so that one handler can
 * log any of them; only what applies is shown by `console.log`.
 */
export class RequestError extends Error {
  constructor(message, attributes = {}, options = undefined) {
    super(message, options);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this[name] = value;
    }
  }
}

Object.assign(RequestError.prototype, {
  name: 'RequestError',
  attempts: Object.freeze([]),
  status: undefined,
  body: undefined,
  bodyCut: undefined,
  requestId: undefined,
  retryAfterMs: undefined,
  variable: undefined,
  field: undefined,
  found: undefined,
  allowed: undefined,
});
