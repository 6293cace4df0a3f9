/** JavaScript values as JSON text, without loss: what JSON cannot hold is refused. */
import { describe, invalidInput, tag } from './words.js';

const ANY = 'a value that JSON can represent';

/**
 * Returns text that holds the value of an argument. `bigint` keeps its digits; members that are
 * `undefined` are left out.
 */
export function jsonText(value, argument = '') {
  return written(value, [argument], []);
}

function refuse(path, found, allowed = ANY, options = undefined) {
  return invalidInput(path.join('.'), found, allowed, options);
}

function written(value, path, above) {
  // Their toJSON would make lists of numbers of them, and null.
  if (ArrayBuffer.isView(value)) throw refuse(path, describe(value));
  if (tag(value) === 'Date' && Number.isNaN(value.getTime())) {
    throw refuse(path, 'an invalid Date', 'a Date');
  }
  return plain(replaced(value, path), path, above);
}

/** Returns what `toJSON` gives in an object's place, called once as `JSON.stringify` does. */
function replaced(value, path) {
  if (Object(value) !== value && typeof value !== 'bigint') return value;
  return read(path, () =>
    typeof value?.toJSON === 'function' ? value.toJSON(String(path.at(-1) ?? '')) : value,
  );
}

/** Runs code of users, which may throw anything. */
function read(path, run) {
  try {
    return run();
  } catch (cause) {
    throw refuse(path, 'a value that cannot be read', ANY, { cause });
  }
}

function plain(value, path, above) {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'bigint':
      return value.toString();
    case 'number':
      if (!Number.isFinite(value)) throw refuse(path, describe(value), 'a finite number');
      return Object.is(value, -0) ? '-0' : String(value);
    case 'object':
      return value === null ? 'null' : structure(value, path, above);
    default:
      throw refuse(path, describe(value));
  }
}

function structure(value, path, above) {
  if (above.includes(value)) throw refuse(path, 'a circle');
  if (above.length >= DEEPEST) {
    throw refuse(path.slice(0, 2), `more than ${DEEPEST} levels`, 'fewer, or JSON text');
  }
  above.push(value);
  try {
    if (Array.isArray(value)) {
      // Not `map`, which leaves out holes.
      const elements = Array.from(value, (element, i) => inner(i, element, path, above));
      return `[${elements.join(',')}]`;
    }
    if (tag(value) !== 'Object') throw refuse(path, describe(value));
    const members = [];
    for (const [key, member] of read(path, () => Object.entries(value))) {
      if (member === undefined) continue;
      members.push(`${JSON.stringify(key)}:${inner(key, member, path, above)}`);
    }
    return `{${members.join(',')}}`;
  } finally {
    above.pop();
  }
}

/** Returns the text of a member, whose path is needed only if it is refused. */
function inner(key, value, path, above) {
  path.push(key);
  const text = written(value, path, above);
  path.pop();
  return text;
}

/** Deeper values would need more stack than there is. */
const DEEPEST = 1000;
