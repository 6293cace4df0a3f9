/** The options of the client that are settings, as variables. */
import { describe, describeType, isPlain, misconfigured } from './words.js';

/** The settings, with the variables that they stand for and the types of their values. */
export const settings = {
  baseUrl: { variable: 'BASE_URL', type: 'text' },
  token: { variable: 'API_TOKEN', type: 'secret' },
  maxAttempts: { variable: 'MAX_ATTEMPTS', type: 'integer' },
  backoffMs: { variable: 'BACKOFF_MS', type: 'integer' },
  maxBackoffMs: { variable: 'MAX_BACKOFF_MS', type: 'integer' },
  connectTimeoutMs: { variable: 'CONNECT_TIMEOUT_MS', type: 'integer' },
  attemptTimeoutMs: { variable: 'ATTEMPT_TIMEOUT_MS', type: 'integer' },
  deadlineMs: { variable: 'DEADLINE_MS', type: 'integer' },
  createRetry: { variable: 'CREATE_RETRY', type: 'choice', words: ['server-errors', 'not-sent', 'never'] },
  maxInFlight: { variable: 'MAX_IN_FLIGHT', type: 'integer' },
  maxRequestBytes: { variable: 'MAX_REQUEST_BYTES', type: 'integer' },
  maxResponseBytes: { variable: 'MAX_RESPONSE_BYTES', type: 'integer' },
  maxDeliveryBytes: { variable: 'MAX_DELIVERY_BYTES', type: 'integer' },
  allowInsecureHttp: { variable: 'ALLOW_INSECURE_HTTP', type: 'flag' },
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
      merged.set(prefix + setting.variable, written(path + name, setting, value));
      settingNames.set(prefix + setting.variable, path + name);
    }
  };
  write(PREFIX, options, '');
  const names = merged.get(ACCOUNTS)?.split(',') ?? [];
  for (const [name, account] of Object.entries(options.accounts ?? {})) {
    checkAccount(name, account);
    write(`${PREFIX}${name.replaceAll('-', '_').toUpperCase()}_`, account, `accounts.${name}.`);
    if (!names.includes(name)) names.push(name);
  }
  if (names.length > 0) merged.set(ACCOUNTS, names.join(','));
  if (logsAttempts) merged.set(`${PREFIX}LOG`, 'attempts');
  return { variables: [...merged], settingNames };
}

function checkAccount(name, options) {
  // Names are looked at later as well, but `a,b` is two of them there.
  if (!/^[a-z][a-z0-9-]*$/.test(name)) {
    throw misconfigured('accounts', describe(name), 'names of lower-case letters, digits and hyphens');
  }
  // It may be the token that is given in their place.
  if (!isPlain(options)) throw misconfigured(`accounts.${name}`, describeType(options), 'a plain object');
  refuseUnknown(options, Object.keys(settings), `accounts.${name}.`);
}

/** Refuses options with other names than these. */
export function refuseUnknown(options, names, path = '') {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw misconfigured(path + unknown, 'an unknown option', names.join(', '));
}

/** Returns `http:` or `https:` for each address of the service that has one of them. */
export function protocolsOf(environment) {
  const urls = environment.filter(([name]) => name.endsWith('_BASE_URL')).map(([, url]) => url);
  return urls.flatMap((url) => /^https?:/i.exec(url) ?? []).map((it) => it.toLowerCase());
}

/** @param {{ type: string, words?: string[] }} setting */
function written(name, setting, value) {
  const { type, words } = setting;
  switch (type) {
    case 'integer':
      if (!Number.isSafeInteger(value) || value < 0) {
        throw misconfigured(name, describe(value), 'a non-negative integer');
      }
      return String(value);
    case 'flag':
      if (typeof value !== 'boolean') throw misconfigured(name, describe(value), 'true or false');
      return String(value);
    case 'choice':
      if (!words.includes(value)) {
        throw misconfigured(name, describe(value), words.map((word) => `'${word}'`).join(' or '));
      }
      return value;
    case 'secret':
      if (typeof value !== 'string') throw misconfigured(name, describeType(value), 'a string');
      return text(name, value);
    default:
      return text(name, value);
  }
}

function text(name, value) {
  if (typeof value !== 'string') throw misconfigured(name, describe(value), 'a string');
  if (!value.isWellFormed()) throw misconfigured(name, 'a lone surrogate', 'Unicode text');
  return value;
}
