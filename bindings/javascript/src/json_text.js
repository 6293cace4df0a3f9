/** JavaScript values as JSON text, without loss: what JSON cannot hold is refused. */
import { describe, tag } from './words.js';

/** Reports what JSON cannot hold in a value. */
export class NotJson extends Error {
  constructor(path, value, allowed, cause = undefined) {
    super(path.join('.'), { cause });
    this.path = path;
    this.found = typeof value === 'string' ? value : describe(value);
    this.allowed = allowed;
  }
}

/** Returns text that holds the value. `bigint` keeps its digits; members that are `undefined` are left out. */
export function jsonText(value) {
  return written(value, [], []);
}

function written(value, path, above) {
  // Their toJSON would make lists of numbers of them, and null.
  if (ArrayBuffer.isView(value)) throw new NotJson(path, value, 'a value that JSON can represent');
  if (tag(value) === 'Date' && Number.isNaN(value.getTime())) {
    throw new NotJson(path, 'an invalid Date', 'a Date');
  }
  return plain(replaced(value, path), path, above);
}

/** Returns what `toJSON` gives in an object's place, called once as `JSON.stringify` does. */
function replaced(value, path) {
  return read(path, () =>
    typeof value?.toJSON === 'function' ? value.toJSON(String(path.at(-1) ?? '')) : value,
  );
}

/** Runs code of users, which may throw anything. */
function read(path, run) {
  try {
    return run();
  } catch (cause) {
    throw new NotJson(path, 'a value that cannot be read', 'a value that JSON can represent', cause);
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
      if (!Number.isFinite(value)) throw new NotJson(path, value, 'a finite number');
      return Object.is(value, -0) ? '-0' : String(value);
    case 'object':
      return value === null ? 'null' : structure(value, path, above);
    default:
      throw new NotJson(path, value, 'a value that JSON can represent');
  }
}

function structure(value, path, above) {
  if (above.includes(value)) throw new NotJson(path, 'a circle', 'a value that JSON can represent');
  if (above.length >= DEEPEST) {
    throw new NotJson(path.slice(0, 1), `more than ${DEEPEST} levels`, 'fewer, or JSON text');
  }
  above.push(value);
  try {
    if (Array.isArray(value)) {
      // Not `map`, which leaves out holes.
      const elements = Array.from(value, (element, i) => written(element, [...path, i], above));
      return `[${elements.join(',')}]`;
    }
    if (tag(value) !== 'Object') throw new NotJson(path, value, 'a value that JSON can represent');
    const members = [];
    for (const [key, member] of read(path, () => Object.entries(value))) {
      if (member === undefined) continue;
      members.push(`${JSON.stringify(key)}:${written(member, [...path, key], above)}`);
    }
    return `{${members.join(',')}}`;
  } finally {
    above.pop();
  }
}

/** Deeper values would need more stack than there is. */
const DEEPEST = 1000;
