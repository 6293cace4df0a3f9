/** The options of a call, the last argument. */
import { bool, only, optional, text } from './conversion.js';
import { invalidInput, isPlain, refuse } from './words.js';

const MOST_RETRIES = 99;

const retries = only((value) => Number.isInteger(value) && value >= 0 && value <= MOST_RETRIES, `0 to ${MOST_RETRIES}`);
const signal = only((value) => value instanceof AbortSignal, 'an AbortSignal');
const listener = only((value) => typeof value === 'function', 'a function');
const memberWithKey = only((value) => value === 'externalId', "'externalId'");
const deadline = optional(milliseconds(86_400_000));
const duration = milliseconds(2 ** 32 - 1);

/** What checks the options of every call. */
const SHARED = { account: optional(text), maxRetries: optional(retries), signal: optional(signal) };

const CALL = { ...SHARED, timeoutMs: deadline };

/** What checks the options of a call by its form. */
const FORMS = {
  call: CALL,
  create: { ...CALL, once: optional(text) },
  wait: {
    ...SHARED,
    timeoutMs: duration,
    pollTimeoutMs: deadline,
    notFoundIsPending: optional(bool),
    onProgress: optional(listener),
  },
  batch: { ...SHARED, timeoutMs: duration, requestTimeoutMs: deadline, once: optional(memberWithKey) },
};

/** The option for the time that an operation may take: a call itself, a poll of a wait, a request of a batch. */
export const DEADLINES = { call: 'timeoutMs', create: 'timeoutMs', wait: 'pollTimeoutMs', batch: 'requestTimeoutMs' };

/** Without any options. */
export const NONE = Object.freeze({});
const NOTHING = Object.freeze({ options: null });

/**
 * Returns the options as the client without I/O has them, and beside them what is the driver's business.
 *
 * @param {'call' | 'create' | 'wait' | 'batch'} form
 * @param {any} given
 * @param {any} defaults those of `withOptions`
 * @returns {any}
 */
export function accepted(form, given = NONE, defaults = NONE) {
  const isOptional = form === 'call' || form === 'create';
  if (isOptional && given === NONE && defaults === NONE) return NOTHING;
  const own = checked(FORMS[form], given);
  const { account = defaults.account, maxRetries = defaults.maxRetries, signal = defaults.signal } = own;
  const { [DEADLINES[form]]: deadlineMs = defaults.timeoutMs } = own;
  // Users give the number of retries.
  const attempts = maxRetries === undefined ? undefined : maxRetries + 1;
  return { ...own, signal, options: { account, deadline_ms: deadlineMs, max_attempts: attempts } };
}

/** Checks what `withOptions` takes. */
export function defaultOptions(given) {
  return checked(FORMS.call, given);
}

/** @returns {any} */
function checked(fields, given) {
  // A signal in place of the options would have no effect.
  if (!isPlain(given)) throw refuse('options', given, 'a plain object, such as { signal }');
  const names = Object.keys(fields);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalidInput(`options.${unknown}`, 'an unknown option', names.join(', '));
  }
  const values = {};
  for (const [name, check] of Object.entries(fields)) {
    const value = check(given[name], `options.${name}`);
    if (Object.hasOwn(given, name)) values[name] = value;
  }
  return values;
}

function milliseconds(most) {
  return (value, path) => {
    const isInteger = Number.isInteger(value) || typeof value === 'bigint';
    if (!isInteger || value < 1 || value > most) throw refuse(path, value, `1 to ${most} milliseconds`);
    return Number(value);
  };
}
