/**
 * The table of cases that all clients of the service run, played and judged by another process:
 *
 *     cargo run --package host-test -- cases
 *
 * Its URL, the first line that it prints, is in the variable VOICE_CALLING_CASES.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { RequestError, VoiceClient } from 'voice-calling';
import { functions, types } from '../generated/wit.js';
import { jsonText } from '../src/json_text.js';
import { camel } from '../src/words.js';

const AT_ONCE = 16;

const STRING = /"(?:[^"\\]|\\.)*"/y;
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const judge = process.env.VOICE_CALLING_CASES;

test('the judge of the table of cases is there', () => {
  assert.ok(
    judge,
    'VOICE_CALLING_CASES is not set: run `cargo xtask bindings test`, or start ' +
      '`cargo run --package host-test -- cases` and set the variable to the URL that it prints',
  );
});

if (judge) {
  const run = `javascript-${process.versions.node}-${randomUUID()}`;
  const url = `${judge}/runs/${run}`;
  const cases = parsed(await text(url));

  test('the table has cases', () => assert.ok(cases.length > 0));

  test(`${cases.length} cases`, { concurrency: AT_ONCE }, async (t) => {
    const tests = cases.map(({ id, name, operation, arguments: given, settings }) =>
      t.test(name, async () => {
        const outcome = await played(operation, given, settings);
        const judged = await text(`${url}/cases/${id}/outcome`, jsonText(outcome));
        assert.deepEqual(JSON.parse(judged), { differences: [] }, jsonText(outcome));
      }),
    );
    await Promise.all(tests);
  });

  test('no case was left out, and nothing was sent after the end', async () => {
    const { failed, not_judged } = JSON.parse(await text(`${url}/summary`));
    assert.deepEqual({ failed, not_judged }, { failed: [], not_judged: [] });
  });
}

async function text(url, body) {
  const response = await fetch(url, body && { method: 'POST', body });
  const answer = await response.text();
  assert.ok(response.ok, `${url}: ${response.status} ${answer}`);
  return answer;
}

/** Calls the operation as a user does, and tells what came of it as the table writes it. */
async function played(operation, given, env) {
  const [method, called] = Object.entries(functions).find(([, { core }]) =>
    core.replace(/^voice-calling:client\/|@[\d.]+/g, '').replace('#', '.') === operation,
  );
  const [group, name] = method.split('.').map(camel);
  const client = new VoiceClient({ env });
  try {
    const value = await client[group][name](...arguments_(called, given));
    const [type] = called.result.result;
    return { value: value === undefined ? null : told(type, value) };
  } catch (error) {
    return { error: toldError(error) };
  } finally {
    await client.close();
  }
}

// ---------------------------------------------------------------------------- what is given

function arguments_({ parameters, fromOptions }, given) {
  const entries = Object.entries(parameters);
  const isLone = entries.length === 1 && types[entries[0][1]]?.record;
  return entries.map(([name, type]) => {
    const value = passed(type, isLone ? given : given[snake(name)]);
    return name === fromOptions && !types[type] ? { [camel(name)]: value } : value;
  });
}

function passed(type, value) {
  if (value === null || value === undefined) return undefined;
  if (type.option) return passed(type.option, value);
  if (type.list === 'u8') return typeof value === 'string' ? value : Uint8Array.from(value);
  if (type.list) return value.map((element) => passed(type.list, element));
  const { record } = types[type] ?? {};
  if (!record) return value;
  const camelized = {};
  for (const [name, inner] of Object.entries(record)) {
    if (snake(name) in value) camelized[camel(name)] = passed(inner, value[snake(name)]);
  }
  const unknown = Object.keys(value).filter((key) => !Object.keys(record).map(snake).includes(key));
  assert.deepEqual(unknown, []);
  return camelized;
}

// ---------------------------------------------------------------------------- what is told

function told(type, value) {
  if (value === undefined) return null;
  if (type.option) return told(type.option, value);
  if (type.result) {
    return value.ok ? { ok: told(type.result[0], value.value) } : { error: toldError(value.error) };
  }
  if (type.list) return value.map((element) => told(type.list, element));
  const { record, variant } = types[type] ?? {};
  if (record) return toldRecord(record, value);
  if (!variant) return value;
  const known = Object.keys(variant).find((name) => snake(name).toUpperCase() === value);
  return known ? snake(known) : { other: value };
}

function toldRecord(record, value) {
  const told_ = {};
  for (const [name, type] of Object.entries(record)) {
    const given = value[camel(name)];
    const isJson = (type.option ?? type) === 'json' && name !== 'raw-json' && given !== undefined;
    told_[snake(name)] = isJson ? exact(value, snake(name), given) : told(type, given);
  }
  return told_;
}

/** The text of a member, which a user who needs all digits finds in `rawJson`. */
function exact({ rawJson }, name, value) {
  const text = membersOf(rawJson).get(name);
  assert.deepEqual(value, JSON.parse(text));
  return text;
}

function toldError(error) {
  if (!(error instanceof RequestError)) throw error;
  const payload = types['request-error'].variant[error.kind];
  const case_ = snake(error.kind);
  if (payload === null) return case_;
  const told_ = {};
  for (const [name, type] of Object.entries(types[payload].record)) {
    const isResponse = (type.option ?? type) === 'http-response';
    if (isResponse) told_.response = error.status === undefined ? null : told('http-response', error);
    else told_[snake(name)] = told(type, error[camel(name)]);
  }
  if ('message' in told_) told_.message = error.message.replace(/ \(status \d+\)$/, '');
  if ('field' in told_) told_.field = inWit(error.field);
  return { [case_]: told_ };
}

/** `callContext.name` as `call-context.name`: the WIT's own names, and keys as they are. */
function inWit(field) {
  const [first, ...rest] = field.split('.');
  const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const isJson = ['callContext', 'extra', 'tools'].includes(first);
  return [kebab(first), ...rest.map((name) => (isJson ? name : kebab(name)))].join('.');
}

function snake(name) {
  return name.replaceAll('-', '_');
}

// ------------------------------------------------------------------- JSON to the last digit

/** JSON with integers of any size: those that a number cannot hold as bigints. */
function parsed(text) {
  const marked = text.replace(TOKEN, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `{"$bigint":"${token}"}` : token,
  );
  return JSON.parse(marked, (_, value) => (value?.$bigint ? BigInt(value.$bigint) : value));
}

/** The members of an object, each as its text; of doubled ones the last. */
function membersOf(text) {
  const members = new Map();
  let depth = 0;
  let key;
  let begin;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      STRING.lastIndex = at;
      const [string] = STRING.exec(text);
      if (depth === 1 && key === undefined) key = JSON.parse(string);
      at += string.length - 1;
    } else if (character === ':' && depth === 1 && begin === undefined) begin = at + 1;
    else if (depth === 1 && (character === ',' || character === '}')) {
      if (key !== undefined) members.set(key, text.slice(begin, at).trim());
      key = begin = undefined;
    }
    if (character === '{' || character === '[') depth++;
    if (character === '}' || character === ']') depth--;
  }
  return members;
}
