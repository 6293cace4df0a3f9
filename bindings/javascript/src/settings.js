/** The options of the client that are settings, as variables. */
import { describe, describeType, isPlain, misconfigured } from './words.js';

const TEXT = { isAllowed: (value) => typeof value === 'string', allowed: 'a string' };
const SECRET = { ...TEXT, show: describeType };
const FLAG = { isAllowed: (value) => typeof value === 'boolean', allowed: 'true or false' };
const INTEGER = {
  isAllowed: (value) => Number.isSafeInteger(value) && value >= 0,
  allowed: 'a non-negative integer',
};
const RETRIES = {
  isAllowed: (value) => ['server-errors', 'not-sent', 'never'].includes(value),
  allowed: "'server-errors' or 'not-sent' or 'never'",
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

function written(name, { isAllowed, allowed, show = describe }, value) {
  if (!isAllowed(value)) throw misconfigured(name, show(value), allowed);
  return text(name, String(value));
}

function text(name, value) {
  if (!value.isWellFormed()) throw misconfigured(name, 'a lone surrogate', 'Unicode text');
  return value;
}
