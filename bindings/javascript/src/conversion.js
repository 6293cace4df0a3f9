/**
 * Between what users give and get, and the plain values of the component's interface: records as
 * objects by their WIT names, `undefined` for none, variants and results as `{ tag, val }`.
 *
 * Whatever users give is checked here, before anything is sent.
 */
import { InvalidInput } from '../generated/errors.js';
import { types } from '../generated/wit.js';
import { NotJson, jsonText } from './json_text.js';
import { camel, found, screaming } from './words.js';

/** Refuses an argument. */
export function refuse(field, value, allowed) {
  return invalidInput(field, found(value), allowed);
}

export function invalidInput(field, found, allowed) {
  return new InvalidInput(`${field}: found ${found}, allowed: ${allowed}`, {
    field,
    found,
    allowed,
  });
}

const INTEGERS = {
  u8: [0n, 2n ** 8n - 1n],
  u16: [0n, 2n ** 16n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  s64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Who sends more to a webhook wants to exhaust its memory. */
const MOST_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/**
 * The plain value of what a user gave at `path`, which is empty for an argument that is a record:
 * errors name its fields alone, as the component does.
 */
export function toPlain(type, value, path) {
  if (type in INTEGERS) return integer(type, value, path);
  switch (type) {
    case 'string':
      return text(value, path);
    case 'json':
      return json(value, path);
    case 'bool':
      if (typeof value !== 'boolean') throw refuse(path, value, 'true or false');
      return value;
    case 'f64':
      if (typeof value !== 'number') throw refuse(path, value, 'a number');
      return value;
    default:
      return composed(type, value, path);
  }
}

function composed(type, value, path) {
  if (type.option) return absent(value) ? undefined : toPlain(type.option, value, path);
  if (type.list === 'u8') return bytes(value, path);
  if (type.list) {
    if (!Array.isArray(value)) throw refuse(path, value, 'an array');
    return Array.from(value, (element, i) => toPlain(type.list, element, `${path}[${i}]`));
  }
  return record(types[type].record, value, path);
}

function record(fields, value, path) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse(path || 'the argument', value, 'an object');
  }
  const inner = (name) => (path === '' ? name : `${path}.${name}`);
  const names = Object.keys(fields);
  const unknown = Object.keys(value).find((key) => !names.some((name) => camel(name) === key));
  if (unknown !== undefined) {
    const allowed = `no other fields than ${names.map(camel).join(', ')}`;
    throw invalidInput(inner(unknown), 'a field that there is not', allowed);
  }
  const plain = {};
  for (const name of names) {
    plain[name] = toPlain(fields[name], value[camel(name)], inner(camel(name)));
  }
  return plain;
}

function absent(value) {
  return value === undefined || value === null;
}

function integer(type, value, path) {
  const [least, most] = INTEGERS[type];
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (!isInteger || value < least || value > most) {
    const beyond = typeof value === 'number' && Number.isInteger(value) ? '; a bigint beyond 2^53' : '';
    throw refuse(path, value, `an integer from ${least} to ${most}${beyond}`);
  }
  return type.endsWith('64') ? BigInt(value) : Number(value);
}

function text(value, path) {
  if (typeof value !== 'string') throw refuse(path, value, 'a string');
  if (!value.isWellFormed()) throw invalidInput(path, 'a lone surrogate', 'Unicode text');
  return value;
}

function json(value, path) {
  if (typeof value === 'string') return text(value, path);
  if (value === undefined) throw refuse(path, value, 'JSON');
  try {
    return jsonText(value);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const refusal = invalidInput([path, ...error.path].join('.'), error.found, error.allowed);
    if (error.cause !== undefined) refusal.cause = error.cause;
    throw refusal;
  }
}

function bytes(value, path) {
  const isText = typeof value === 'string';
  if (!isText && !(value instanceof Uint8Array)) throw refuse(path, value, 'a Uint8Array or a string');
  const length = Buffer.byteLength(value);
  if (length > MOST_BYTES) throw invalidInput(path, `${length} bytes`, `at most ${MOST_BYTES} bytes`);
  return isText ? encoder.encode(text(value, path)) : value;
}

/** What users get for a plain value, which was found in a field of this name. */
export function fromPlain(type, value, name = '') {
  switch (type) {
    case 's64':
      return name.endsWith('-id') ? value : numberIfSafe(value);
    case 'u64':
      return numberIfSafe(value);
    case 'json':
      // What the component calls JSON is JSON.
      return name === 'raw-json' ? value : JSON.parse(value);
    default:
      break;
  }
  if (typeof type === 'string') {
    const definition = types[type];
    if (definition?.record) return fields(definition.record, value);
    if (definition?.variant) return status(definition.variant, value);
    return value;
  }
  if (type.option) return value === undefined ? undefined : fromPlain(type.option, value, name);
  if (type.list && type.list !== 'u8') {
    return Object.freeze(value.map((element) => fromPlain(type.list, element)));
  }
  return value;
}

function fields(types, record) {
  const object = {};
  for (const name in types) {
    const value = fromPlain(types[name], record[name], name);
    if (value === undefined) continue;
    if (name === 'raw-json') object.raw = JSON.parse(value);
    object[camel(name)] = value;
  }
  return Object.freeze(object);
}

function status(cases, { tag, val }) {
  return cases[tag] === null ? screaming(tag) : val;
}

function numberIfSafe(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * What users call a field that the component names: `toPhoneNumber` for `to-phone-number`. Keys
 * of free-form JSON stay as they are.
 */
export function fieldName(parameters, name) {
  const inner = Object.values(parameters).map(recordOf).filter(Boolean);
  return named(Object.assign({}, parameters, ...inner), name);
}

function named(fields, path) {
  const [, first, rest] = /^([^.[]*(?:\[\d+\])?)\.?(.*)$/s.exec(path);
  const type = fields[first.replace(/\[.*/, '')];
  if (type === undefined) return path;
  const inner = recordOf(type);
  const translated = camel(first);
  if (rest === '') return translated;
  return `${translated}.${inner ? named(inner, rest) : rest}`;
}

/** The fields of the record that a type is made of, if there is one. */
function recordOf(type) {
  if (typeof type === 'string') return types[type]?.record;
  return type.option || type.list ? recordOf(type.option ?? type.list) : undefined;
}
