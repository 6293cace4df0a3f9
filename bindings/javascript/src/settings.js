'use strict';
/** The options of a client, as the settings that the native half reads. */
const { isRecord, snakeCase, typeOf } = require('./arguments.js');
const { configuration } = require('./errors.js');

const PREFIX = 'VOICE_CALLING_';

/** The options whose variable has another name. */
const VARIABLES = { token: 'API_TOKEN', timeoutMs: 'DEADLINE_MS', maxRetries: 'MAX_ATTEMPTS' };
const variableOf = (option) => VARIABLES[option] ?? snakeCase(option).toUpperCase();

/** The options of connections, which accounts do not have. */
const CONNECTIONS = {
  proxy: (name, value) => (value === false ? value : text(name, value)),
  authorities: pem,
  clientCertificate: pem,
  headers: (name, value) => Object.fromEntries(given(name, value).map(([header, it]) => [header, text(`${name}.${header}`, it)])),
};

function text(name, value) {
  if (typeof value !== 'string') throw configuration(name, typeOf(value), 'text');
  return value;
}

function pem(name, value) {
  if (typeof value === 'string') return Buffer.from(value);
  if (!ArrayBuffer.isView(value)) throw configuration(name, typeOf(value), 'PEM, as text or bytes');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** Returns the members of an object that are neither `undefined` nor `null`. */
function given(name, object) {
  if (!isRecord(object)) throw configuration(name, typeOf(object), 'an object');
  return Object.entries(object).filter(([, value]) => value !== undefined && value !== null);
}

/** Returns the value of an option, as text. */
function setting(name, path, value) {
  if (name === 'maxRetries') {
    if (!Number.isInteger(value) || value < 0 || value > 99) {
      throw configuration(path, typeof value === 'number' ? String(value) : typeOf(value), 'an integer, 0 to 99');
    }
    return String(value + 1);
  }
  const isPlain = ['number', 'boolean'].includes(typeof value) && !['token', 'baseUrl', 'createRetry'].includes(name);
  return isPlain ? String(value) : text(path, value);
}

/** Returns the settings and the connections of options, after the variables, and the options by their variables. */
function settingsOf(options, env) {
  const settings = {};
  const connections = { headers: {} };
  const names = {};
  for (const [name, value] of given('env', env)) {
    if (!name.startsWith(PREFIX)) continue;
    settings[name.slice(PREFIX.length)] = text(name, value);
  }
  const set = (prefix, path, name, value) => {
    const variable = prefix + variableOf(name);
    settings[variable] = setting(name, path, value);
    names[PREFIX + variable] = path;
  };
  for (const [name, value] of given('options', options)) {
    if (CONNECTIONS[name]) connections[name] = CONNECTIONS[name](name, value);
    else if (name !== 'accounts') set('', name, name, value);
  }
  const accounts = given('accounts', options.accounts ?? {});
  for (const [account, options] of accounts) {
    const path = `accounts.${account}`;
    for (const [name, value] of given(path, options)) {
      if (CONNECTIONS[name]) throw configuration(`${path}.${name}`, typeOf(value), 'an option of the client, for all accounts');
      set(`${account.toUpperCase().replaceAll('-', '_')}_`, `${path}.${name}`, name, value);
    }
  }
  const known = new Set([...(settings.ACCOUNTS?.split(',') ?? []), ...accounts.map(([account]) => account)]);
  if (known.size > 0) settings.ACCOUNTS = [...known].join();
  return { settings, connections, names };
}

module.exports = { settingsOf };
