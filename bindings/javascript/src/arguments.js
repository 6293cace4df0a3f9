'use strict';
/** What users give to operations, as the JSON text that the native half reads. */
const { invalidInput } = require('./errors.js');
const { jsonText } = require('./json_text.js');

const INTEGER = 'an integer of 64 bits: a number up to 2^53, a bigint, or its digits';

/** Returns whether a value has its members as properties: a `Map`, or `Headers`, seems to have none. */
const isRecord = (value) => typeof value === 'object' && value !== null && !(Symbol.iterator in value);

/** Describes a value for an error, without showing it: it may be secret. */
function typeOf(value) {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'object' && !isRecord(value)) return 'an iterable';
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

function refused(path, value, allowed) {
  const found = typeof value === 'number' ? String(value) : typeOf(value);
  return invalidInput(path, found, allowed);
}

// Readers: each takes a value and its path, and returns its JSON.

function text(value, path) {
  if (typeof value !== 'string') throw invalidInput(path, typeOf(value), 'text');
  return JSON.stringify(value.toWellFormed());
}

function boolean(value, path) {
  if (typeof value !== 'boolean') throw refused(path, value, 'true or false');
  return String(value);
}

function integer(value, path) {
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d{1,19}$/.test(value));
  const digits = isInteger ? BigInt(value) : undefined;
  if (digits === undefined || BigInt.asIntN(64, digits) !== digits) throw refused(path, value, INTEGER);
  return String(digits);
}

const from0To = (max) => (value, path) => {
  if (!Number.isInteger(value) || value < 0 || value > max) throw refused(path, value, `an integer, 0 to ${max}`);
  return String(value);
};

const json = (value, path) => text(jsonText(value, path), path);

/** The variables of a prompt, as pairs. */
function pairs(value, path) {
  if (!isRecord(value)) throw refused(path, value, 'an object of names and texts');
  const members = Object.entries(value).map(([name, it]) => `[${text(name, path)},${text(it, `${path}.${name}`)}]`);
  return `[${members}]`;
}

/** Returns the reader of a field that must be there. */
const required = (read, allowed = 'text') => ({ read, allowed });

/** Returns the reader of an object that has only these fields. `null` and `undefined` are as if there was no field. */
function record(name, fields, nested = false) {
  const known = Object.entries(fields).map(([field, read]) => ({ ...(read.read ? read : { read }), field, member: snakeCase(field) }));
  return (object, subject = name) => {
    if (typeof object !== 'object' || object === null) throw invalidInput(subject, typeOf(object), 'an object');
    const path = (field) => (nested ? `${subject}.${field}` : field);
    const unknown = Object.keys(object).find((field) => !Object.hasOwn(fields, field));
    if (unknown !== undefined) throw invalidInput(path(unknown), 'an unknown field', Object.keys(fields).join(', '));
    const members = [];
    for (const { field, member, read, allowed, absent } of known) {
      const value = object[field];
      if (value !== undefined && value !== null) members.push(`"${member}":${read(value, path(field))}`);
      else if (allowed) throw invalidInput(path(field), 'nothing', allowed);
      else if (absent) members.push(`"${member}":${absent}`);
    }
    return `{${members}}`;
  };
}

const snakeCase = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const agentText = record('', { defaultText: required(text), extra: json }, true);

const DOCKET_V1 = { agentId: required(integer, 'an integer'), toPhoneNumber: required(text), callContext: required(json, 'a JSON object'), extra: json };
const DOCKET = { ...DOCKET_V1, externalId: text };

/** The readers of requests. */
const REQUESTS = {
  agent: record('request', {
    prompt: agentText,
    agentName: required(text),
    agentPhoneNumber: text,
    voiceId: text,
    version: integer,
    welcomeText: agentText,
    tools: json,
    enabled: boolean,
    saveStats: boolean,
    serverType: text,
    callType: text,
    createdAt: text,
    updatedAt: text,
    extra: json,
  }),
  call: record('request', { fromAgentName: text, toPhoneNumber: required(text), callContext: { read: pairs, absent: '[]' }, extra: json }),
  docketV1: record('request', DOCKET_V1),
  docket: record('request', DOCKET),
  docketOfBatch: record('request', { key: text, ...DOCKET }),
};

const OF_ALL = { account: text, maxRetries: from0To(99) };
const MILLISECONDS = from0To(2 ** 32 - 1);
const TIME = required(MILLISECONDS, 'milliseconds, 1 or more');

/** The readers of options. */
const OPTIONS = {
  read: record('options', { ...OF_ALL, timeoutMs: MILLISECONDS }),
  create: record('options', { ...OF_ALL, timeoutMs: MILLISECONDS, key: text }),
  wait: record('options', { ...OF_ALL, timeoutMs: TIME, pollTimeoutMs: MILLISECONDS, notFoundIsPending: boolean }),
  batch: record('options', { ...OF_ALL, timeoutMs: TIME, requestTimeoutMs: MILLISECONDS }),
};

module.exports = { OPTIONS, REQUESTS, boolean, from0To, isRecord, record, required, snakeCase, text, typeOf };
