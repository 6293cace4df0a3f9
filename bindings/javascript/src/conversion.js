/**
 * Between what users give and get, and the JSON of the client without I/O: records by their names
 * in snake_case, `null` for none, variants as `{ Case: value }` or `'Case'`, tuples as arrays.
 *
 * Arguments of users are checked here, before anything is sent.
 */
import { InvalidInput } from './errors.js';
import { NotJson, jsonText } from './json_text.js';
import { types } from './wit.js';
import { absent, camel, describe, pascal, refusal, screaming, snake, tag } from './words.js';

/** Returns the error that refuses the value of an argument. */
export function refuse(subject, value, allowed) {
  return invalidInput(subject, describe(value), allowed);
}

export function invalidInput(subject, found, allowed, options = undefined) {
  return refusal(InvalidInput, subject, found, allowed, options);
}

const LEAST_S64 = -(2n ** 63n);
const MOST_S64 = 2n ** 63n - 1n;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

// ---------------------------------------------------------------------------- what users give

/**
 * The JSON of what a user gave at `path`, which is empty for an argument that is a record: errors
 * name its fields alone, as the client without I/O does.
 */
export function written(type, value, path) {
  return writer(type)(value, path);
}

const writers = new Map();

/** Returns what makes the JSON of a type of what users give. */
function writer(type) {
  if (!writers.has(type)) writers.set(type, newWriter(type));
  return writers.get(type);
}

function newWriter(type) {
  if (type in SCALARS) return SCALARS[type];
  if (type.option) {
    const inner = writer(type.option);
    return (value, path) => (absent(value) ? undefined : inner(value, path));
  }
  if (type.list?.tuple) return namesAndValues;
  if (type.list) return listWriter(writer(type.list));
  return recordWriter(types[type].record);
}

function listWriter(element) {
  return (value, path) => {
    if (!Array.isArray(value)) throw refuse(path, value, 'an array');
    return Array.from(value, (it, i) => element(it, `${path}[${i}]`));
  };
}

function recordWriter(record) {
  const fields = Object.entries(record).map(([name, type]) => ({
    from: camel(name),
    to: snake(name),
    write: writer(type),
  }));
  const known = new Set(fields.map(({ from }) => from));
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw refuse(path || 'the argument', value, 'an object');
    }
    const inner = (name) => (path === '' ? name : `${path}.${name}`);
    for (const key of Object.keys(value)) {
      if (known.has(key)) continue;
      throw invalidInput(inner(key), 'an unknown field', `only the fields ${[...known].join(', ')}`);
    }
    const json = {};
    for (const { from, to, write } of fields) json[to] = write(value[from], inner(from));
    return json;
  };
}

/** An object of strings, which may be left out if it is empty. */
function namesAndValues(value, path) {
  if (absent(value)) return [];
  if (tag(value) !== 'Object') throw refuse(path, value, 'an object of strings');
  return Object.entries(value).map(([name, it]) => [text(name, path), text(it, `${path}.${name}`)]);
}

function s64(value, path) {
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value) || isDigits(value);
  if (!isInteger || value < LEAST_S64 || value > MOST_S64) {
    const beyond = typeof value === 'number' && Number.isInteger(value) ? '; a bigint beyond 2^53' : '';
    throw refuse(path, value, `an integer from ${LEAST_S64} to ${MOST_S64}${beyond}`);
  }
  return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

/** Returns `true` for an integer as `JSON.stringify` writes it beyond 2^53. */
function isDigits(value) {
  return typeof value === 'string' && /^-?[1-9]\d{0,18}$/.test(value);
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
  if (isText) return text(value, path);
  try {
    return decoder.decode(value);
  } catch (cause) {
    throw invalidInput(path, 'bytes that are not UTF-8', 'UTF-8', { cause });
  }
}

const SCALARS = { string: text, json, body, bool, s64 };

function bool(value, path) {
  if (typeof value !== 'boolean') throw refuse(path, value, 'true or false');
  return value;
}

// ----------------------------------------------------------------------------- what users get

const readers = new Map();

/** Returns what makes what users get of the JSON of a type. */
export function reader(type) {
  if (!readers.has(type)) readers.set(type, newReader(type));
  return readers.get(type);
}

