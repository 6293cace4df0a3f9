/** JavaScript values as JSON text, without loss: what JSON cannot hold is refused. */
import { randomUUID } from 'node:crypto';
import { InvalidInput } from './errors.js';
import { describe, invalidInput, tag } from './words.js';

const ANY = 'a value that JSON can represent';

/** Stands before the digits of a `bigint` until they are written. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g');

/**
 * Returns text that holds the value of an argument. `bigint` keeps its digits; members that are
 * `undefined` are left out.
 */
export function jsonText(value, argument = '') {
  /** The objects in which `JSON.stringify` is, and the names that lead there. */
  const above = [];
  const path = [];
  try {
    return JSON.stringify(value, member).replaceAll(MARKED, '$1');
  } catch (cause) {
    if (cause instanceof InvalidInput) throw cause;
    // Code of users may throw anything; or it has a circle, or more levels than there is stack for.
    throw invalidInput(argument, 'a value that cannot be read', ANY, { cause });
  }

  /** @this {any} the object that has the member, which its `toJSON` may have replaced */
  function member(name, value) {
    const known = above.lastIndexOf(this);
    const depth = known < 0 ? above.length : known;
    above.splice(depth, Infinity, this);
    path.splice(depth, Infinity, depth === 0 ? argument : name);
    const refuse = (found, allowed = ANY) => invalidInput(path.join('.'), found, allowed);

    const { [name]: given } = this;
    // Their `toJSON` makes lists of numbers of them, and null.
    if (ArrayBuffer.isView(given)) throw refuse(describe(given));
    if (tag(given) === 'Date' && Number.isNaN(given.getTime())) throw refuse('an invalid Date', 'a Date');
    switch (typeof value) {
      case 'bigint':
        return MARK + value;
      case 'number':
        if (!Number.isFinite(value)) throw refuse(describe(value), 'a finite number');
        return value;
      case 'string':
      case 'boolean':
        return value;
      case 'object':
        if (value !== null && !['Array', 'Object'].includes(tag(value))) throw refuse(describe(value));
        return value;
      case 'undefined':
        if (depth > 0 && !Array.isArray(this)) return value;
      default:
        throw refuse(describe(value));
    }
  }
}
