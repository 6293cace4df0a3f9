/** The options of a call, the last argument. */
import { bool, invalidInput, optional, refuse, text } from './conversion.js';
import { absent, isPlain } from './words.js';

/** The options of every call. */
const SHARED = ['account', 'maxRetries', 'signal'];

/**
 * The options of calls by their form, and the name of the time that an operation of theirs may take:
 * a call itself, a poll of a wait, a request of a batch.
 */
const FORMS = {
  call: { names: ['timeoutMs'], deadline: 'timeoutMs' },
  wait: { names: ['timeoutMs', 'pollTimeoutMs', 'notFoundIsPending', 'onProgress'], deadline: 'pollTimeoutMs' },
  batch: { names: ['timeoutMs', 'requestTimeoutMs'], deadline: 'requestTimeoutMs' },
};

const MOST_RETRIES = 99;
const LONGEST_DEADLINE_MS = 86_400_000;
const LONGEST_WAIT_MS = 2 ** 32 - 1;

/** Without any options. */
export const NONE = Object.freeze({});
const NOTHING = Object.freeze({ options: null });

/** Returns the name of the option for the time that an operation may take. */
export function deadlineName(form) {
  return FORMS[form].deadline;
}

/**
 * Returns the options as the client without I/O has them, and beside them what is the driver's business.
 *
 * @param {'call' | 'wait' | 'batch'} form
 * @param {any} given
 * @param {any} defaults those of `withOptions`
 * @returns {any}
 */
export function accepted(form, given = NONE, defaults = NONE) {
  if (form === 'call' && given === NONE && defaults === NONE) return NOTHING;
  const { names, deadline } = FORMS[form];
  refuseUnknown(given, [...SHARED, ...names]);
  const shared = (name) => (absent(given[name]) ? defaults[name] : given[name]);
  const { [deadline]: own } = given;
  const signal = shared('signal') ?? undefined;
  checkSignal(signal);
  const { onProgress } = given;
  if (!absent(onProgress) && typeof onProgress !== 'function') {
    throw refuse('options.onProgress', onProgress, 'a function');
  }
  return {
    signal,
    onProgress: onProgress ?? undefined,
    options: {
      account: optional(text)(shared('account'), 'options.account'),
      deadline_ms: optional(milliseconds(LONGEST_DEADLINE_MS))(absent(own) ? defaults.timeoutMs : own, `options.${deadline}`),
      max_attempts: optional(attempts)(shared('maxRetries'), 'options.maxRetries'),
    },
    timeoutMs: form === 'call' ? undefined : milliseconds(LONGEST_WAIT_MS)(given.timeoutMs, 'options.timeoutMs'),
    notFoundIsPending: optional(bool)(given.notFoundIsPending, 'options.notFoundIsPending'),
  };
}

/** Checks what `withOptions` takes. */
export function defaultOptions(given) {
  refuseUnknown(given, [...SHARED, 'timeoutMs']);
  accepted('call', given);
  return given;
}

function refuseUnknown(given, names) {
  // A signal in place of the options would have no effect.
  if (!isPlain(given)) throw refuse('options', given, 'a plain object, such as { signal }');
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalidInput(`options.${unknown}`, 'an unknown option', names.join(', '));
  }
}

function checkSignal(signal) {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw refuse('options.signal', signal, 'an AbortSignal');
  }
}

/** Returns the number of attempts: users give the number of retries. */
function attempts(maxRetries, path) {
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > MOST_RETRIES) {
    throw refuse(path, maxRetries, `0 to ${MOST_RETRIES}`);
  }
  return maxRetries + 1;
}

function milliseconds(most) {
  return (value, path) => {
    const isInteger = Number.isInteger(value) || typeof value === 'bigint';
    if (!isInteger || value < 1 || value > most) throw refuse(path, value, `1 to ${most} milliseconds`);
    return Number(value);
  };
}