function newReader(type) {
  // The client without I/O has checked that it is JSON.
  if (type === 'json') return JSON.parse;
  if (type === 's64') return integerRead;
  if (type.option) return reader(type.option);
  if (type.list) {
    const element = reader(type.list);
    return (values) => Object.freeze(values.map(element));
  }
  const { record, variant } = types[type] ?? {};
  if (record) return recordReader(record);
  if (variant) return variantReader(variant);
  return (value) => value;
}

/** Beyond 2^53 a number would lose digits; it comes as text then. */
function integerRead(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

function recordReader(record) {
  const fields = Object.entries(record).map(([name, type]) => ({
    from: snake(name),
    to: camel(name),
    read: name === 'raw-json' ? (text) => text : reader(type),
  }));
  const isWhole = 'raw-json' in record;
  const integers = fields.filter(({ read }) => read === integerRead).map(({ to }) => to);
  return (json) => {
    const object = {};
    for (const { from, to, read } of fields) {
      const value = json[from];
      if (value !== null && value !== undefined) object[to] = read(value);
    }
    if (isWhole) Object.defineProperty(object, 'raw', RAW);
    if (integers.some((name) => typeof object[name] === 'bigint')) {
      Object.defineProperty(object, 'toJSON', { value: withDigits });
    }
    return Object.freeze(object);
  };
}

/** `JSON.stringify` knows no bigint: its digits are written as text. */
function withDigits() {
  const entries = Object.entries(this);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  );
}

const parsed = new WeakMap();

/**
 * The whole answer, for those who want it: that is seldom, and takes time. One getter for all:
 * objects that differ in theirs cost more to make.
 */
const RAW = {
  get() {
    const { rawJson } = this;
    if (rawJson !== undefined && !parsed.has(this)) parsed.set(this, JSON.parse(rawJson));
    return parsed.get(this);
  },
};

/** A status is text, as the service writes it; others are objects, distinguished by their `kind`. */
function variantReader(variant) {
  const cases = Object.entries(variant);
  const isStatus = cases.every(([, type]) => type === null || type === 'string');
  const read = new Map(
    cases.map(([kind, type]) => {
      const status = screaming(kind);
      if (isStatus) return [pascal(kind), (value) => value ?? status];
      const inner = type && reader(type);
      return [
        pascal(kind),
        (value) => Object.freeze(absent(value) ? { kind } : { kind, value: inner(value) }),
      ];
    }),
  );
  return (json) => {
    if (typeof json === 'string') return read.get(json)(undefined);
    const [name] = Object.keys(json);
    return read.get(name)(json[name]);
  };
}

// -------------------------------------------------------------------------------------- names

/** The parameters that users give among the options. */
export const FROM_OPTIONS = ['wait', 'timeout-ms', 'options'];

/** The names of options that have other names in the WIT. */
const OPTIONS = { 'deadline-ms': 'timeoutMs', 'max-attempts': 'maxRetries' };

/**
 * Returns the name of an argument for users: `toPhoneNumber` for `to-phone-number`, `options.timeoutMs` for a
 * time. Keys of free-form JSON stay as they are.
 */
export function parameterName({ parameters, optionNames = {} }, name) {
  const [, option] = /^(?:wait\.|options\.)?([^.]+)$/.exec(name) ?? [];
  const isOption = (it) => it === option || (recordOf(parameters[it]) ?? {})[option] !== undefined;
  const given = Object.entries(parameters);
  if (given.some(([it]) => FROM_OPTIONS.includes(it) && isOption(it))) {
    return `options.${optionNames[option] ?? OPTIONS[option] ?? camel(option)}`;
  }
  const positional = given.filter(([it]) => !FROM_OPTIONS.includes(it));
  const fields = positional.map(([, type]) => recordOf(type));
  return renamed(Object.assign(Object.fromEntries(positional), ...fields), name);
}

function renamed(fields, path) {
  const [, first, rest] = /^([^.[]*(?:\[\d+\])?)\.?(.*)$/s.exec(path);
  const type = fields[first.replace(/\[.*/, '')];
  if (type === undefined) return path;
  const inner = recordOf(type);
  const translated = camel(first);
  if (rest === '') return translated;
  return `${translated}.${inner ? renamed(inner, rest) : rest}`;
}

/** Returns the fields of the record that a type is made of, if there is one. */
function recordOf(type) {
  if (typeof type === 'string') return types[type]?.record;
  return type?.option || type?.list ? recordOf(type.option ?? type.list) : undefined;
}
