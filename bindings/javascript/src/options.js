/** The options of a call, the last argument. */
import { bool, only, optional, text } from './conversion.js';
import { invalidInput, isPlain, refuse } from './words.js';

const MOST_RETRIES = 99;

const retries = only((value) => Number.isInteger(value) && value >= 0 && value <= MOST_RETRIES, `0 to ${MOST_RETRIES}`);
const signal = only((value) => value instanceof AbortSignal, 'an AbortSignal');
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
  },
  batch: { ...SHARED, timeoutMs: duration, requestTimeoutMs: deadline, once: optional(memberWithKey) },
};

/** The option for the time that an operation may take: a call itself, a poll of a wait, a request of a batch. */
export const DEADLINES = { call: 'timeoutMs', create: 'timeoutMs', wait: 'pollTimeoutMs', batch: 'requestTimeoutMs' };

/** Without any options. */
const NONE = Object.freeze({});
const NOTHING = Object.freeze({ options: null });

/**
 * Returns the options as the client without I/O has them, and beside them what is the driver's business.
 *
 * @param {'call' | 'create' | 'wait' | 'batch'} form
 * @param {any} given
 * @returns {any}
 */
export function accepted(form, given = NONE) {
  const isOptional = form === 'call' || form === 'create';
  if (isOptional && given === NONE) return NOTHING;
  const own = checked(FORMS[form], given);
  const { account, maxRetries, [DEADLINES[form]]: deadlineMs } = own;
  // Users give the number of retries.
  const attempts = maxRetries === undefined ? undefined : maxRetries + 1;
  return { ...own, options: { account, deadline_ms: deadlineMs, max_attempts: attempts } };
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
  return Object.fromEntries(Object.entries(fields).map(([name, check]) => [name, check(given[name], `options.${name}`)]));
}

function milliseconds(most) {
  return (value, path) => {
    const isInteger = Number.isInteger(value) || typeof value === 'bigint';
    if (!isInteger || value < 1 || value > most) throw refuse(path, value, `1 to ${most} milliseconds`);
    return Number(value);
  };
}
