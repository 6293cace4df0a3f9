/**
 * Between what users give and get, and the plain values of the component's interface: records as
 * objects by their WIT names, `undefined` for none, variants and results as `{ tag, val }`, tuples
 * as arrays.
 *
 * What users give is checked here, before anything is sent.
 */
import { InvalidInput } from '../generated/errors.js';
import { types } from '../generated/wit.js';
import { NotJson, jsonText } from './json_text.js';
import { refusal } from './request_error.js';
import { camel, found, screaming, tag } from './words.js';

/** Refuses an argument. */
export function refuse(subject, value, allowed) {
  return invalidInput(subject, found(value), allowed);
}

export function invalidInput(subject, found, allowed, options = undefined) {
  return refusal(InvalidInput, subject, found, allowed, options);
}

/** What arguments are made of; a smaller integer would be a number as well. */
const INTEGERS = {
  u32: [0n, 2n ** 32n - 1n],
  s64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** A larger webhook delivery is an attack on the receiver's memory. */
const MOST_BYTES = 1024 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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
    case 'body':
      return body(value, path);
    case 'bool':
      if (typeof value !== 'boolean') throw refuse(path, value, 'true or false');
      return value;
    default:
      return composed(type, value, path);
  }
}

function composed(type, value, path) {
  if (type.option) return absent(value) ? undefined : toPlain(type.option, value, path);
  if (type.list?.tuple) return namesAndValues(value, path);
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
    throw invalidInput(inner(unknown), 'an unknown field', allowed);
  }
  const plain = {};
  for (const name of names) {
    plain[name] = toPlain(fields[name], value[camel(name)], inner(camel(name)));
  }
  return plain;
}

/** An object of strings, which may be left out where it is empty. */
function namesAndValues(value, path) {
  if (absent(value)) return [];
  if (tag(value) !== 'Object') throw refuse(path, value, 'an object of strings');
  return Object.entries(value).map(([name, it]) => [text(name, path), text(it, `${path}.${name}`)]);
}

function absent(value) {
  return value === undefined || value === null;
}

function integer(type, value, path) {
  const [least, most] = INTEGERS[type];
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value) || isDigits(type, value);
  if (!isInteger || value < least || value > most) {
    const beyond = typeof value === 'number' && Number.isInteger(value) ? '; a bigint beyond 2^53' : '';
    throw refuse(path, value, `an integer from ${least} to ${most}${beyond}`);
  }
  return type === 's64' ? BigInt(value) : Number(value);
}

/** Whether it is an integer as `fromPlain` gives it beyond 2^53. */
function isDigits(type, value) {
  return type === 's64' && typeof value === 'string' && /^-?[1-9]\d{0,18}$/.test(value);
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
    const options = error.cause === undefined ? undefined : { cause: error.cause };
    throw invalidInput([path, ...error.path].join('.'), error.found, error.allowed, options);
  }
}

/** The body of a delivery, as text or as it came. */
function body(value, path) {
  const isText = typeof value === 'string';
  if (!isText && !(value instanceof Uint8Array)) throw refuse(path, value, 'a string or a Uint8Array');
  const length = Buffer.byteLength(value);
  if (length > MOST_BYTES) throw invalidInput(path, `${length} bytes`, `at most ${MOST_BYTES} bytes`);
  if (isText) return text(value, path);
  try {
    return decoder.decode(value);
  } catch (cause) {
    throw invalidInput(path, 'bytes that are not UTF-8', 'UTF-8', { cause });
  }
}

/** What users get for a plain value, which was found in a field of this name. */
export function fromPlain(type, value, name = '') {
  switch (type) {
    case 's64': {
      // `JSON.stringify` knows no bigint.
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : String(value);
    }
    case 'json':
      // What the component calls JSON is JSON.
      return name === 'raw-json' ? value : JSON.parse(value);
    default:
      break;
  }
  if (typeof type === 'string') {
    const definition = types[type];
    if (definition?.record) return fields(definition.record, value);
    if (definition?.variant) return variant(definition.variant, value);
    return value;
  }
  if (type.option) return value === undefined ? undefined : fromPlain(type.option, value, name);
  return Object.freeze(value.map((element) => fromPlain(type.list, element)));
}

function fields(types, record) {
  const object = {};
  for (const name in types) {
    const value = fromPlain(types[name], record[name], name);
    if (value === undefined) continue;
    if (name === 'raw-json') Object.defineProperty(object, 'raw', { get: parsed(value) });
    object[camel(name)] = value;
  }
  return Object.freeze(object);
}

/** The whole answer, for those who want it: that is seldom, and takes time. */
function parsed(text) {
  let value;
  return () => (value ??= JSON.parse(text));
}

/** A status is text, as the service writes it; others are objects that their `kind` tells apart. */
function variant(cases, { tag, val }) {
  if (Object.values(cases).every((type) => type === null || type === 'string')) {
    return cases[tag] === null ? screaming(tag) : val;
  }
  const value = val === undefined ? undefined : fromPlain(cases[tag], val);
  return Object.freeze(value === undefined ? { kind: tag } : { kind: tag, value });
}

/**
 * What users call an argument that the component names: `toPhoneNumber` for `to-phone-number`,
 * `options.timeoutMs` for a time of its own. Keys of free-form JSON stay as they are.
 */
export function parameterName({ parameters, fromOptions }, name) {
  const [, option] = /^(?:wait\.|options\.)?([^.]+)$/.exec(name) ?? [];
  const isOption = (it) => it === option || (recordOf(parameters[it]) ?? {})[option] !== undefined;
  if (fromOptions.some(isOption)) return `options.${camel(option)}`;
  const given = Object.entries(parameters).filter(([it]) => !fromOptions.includes(it));
  return named(Object.assign(Object.fromEntries(given), ...given.map(([, type]) => recordOf(type))), name);
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
