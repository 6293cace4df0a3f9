/** The options of a client and of a ledger: which are allowed, and settings among them as variables. */
import { describe, describeType, isPlain, misconfigured } from './words.js';

// What is found in place of an option may be the token, so that its type alone is shown, unless `show` does more.
const TEXT = { isAllowed: (value) => typeof value === 'string', allowed: 'a string', show: describe };
const SECRET = { ...TEXT, show: describeType };
export const FLAG = { isAllowed: (value) => typeof value === 'boolean', allowed: 'true or false', show: describe };
const INTEGER = {
  isAllowed: (value) => Number.isSafeInteger(value) && value >= 0,
  allowed: 'a non-negative integer',
  show: describe,
};
const RETRIES = {
  isAllowed: (value) => ['server-errors', 'not-sent', 'never'].includes(value),
  allowed: "'server-errors' or 'not-sent' or 'never'",
  show: describe,
};

/** The settings, with the variables that they stand for and what is allowed for each. */
export const settings = {
  baseUrl: { variable: 'BASE_URL', ...TEXT },
  token: { variable: 'API_TOKEN', ...SECRET },
  maxAttempts: { variable: 'MAX_ATTEMPTS', ...INTEGER },
  backoffMs: { variable: 'BACKOFF_MS', ...INTEGER },
  maxBackoffMs: { variable: 'MAX_BACKOFF_MS', ...INTEGER },
  connectTimeoutMs: { variable: 'CONNECT_TIMEOUT_MS', ...INTEGER },
  attemptTimeoutMs: { variable: 'ATTEMPT_TIMEOUT_MS', ...INTEGER },
  deadlineMs: { variable: 'DEADLINE_MS', ...INTEGER },
  createRetry: { variable: 'CREATE_RETRY', ...RETRIES },
  maxInFlight: { variable: 'MAX_IN_FLIGHT', ...INTEGER },
  maxRequestBytes: { variable: 'MAX_REQUEST_BYTES', ...INTEGER },
  maxResponseBytes: { variable: 'MAX_RESPONSE_BYTES', ...INTEGER },
  maxDeliveryBytes: { variable: 'MAX_DELIVERY_BYTES', ...INTEGER },
  allowInsecureHttp: { variable: 'ALLOW_INSECURE_HTTP', ...FLAG },
};

export const PREFIX = 'VOICE_CALLING_';
const ACCOUNTS = `${PREFIX}ACCOUNTS`;

/**
 * The environment of the client without I/O: `variables`, as pairs, those given with the prefix and
 * over them the options; and `settingNames`, the names of these options by their variables.
 */
export function environment(options, given, logsAttempts) {
  const merged = new Map();
  const settingNames = new Map();
  for (const [name, value] of Object.entries(given)) {
    // All with the prefix, since what looks like a misspelt setting is refused.
    if (!name.startsWith(PREFIX) || value === undefined) continue;
    // It may be the token.
    if (typeof value !== 'string') throw misconfigured(name, describeType(value), 'a string');
    merged.set(name, text(name, value));
  }
  /** Sets the variables, all with this prefix, of the settings among the options. */
  const write = (prefix, options, path) => {
    for (const [name, setting] of Object.entries(settings)) {
      const value = options[name];
      if (value === undefined) continue;
      merged.set(prefix + setting.variable, text(path + name, String(value)));
      settingNames.set(prefix + setting.variable, path + name);
    }
  };
  write(PREFIX, options, '');
  const names = merged.get(ACCOUNTS)?.split(',') ?? [];
  for (const [name, account] of Object.entries(options.accounts ?? {})) {
    // Names are looked at later as well, but `a,b` is two of them there.
    if (!/^[a-z][a-z0-9-]*$/.test(name)) {
      throw misconfigured('accounts', describe(name), 'names of lower-case letters, digits and hyphens');
    }
    checkOptions(account, settings, `accounts.${name}`);
    write(`${PREFIX}${name.replaceAll('-', '_').toUpperCase()}_`, account, `accounts.${name}.`);
    if (!names.includes(name)) names.push(name);
  }
  if (names.length > 0) merged.set(ACCOUNTS, names.join(','));
  if (logsAttempts) merged.set(`${PREFIX}LOG`, 'attempts');
  return { variables: [...merged], settingNames };
}

/**
 * Throws unless `options` are some of those in `fields`, each as its field allows.
 *
 * @param {string} path where they are, among the options of a client
 */
export function checkOptions(options, fields, path = '') {
  if (!isPlain(options)) throw misconfigured(path || 'options', describeType(options), 'a plain object');
  const prefix = path && `${path}.`;
  const names = Object.keys(fields);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw misconfigured(prefix + unknown, 'an unknown option', names.join(', '));
  for (const [name, { isAllowed, allowed, show = describeType }] of Object.entries(fields)) {
    const { [name]: value } = options;
    if (value !== undefined && !isAllowed(value)) throw misconfigured(prefix + name, show(value), allowed);
  }
}

function text(name, value) {
  if (!value.isWellFormed()) throw misconfigured(name, 'a lone surrogate', 'Unicode text');
  return value;
}
