'use strict';
/** The errors that operations reject with: one class for each kind of failure. */
const { isPermanent } = require('./native.js');

/** The base of all errors of this package. */
class VoiceCallingError extends Error {
  /**
   * @param {string} message
   * @param {object} [failure] what is known beyond the message
   */
  constructor(message, failure = {}) {
    super(message, 'cause' in failure ? { cause: failure.cause } : undefined);
    const { kind, nextStep } = new.target;
    this.kind = failure.kind ?? kind;
    this.nextStep = failure.nextStep ?? nextStep;
    this.isPermanent = failure.isPermanent ?? isPermanent(this.kind);
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

/** Defines the class of a kind, with the next step of an error that is made by hand. */
function of(kind, nextStep) {
  return class extends VoiceCallingError {
    static kind = kind;
    static nextStep = nextStep;
  };
}

class ConfigurationError extends of('configuration', 'fix-setting') {}
class InvalidInputError extends of('invalid-input', 'refused') {}
class UnauthorizedError extends of('unauthorized', 'fix-setting') {}
class NotFoundError extends of('not-found', 'refused') {}
class RejectedError extends of('rejected', 'refused') {}
class UnexpectedResponseError extends of('unexpected-response', 'fix-setting') {}
class OutcomeUnknownError extends of('outcome-unknown', 'unknown') {}
class RateLimitedError extends of('rate-limited', 'retry-later') {}
class UnavailableError extends of('unavailable', 'retry-later') {}
class UnreachableError extends of('unreachable', 'retry-later') {}
class TimedOutError extends of('timed-out', 'retry-later') {}
class NotBegunError extends of('not-begun', 'retry-later') {}

/** A wait whose time ran out: `last` is the latest state, if there is one. */
class WaitTimedOutError extends TimedOutError {
  constructor(message, failure = {}) {
    super(message, failure);
    const { last, polls = 0, failedPolls = 0, waitedMs = 0, heldBackMs = 0 } = failure.wait ?? {};
    Object.assign(this, { last: last ?? undefined, polls, failedPolls, waitedMs, heldBackMs });
  }
}

const CLASSES = [
  ConfigurationError, InvalidInputError, UnauthorizedError, NotFoundError,
  RejectedError, UnexpectedResponseError, OutcomeUnknownError, RateLimitedError,
  UnavailableError, UnreachableError, TimedOutError, NotBegunError,
];
const BY_KIND = new Map(CLASSES.map((it) => [it.kind, it]));

/** The arguments that are JSON, whose members keep their names. */
const FREE_FORM = ['body', 'callContext', 'extra', 'tools'];

const sentence = ({ subject, found, allowed }) => `${subject}: found ${found}; allowed: ${allowed}`;

const camelCase = (name) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** Returns the name that JavaScript has for a field or an option; variables and headers keep theirs. */
function nameOf(subject) {
  if (subject.startsWith('VOICE_CALLING_') || subject.includes(' ')) return subject;
  const names = subject.replace(/^(options|wait)\./, '').split('.');
  const free = names.findIndex((name) => FREE_FORM.includes(camelCase(name)));
  return names.map((name, at) => (free >= 0 && at > free ? name : camelCase(name))).join('.');
}

/** The names of the options whose variable has another one. */
const OPTIONS = { api_token: 'token', deadline_ms: 'timeoutMs', max_attempts: 'maxRetries' };
const optionOf = (variable) => OPTIONS[variable] ?? camelCase(variable);

/**
 * Returns the error of a failure that the native half reports, with what else is known of it: `names` are the options
 * by the names that the failure may have for them.
 */
function errorOf(failure, { names = {}, ...more } = {}) {
  const Class = BY_KIND.get(failure.kind) ?? VoiceCallingError;
  const details = { ...failure, ...more };
  let { message } = failure;
  if (failure.problem) {
    const { subject, found, allowed } = failure.problem;
    const option = names[subject] ?? OPTIONS[subject.replace('options.', '')];
    const [, variable] = (option && /^VOICE_CALLING_([A-Z_]+)$/.exec(allowed)) || [];
    details.problem = { subject: option ?? nameOf(subject), found, allowed: variable ? optionOf(variable.toLowerCase()) : allowed };
    message = message.replace(sentence(failure.problem), () => sentence(details.problem));
  }
  return new Class(message, details);
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
  const problem = { subject, found, allowed };
  return new InvalidInputError(sentence(problem), { problem, ...more });
}

/** Returns the error of a setting. */
function configuration(subject, found, allowed) {
  const problem = { subject, found, allowed };
  return new ConfigurationError(sentence(problem), { problem });
}

/** Checks an abort signal before anything is sent. */
function checkSignal(signal) {
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal.addEventListener !== 'function') throw invalidInput('signal', typeof signal, 'an AbortSignal');
  return signal;
}

const classes = Object.fromEntries([VoiceCallingError, ...CLASSES, WaitTimedOutError].map((it) => [it.name, it]));
module.exports = { checkSignal, classes, configuration, errorOf, invalidInput, native };
