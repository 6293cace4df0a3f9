/** The options of a client: which are allowed, and settings among them as variables. */
import { describe, describeType, isPlain, misconfigured } from './words.js';

/** The client without I/O checks the values. */
const VALUE = {
  isAllowed: (value) => ['string', 'number', 'boolean'].includes(typeof value),
  allowed: 'a string, a number, true or false',
};

/** The settings, with the variables that they stand for. */
export const settings = {
  baseUrl: { variable: 'BASE_URL', ...VALUE },
  token: { variable: 'API_TOKEN', ...VALUE },
  maxAttempts: { variable: 'MAX_ATTEMPTS', ...VALUE },
  backoffMs: { variable: 'BACKOFF_MS', ...VALUE },
  maxBackoffMs: { variable: 'MAX_BACKOFF_MS', ...VALUE },
  connectTimeoutMs: { variable: 'CONNECT_TIMEOUT_MS', ...VALUE },
  attemptTimeoutMs: { variable: 'ATTEMPT_TIMEOUT_MS', ...VALUE },
  deadlineMs: { variable: 'DEADLINE_MS', ...VALUE },
  createRetry: { variable: 'CREATE_RETRY', ...VALUE },
  maxInFlight: { variable: 'MAX_IN_FLIGHT', ...VALUE },
  maxRequestBytes: { variable: 'MAX_REQUEST_BYTES', ...VALUE },
  maxResponseBytes: { variable: 'MAX_RESPONSE_BYTES', ...VALUE },
  maxDeliveryBytes: { variable: 'MAX_DELIVERY_BYTES', ...VALUE },
  allowInsecureHttp: { variable: 'ALLOW_INSECURE_HTTP', ...VALUE },
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
  for (const [name, { isAllowed, allowed }] of Object.entries(fields)) {
    const { [name]: value } = options;
    // It may be the token.
    if (value !== undefined && !isAllowed(value)) throw misconfigured(prefix + name, describeType(value), allowed);
  }
}

function text(name, value) {
  if (!value.isWellFormed()) throw misconfigured(name, 'a lone surrogate', 'Unicode text');
  return value;
}
