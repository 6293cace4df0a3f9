'use strict';
/** The errors that operations reject with: one class for each kind of failure. */

/** The base of all errors of this package. */
class VoiceCallingError extends Error {
  /**
   * @param {string} message
   * @param {object} [failure] what is known beyond the message
   */
  constructor(message, failure = {}) {
    super(message, 'cause' in failure ? { cause: failure.cause } : undefined);
    const { kind, nextStep, isPermanent } = new.target;
    this.kind = failure.kind ?? kind;
    this.nextStep = failure.nextStep ?? nextStep;
    this.isPermanent = failure.isPermanent ?? isPermanent;
    this.mayHaveCreated = failure.mayHaveCreated ?? kind === 'outcome-unknown';
    this.attempts = failure.attempts ?? [];
    this.problem = failure.problem;
    this.response = failure.response;
    this.retryAfterMs = failure.response?.retryAfterMs;
    this.requestId = failure.response?.requestId;
    this.externalId = failure.externalId;
    this.index = failure.index;
  }

  get name() {
    return this.constructor.name;
  }

  /** A code as Node's own errors have. */
  get code() {
    return `VOICE_CALLING_${this.kind.toUpperCase().replaceAll('-', '_')}`;
  }

  toJSON() {
    return { name: this.name, message: this.message, ...this };
  }
}

/** Defines the class of a kind. */
function of(kind, nextStep, isPermanent) {
  return class extends VoiceCallingError {
    static kind = kind;
    static nextStep = nextStep;
    static isPermanent = isPermanent;
  };
}

class ConfigurationError extends of('configuration', 'fix-setting', true) {}
class InvalidInputError extends of('invalid-input', 'refused', true) {}
class UnauthorizedError extends of('unauthorized', 'fix-setting', true) {}
class NotFoundError extends of('not-found', 'refused', true) {}
class RejectedError extends of('rejected', 'refused', true) {}
class UnexpectedResponseError extends of('unexpected-response', 'fix-setting', true) {}
class OutcomeUnknownError extends of('outcome-unknown', 'unknown', true) {}
class RateLimitedError extends of('rate-limited', 'retry-later', false) {}
class UnavailableError extends of('unavailable', 'retry-later', false) {}
class UnreachableError extends of('unreachable', 'retry-later', false) {}
class TimedOutError extends of('timed-out', 'retry-later', false) {}
class NotBegunError extends of('not-begun', 'retry-later', false) {}

/** A wait whose time ran out: `last` is the latest state, if there is one. */
class WaitTimedOutError extends TimedOutError {
  constructor(message, failure = {}) {
    super(message, failure);
    const { last, polls = 0, failedPolls = 0, waitedMs = 0, heldBackMs = 0 } = failure.wait ?? {};
    Object.assign(this, { last: last ?? undefined, polls, failedPolls, waitedMs, heldBackMs });
  }
}

const CLASSES = [
  ConfigurationError,
  InvalidInputError,
  UnauthorizedError,
  NotFoundError,
  RejectedError,
  UnexpectedResponseError,
  OutcomeUnknownError,
  RateLimitedError,
  UnavailableError,
  UnreachableError,
  TimedOutError,
  NotBegunError,
];
const BY_KIND = new Map(CLASSES.map((it) => [it.kind, it]));

/** Returns the error of a failure that the native half reports, with what else is known of it. */
function errorOf(failure, { wait, ...more } = {}) {
  const Class = wait ? WaitTimedOutError : (BY_KIND.get(failure.kind) ?? VoiceCallingError);
  return new Class(failure.message, { ...failure, ...more, wait });
}

/** Runs a function of the native half, which throws failures as JSON. */
function native(run, more) {
  try {
    return run();
  } catch (error) {
    if (!error.message?.startsWith('{"')) throw error;
    throw errorOf(JSON.parse(error.message), more);
  }
}

/** Returns the error of an argument. */
function invalidInput(subject, found, allowed, more = {}) {
  const message = `${subject}: found ${found}; allowed: ${allowed}`;
  return new InvalidInputError(message, { problem: { subject, found, allowed }, ...more });
}

/** Checks an abort signal before anything is sent. */
function checkSignal(signal) {
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal.addEventListener !== 'function') throw invalidInput('signal', typeof signal, 'an AbortSignal');
  return signal;
}

const classes = Object.fromEntries([VoiceCallingError, ...CLASSES, WaitTimedOutError].map((it) => [it.name, it]));
module.exports = { checkSignal, classes, errorOf, invalidInput, native };
