/**
 * How plain values lie in the memory of a component: the canonical ABI, as much of it as the
 * types of our WIT need. (No flags, characters, resources; a type that is not known is refused.)
 *
 * A layout has size and alignment, loads and stores a value, and gives the numbers of which an
 * argument is made.
 */
import { types } from '../generated/wit.js';

/** More numbers than these are given in memory. */
const MAX_FLAT = 16;

const layouts = new Map();

function layout(type) {
  const key = typeof type === 'string' ? type : JSON.stringify(type);
  let found = layouts.get(key);
  if (!found) layouts.set(key, (found = made(type)));
  return found;
}

function made(type) {
  if (type in PRIMITIVES) return PRIMITIVES[type];
  if (type.option) return option(layout(type.option));
  if (type.result) return result(...type.result.map(layout));
  if (type.list) return list(layout(type.list));
  // A tuple is an array here: a record whose names are its indices.
  if (type.tuple) return record(type.tuple.map((of, i) => [i, layout(of)]));
  const { record: fields, variant: cases } = types[type] ?? {};
  if (fields) return record(Object.entries(fields).map(([name, of]) => [name, layout(of)]));
  if (cases) return named(Object.entries(cases).map(([name, of]) => [name, of && layout(of)]));
  throw new TypeError(`no layout is known for the type ${JSON.stringify(type)}`);
}

function number(size, flat, load, store) {
  return {
    size,
    alignment: size,
    flat: () => [flat],
    load: (memory, at) => load(memory.view, at),
    store: (memory, at, value) => store(memory.view, at, value),
    lower: (memory, value, into) => into.push(value),
  };
}

function sequence(load, place) {
  return {
    size: 8,
    alignment: 4,
    flat: () => ['i32', 'i32'],
    load: (memory, at) => load(memory, memory.u32(at), memory.u32(at + 4)),
    store: (memory, at, value) => memory.setList(at, place(memory, value)),
    lower: (memory, value, into) => into.push(...place(memory, value)),
  };
}

const TEXT = sequence(
  (memory, at, length) => memory.text(at, length),
  (memory, text) => memory.placeText(text),
);

const PRIMITIVES = {
  bool: {
    size: 1,
    alignment: 1,
    flat: () => ['i32'],
    load: (memory, at) => memory.view.getUint8(at) !== 0,
    store: (memory, at, value) => memory.setU8(at, value ? 1 : 0),
    lower: (memory, value, into) => into.push(value ? 1 : 0),
  },
  u16: number(
    2,
    'i32',
    (view, at) => view.getUint16(at, true),
    (view, at, value) => view.setUint16(at, value, true),
  ),
  u32: number(
    4,
    'i32',
    (view, at) => view.getUint32(at, true),
    (view, at, value) => view.setUint32(at, value, true),
  ),
  s64: number(
    8,
    'i64',
    (view, at) => view.getBigInt64(at, true),
    (view, at, value) => view.setBigInt64(at, value, true),
  ),
  f64: number(
    8,
    'f64',
    (view, at) => view.getFloat64(at, true),
    (view, at, value) => view.setFloat64(at, value, true),
  ),
  string: TEXT,
  json: TEXT,
  body: TEXT,
};

function list(element) {
  return sequence(
    (memory, at, length) =>
      Array.from({ length }, (_, i) => element.load(memory, at + i * element.size)),
    (memory, values) => {
      if (values.length === 0) return [element.alignment, 0];
      const at = memory.allocate(values.length * element.size, element.alignment);
      values.forEach((value, i) => element.store(memory, at + i * element.size, value));
      return [at, values.length];
    },
  );
}

function record(fields) {
  const { places, size, alignment } = inARow(fields.map(([, of]) => of));
  return {
    size,
    alignment,
    flat: () => fields.flatMap(([, of]) => of.flat()),
    load(memory, at) {
      const loaded = {};
      fields.forEach(([name, of], i) => (loaded[name] = of.load(memory, at + places[i])));
      return loaded;
    },
    store: (memory, at, value) =>
      fields.forEach(([name, of], i) => of.store(memory, at + places[i], value[name])),
    lower: (memory, value, into) =>
      fields.forEach(([name, of]) => of.lower(memory, value[name], into)),
  };
}

function option(inner) {
  return variant(
    [null, inner],
    (index, value) => (index === 0 ? undefined : value),
    (value) => (value === undefined ? [0] : [1, value]),
  );
}

function result(ok, error) {
  return named([
    ['ok', ok],
    ['err', error],
  ]);
}

/** A variant whose cases go by their names. */
function named(cases) {
  const names = cases.map(([name]) => name);
  return variant(
    cases.map(([, payload]) => payload),
    (index, val) => ({ tag: names[index], val }),
    ({ tag, val }) => [names.indexOf(tag), val],
  );
}

function variant(payloads, lift, lower) {
  const alignment = Math.max(1, ...payloads.map((payload) => payload?.alignment ?? 1));
  const largest = Math.max(0, ...payloads.map((payload) => payload?.size ?? 0));
  const flat = () => {
    const numbers = payloads.map((payload) => payload?.flat() ?? []).filter((it) => it.length > 0);
    if (numbers.length > 1) throw new TypeError('no argument is a variant with several payloads');
    return ['i32', ...(numbers[0] ?? [])];
  };
  let nothing;
  return {
    // The payload comes after one byte, aligned.
    size: aligned(alignment + largest, alignment),
    alignment,
    flat,
    load(memory, at) {
      const index = memory.view.getUint8(at);
      if (index >= payloads.length) throw new RangeError(`there is no case ${index}`);
      return lift(index, payloads[index]?.load(memory, at + alignment));
    },
    store(memory, at, value) {
      const [index, payload] = lower(value);
      memory.setU8(at, index);
      payloads[index]?.store(memory, at + alignment, payload);
    },
    lower(memory, value, into) {
      const [index, payload] = lower(value);
      into.push(index);
      if (payloads[index]) payloads[index].lower(memory, payload, into);
      else into.push(...(nothing ??= zeros(flat().slice(1))));
    },
  };
}

function zeros(kinds) {
  return kinds.map((kind) => (kind === 'i64' ? 0n : 0));
}

function inARow(layouts) {
  let end = 0;
  let alignment = 1;
  const places = layouts.map((it) => {
    const at = aligned(end, it.alignment);
    end = at + it.size;
    alignment = Math.max(alignment, it.alignment);
    return at;
  });
  return { places, size: aligned(end, alignment), alignment };
}

function aligned(at, alignment) {
  return Math.ceil(at / alignment) * alignment;
}

/** How a function of the component is called: its arguments as numbers, and its result. */
export function signature({ parameters, result }) {
  const layouts = Object.values(parameters).map(layout);
  const { places, size, alignment } = inARow(layouts);
  const isSpilled = layouts.flatMap((it) => it.flat()).length > MAX_FLAT;
  const returned = layout(result);
  return {
    lower(memory, values) {
      if (!isSpilled) {
        const into = [];
        layouts.forEach((it, i) => it.lower(memory, values[i], into));
        return into;
      }
      const at = memory.allocate(size, alignment);
      layouts.forEach((it, i) => it.store(memory, at + places[i], values[i]));
      return [at];
    },
    lift: (memory, at) => returned.load(memory, at),
  };
}
