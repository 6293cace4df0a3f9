/**
 * The arguments of tools, as models send them: `null` for what is absent, integers and booleans as text,
 * JSON as an object or as its text. An error names the argument, what was found and what is allowed.
 */
import { InvalidInputError } from 'voice-calling';

/** How many characters of an argument an error shows. */
const MOST_FOUND = 40;

export function refuse(subject, found, allowed) {
  throw new InvalidInputError(`${subject}: found ${found}; allowed: ${allowed}`, { problem: { subject, found, allowed } });
}

function shown(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value !== 'string') return `the ${typeof value} ${value}`;
  return JSON.stringify(value.length > MOST_FOUND ? `${value.slice(0, MOST_FOUND)}…` : value);
}

/** A parameter: its JSON schema, and how its value is read. Some programs do not know lists of types. */
function parameter([type, ...others], description, read) {
  const types = others.length === 0 ? { type } : { anyOf: [type, ...others].map((type) => ({ type })) };
  return { schema: { ...types, description }, isRequired: true, read };
}

/** The same parameter, which may be left out. */
export const optional = (it) => ({ ...it, isRequired: false });

/** A text. Some programs make a number of digits. */
export const text = (description) =>
  parameter(['string'], description, (value, name) => {
    const isText = typeof value === 'string' || (Number.isSafeInteger(value) && value >= 0);
    return isText ? String(value) : refuse(name, shown(value), 'text, in quotation marks');
  });

/** A key, of few kinds of characters, so that no two look alike. */
export function key(description) {
  const any = text(description);
  return {
    ...any,
    read(value, name) {
      const read = any.read(value, name);
      const isAllowed = /^[\w.:/@+#=-]{1,200}$/.test(read);
      return isAllowed ? read : refuse(name, shown(read), '1 to 200 ASCII letters, digits and . _ : / @ + # = -');
    },
  };
}

export const flag = (description) =>
  parameter(['boolean'], description, (value, name) =>
    [true, 'true'].includes(value) || (![false, 'false'].includes(value) && refuse(name, shown(value), 'true, false')));

export const seconds = (least, most, description) =>
  parameter(['integer'], description, (value, name) => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    const isAllowed = Number.isInteger(number) && number >= least && number <= most;
    return isAllowed ? number : refuse(name, shown(value), `an integer, ${least} to ${most}`);
  });

/** An integer of 64 bits, as its digits: a JSON number cannot hold all of them exactly. */
export const integer = (description) =>
  parameter(['integer', 'string'], description, (value, name) => {
    const isExact = Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d{1,19}$/.test(value));
    return isExact ? String(value) : refuse(name, shown(value), 'an integer; beyond 2^53 its digits as text');
  });

/** JSON as its text, in which numbers keep their digits if the argument is text. The client checks it. */
export const json = (description) =>
  parameter(['object', 'string'], description, (value, name) => {
    if (typeof value !== 'string' && typeof value !== 'object') refuse(name, shown(value), 'JSON, or its text');
    return typeof value === 'string' ? value : JSON.stringify(value);
  });

/** A JSON object as its text, each name once: a person who is asked reads all of it. */
export function object(description) {
  const any = json(description);
  return {
    ...any,
    read(value, name) {
      const text = any.read(value, name);
      const parsed = parse(text);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        refuse(name, shown(value), 'a JSON object, or its text');
      }
      if (namesIn(text) !== countNames(parsed)) refuse(name, `a name twice in ${shown(text)}`, 'each name once');
      return text;
    },
  };
}

/** A JSON object whose values are texts. */
export function texts(description) {
  const any = object(description);
  return {
    ...any,
    read(value, name) {
      const text = any.read(value, name);
      for (const [member, it] of Object.entries(JSON.parse(text))) {
        if (typeof it !== 'string') refuse(`${name}.${member}`, shown(it ?? undefined), 'text');
      }
      return text;
    },
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How many strings of a JSON text stand before a colon. */
const namesIn = (text) => text.match(/"(?:[^"\\]|\\.)*"(\s*:)?/g)?.filter((it) => it.endsWith(':')).length ?? 0;

function countNames(value) {
  if (typeof value !== 'object' || value === null) return 0;
  const below = Object.values(value).reduce((sum, it) => sum + countNames(it), 0);
  return below + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

/** Reads the arguments of a tool. An unknown one is refused: an agent that invents it expects something of it. */
export function readArguments(parameters, given) {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(parameters, name)) refuse(name, 'an unknown argument', Object.keys(parameters).join(', '));
  }
  const read = {};
  for (const [name, it] of Object.entries(parameters)) {
    const value = given[name] ?? undefined;
    if (value !== undefined || it.isRequired) read[name] = it.read(value, name);
  }
  return read;
}

/** The JSON schema of a tool's arguments. */
export function schemaOf(parameters) {
  const all = Object.entries(parameters);
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
    required: all.filter(([, it]) => it.isRequired).map(([name]) => name),
    additionalProperties: false,
  };
}
