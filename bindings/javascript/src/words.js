/** Names in the spelling of JavaScript, of JSON and of the WIT, and values in a few words for people. */
import { ConfigurationProblem, InvalidInput } from './errors.js';

/** `to-phone-number` or `to_phone_number` as `toPhoneNumber`. */
export function camel(name) {
  return name.replace(/[-_]([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** `toPhoneNumber` as `to_phone_number`. */
export function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `InProgress` as `in-progress`. */
export function kebab(name) {
  return name.replace(/(?!^)[A-Z]/g, '-$&').toLowerCase();
}

/** Returns the error that refuses an option of a client. */
export function misconfigured(subject, found, allowed, options = undefined) {
  return refusal(ConfigurationProblem, subject, found, allowed, options);
}

/** Returns the error that refuses the value of an argument. */
export function refuse(subject, value, allowed) {
  return invalidInput(subject, describe(value), allowed);
}

export function invalidInput(subject, found, allowed, options = undefined) {
  return refusal(InvalidInput, subject, found, allowed, options);
}

/** The error of something at fault, in a sentence as the client without I/O writes it. */
function refusal(Class, subject, found, allowed, options) {
  const problem = Object.freeze({ subject, found, allowed });
  return new Class(sentence(problem), { problem }, options);
}

/** Returns the sentence in which an error reports a problem. */
export function sentence({ subject, found, allowed }) {
  return `${subject}: found ${found}; allowed: ${allowed}`;
}

/** Describes a value that was found in place of something else. */
export function describe(value) {
  switch (typeof value) {
    case 'undefined':
      return 'nothing';
    case 'string':
      return cut(JSON.stringify(value));
    case 'bigint':
      return cut(`${value}n`);
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? 'an array' : `an object (${tag(value)})`;
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    default:
      return String(value);
  }
}

/** Describes a value that may be a secret: its type alone. */
export function describeType(value) {
  const type = typeof value;
  if (value === null || ['undefined', 'object', 'function', 'symbol'].includes(type)) return describe(value);
  return `a ${type}`;
}

/** `Map`, `Date`, `Uint8Array`; `Object` for what is nothing special. */
export function tag(value) {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Returns `true` if it is an object of named members, and nothing special. */
export function isPlain(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns `true` for what leaves an optional value out. */
export function absent(value) {
  return value === undefined || value === null;
}

function cut(text) {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
