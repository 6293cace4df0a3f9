/**
 * Between what users give and get, and the JSON of the client without I/O: records by their names
 * in snake_case, `null` for none, variants as `{ Case: value }` or `'Case'`, tuples as arrays.
 *
 * Arguments of users are checked here, before anything is sent.
 */
import { jsonText } from './json_text.js';
import { absent, camel, invalidInput, kebab, refuse, snake, tag } from './words.js';

const LEAST_S64 = -(2n ** 63n);
const MOST_S64 = 2n ** 63n - 1n;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

// ---------------------------------------------------------------------------- what users give
//
// Each makes the JSON of what a user gave at `path`, which is empty for an argument that is a
// record: errors name its fields alone, as the client without I/O does.

export const optional = (write) => (value, path) => (absent(value) ? undefined : write(value, path));

/** @param fields what makes the JSON of each field, by the name that users give it */
export function record(fields) {
  const members = Object.entries(fields).map(([name, write]) => ({ name, member: snake(name), write }));
  const write = (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw refuse(path || 'the argument', value, 'an object');
    }
    const prefix = path === '' ? '' : `${path}.`;
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(fields, key)) continue;
      throw invalidInput(prefix + key, 'an unknown field', `only the fields ${Object.keys(fields).join(', ')}`);
    }
    const json = {};
    for (const { name, member, write } of members) json[member] = write(value[name], prefix + name);
    return json;
  };
  return Object.assign(write, { fields });
}

/** An object of strings, which may be left out if it is empty. */
export function namesAndValues(value, path) {
  if (absent(value)) return [];
  if (tag(value) !== 'Object') throw refuse(path, value, 'an object of strings');
  return Object.entries(value).map(([name, it]) => [text(name, path), text(it, `${path}.${name}`)]);
}

/** One that a number cannot hold is text: `JSON.stringify` knows no bigint. */
export function integer(value, path) {
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value) || isDigits(value);
  if (!isInteger || value < LEAST_S64 || value > MOST_S64) {
    const beyond = typeof value === 'number' && Number.isInteger(value) ? '; a bigint beyond 2^53' : '';
    throw refuse(path, value, `an integer from ${LEAST_S64} to ${MOST_S64}${beyond}`);
  }
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** Returns `true` for an integer as `JSON.stringify` writes it beyond 2^53. */
function isDigits(value) {
  return typeof value === 'string' && /^-?[1-9]\d{0,18}$/.test(value);
}

/** Returns what takes a value as it is, if it is allowed. */
export function only(isAllowed, allowed) {
  return (value, path) => {
    if (!isAllowed(value)) throw refuse(path, value, allowed);
    return value;
  };
}

export const bool = only((value) => typeof value === 'boolean', 'true or false');

export function text(value, path) {
  if (typeof value !== 'string') throw refuse(path, value, 'a string');
  if (!value.isWellFormed()) throw invalidInput(path, 'a lone surrogate', 'Unicode text');
  return value;
}

export function json(value, path) {
  if (typeof value === 'string') return text(value, path);
  if (value === undefined) throw refuse(path, value, 'JSON');
  return jsonText(value, path);
}

/** The body of a delivery, as text or as it came. */
export function body(value, path) {
  if (!(value instanceof Uint8Array)) {
    if (typeof value !== 'string') throw refuse(path, value, 'a string or a Uint8Array');
    return text(value, path);
  }
  try {
    return decoder.decode(value);
  } catch (cause) {
    throw invalidInput(path, 'bytes that are not UTF-8', 'UTF-8', { cause });
  }
}

// ----------------------------------------------------------------------------- what users get

/** Returns what users get of the JSON of a record, a list, a text or a number. */
export function read(json) {
  if (Array.isArray(json)) return Object.freeze(json.map((element) => read(element)));
  return typeof json === 'object' && json !== null ? readRecord(json, MEMBERS) : json;
}

/** The members that are read in a way of their own: a name means the same in every record. */
const MEMBERS = {
  agent_id: integerRead,
  outbound_call_count: integerRead,
  // The client without I/O has checked that it is JSON.
  call_context: JSON.parse,
  metadata: JSON.parse,
  call_metadata: JSON.parse,
  // Those of a delivery are JSON.
  attempts: (it) => (typeof it === 'string' ? JSON.parse(it) : read(it)),
  status: readStatus,
  call_status: readStatus,
  outcome: readVariant,
  // Its status is any text.
  user_interest: (it) => readRecord(it, {}),
};

/** Translates each name once: there are few. */
function once(translate) {
  const translated = new Map();
  return (name) => {
    if (!translated.has(name)) translated.set(name, translate(name));
    return translated.get(name);
  };
}

const fieldName = once(camel);
const statusName = once((name) => kebab(name).replaceAll('-', '_').toUpperCase());

function readRecord(json, members) {
  const object = {};
  for (const key of Object.keys(json)) {
    const value = json[key];
    if (value !== null) object[fieldName(key)] = (members[key] ?? read)(value);
  }
  return frozen(object);
}

/** Freezes a record, which `JSON.stringify` can write. */
export function frozen(object) {
  for (const name of Object.keys(object)) {
    if (typeof object[name] !== 'bigint') continue;
    Object.defineProperty(object, 'toJSON', { value: withDigits });
    break;
  }
  return Object.freeze(object);
}

/** Beyond 2^53 a number would lose digits; it comes as text then. */
function integerRead(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

/** `JSON.stringify` knows no bigint: its digits are written as text. */
function withDigits() {
  const entries = Object.entries(this);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  );
}

/** A status of the service is text, as the service writes it; that of HTTP is a number. */
function readStatus(json) {
  if (typeof json === 'number') return json;
  return json.Other ?? statusName(json);
}

/** Returns one of several results, distinguished by its `kind`. */
export function readVariant(json) {
  const [[name, value]] = typeof json === 'string' ? [[json]] : Object.entries(json);
  const kind = kebab(name);
  return Object.freeze(absent(value) ? { kind } : { kind, value: read(value) });
}
