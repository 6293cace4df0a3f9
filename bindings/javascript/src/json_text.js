'use strict';
/** JavaScript values as JSON text, without loss: what JSON cannot hold is refused. */
const { randomUUID } = require('node:crypto');
const { invalidInput } = require('./errors.js');

const ANY = 'a value that JSON can represent';

/** Stands before the digits of a `bigint` until they are written. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g');

/** The kind of an object, whatever realm it is of. */
const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);

/**
 * Returns text that holds the value of an argument. Text is JSON already. `bigint` keeps its digits;
 * members that are `undefined` are left out.
 */
function jsonText(value, argument) {
  if (value === undefined || value === null || typeof value === 'string') return value;
  /** The objects in which `JSON.stringify` is, and the names that lead there. */
  const above = [];
  const path = [];
  const refusals = [];
  try {
    return JSON.stringify(value, member).replaceAll(MARKED, '$1');
  } catch (cause) {
    if (refusals.includes(cause)) throw cause;
    // Code of users may throw anything; or it has a circle, or more levels than there is stack for.
    throw invalidInput(argument, 'a value that cannot be read', ANY, { cause });
  }

  function member(name, value) {
    const known = above.lastIndexOf(this);
    const depth = known < 0 ? above.length : known;
    above.splice(depth, Infinity, this);
    path.splice(depth, Infinity, depth === 0 ? argument : name);
    const { [name]: given } = this;
    // Their `toJSON` makes lists of numbers of bytes, and null of a date that is none.
    if (ArrayBuffer.isView(given) || (tag(given) === 'Date' && Number.isNaN(given.getTime()))) refuse(tag(given));
    if (typeof value === 'bigint') return MARK + value;
    if (typeof value === 'number' && !Number.isFinite(value)) refuse(String(value));
    if (typeof value === 'object' && value !== null && !['Array', 'Object'].includes(tag(value))) refuse(tag(value));
    const isLost = typeof value === 'undefined' && (depth === 0 || Array.isArray(this));
    if (isLost || typeof value === 'function' || typeof value === 'symbol') refuse(typeof value);
    return value;
  }

  function refuse(found) {
    refusals.push(invalidInput(path.join('.'), found, ANY));
    throw refusals[0];
  }
}

module.exports = { jsonText };
