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
import * as onNode from 'voice-calling';
import * as onFetch from 'voice-calling/fetch';
import { FROM_OPTIONS } from '../src/conversion.js';
import { jsonText } from '../src/json_text.js';
import { functions, types } from '../src/wit.js';
import { camel, snake } from '../src/words.js';
import { Fault, REASON, notHad } from './program.js';
import { logged } from './service.js';

const DRIVERS = { node: onNode, fetch: onFetch };

const AT_ONCE = 16;

/** The method of the client for each function. */
const METHODS = {
  'agents.create-agent': ({ agents }) => agents.create,
  'agents.list-agents': ({ agents }) => agents.list,
  'calls.make-call': ({ calls }) => calls.make,
  'calls.get-call-details': ({ calls }) => calls.getDetails,
  'calls.wait-for-call-details': ({ calls }) => calls.waitForDetails,
  'dockets.create-docket': ({ dockets }) => dockets.createV1,
  'dockets.create-docket-v2': ({ dockets }) => dockets.create,
  'dockets.get-docket': ({ dockets }) => dockets.get,
  'dockets.wait-for-docket': ({ dockets }) => dockets.waitFor,
  'bulk.create-dockets-v2': ({ dockets }) => dockets.createMany,
  'webhooks.parse-docket-completed': ({ webhooks }) => webhooks.parse,
  'webhooks.verify-docket-completed': ({ webhooks }) => webhooks.verify,
};

const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`^${MARK}(.*)`);
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const judge = process.env.VOICE_CALLING_CASES;

test('the judge of the table of cases is there', () => {
  assert.ok(
    judge,
    'VOICE_CALLING_CASES is not set: run `cargo xtask bindings test`, or start ' +
      '`cargo run --package host-test -- cases` and set the variable to the URL that it prints',
  );
});

for (const [driver, { VoiceClient }] of judge ? Object.entries(DRIVERS) : []) {
  const run = `javascript-${process.versions.node}-${driver}-${randomUUID()}`;
  const url = `${judge}/runs/${run}`;
  const cases = parsed(await text(url));

  test(`${driver}: the table has cases`, () => assert.ok(cases.length > 0));

  const judged = async (id, outcome) => {
    const { differences } = JSON.parse(await text(`${url}/cases/${id}/outcome`, unmarked(jsonText(outcome))));
    assert.deepEqual(differences, [], jsonText(outcome));
  };

  test(`${driver}: ${cases.length} cases`, { concurrency: AT_ONCE }, async (t) => {
    const tests = cases
      .filter(({ program }) => !program)
      .map((row) => t.test(row.name, async () => judged(row.id, await played(VoiceClient, row))));
    await Promise.all(tests);
  });

  // One after the other: what is logged meanwhile belongs to the case.
  const programs = cases.filter(({ program }) => program);
  for (const row of programs) {
    test(`${driver}: ${row.name}`, async () =>
      judged(row.id, await playedWith(row.program, driver, VoiceClient, row)));
  }

  test(`${driver}: no case was left out, and nothing was sent after the end`, async () => {
    const { failed, not_judged, not_had } = JSON.parse(await text(`${url}/summary`));
    assert.deepEqual({ failed, not_judged }, { failed: [], not_judged: [] });
    const missing = programs.filter(({ program }) => notHad(program));
    assert.deepEqual(not_had, missing.map(({ name, program }) => [name, notHad(program)]));
  });
}

async function text(url, body) {
  const response = await fetch(url, body && { method: 'POST', body });
  const answer = await response.text();
  assert.ok(response.ok, `${url}: ${response.status} ${answer}`);
  return answer;
}

/** Calls the operation as a user does, and says what came of it as the table writes it. */
async function played(VoiceClient, { operation, arguments: given, settings: env }, fault = undefined) {
  const called = Object.values(functions).find(({ wit }) => wit === operation);
  const client = new VoiceClient({ env, ...fault?.options });
  fault?.begin(client);
  try {
    const begun = METHODS[operation](client)(...arguments_(called, given, fault?.callOptions));
    const value = await (fault ? fault.outcome(begun) : begun);
    return { value: value === undefined ? null : report(called, called.ok, value) };
  } catch (error) {
    // Nothing came of it.
    if (error === REASON) return { value: null };
    return { error: reportError(called, error) };
  } finally {
    await client.close();
  }
}

/** The same in a program that has a fault, with what was logged. */
async function playedWith(program, driver, VoiceClient, row) {
  const reason = notHad(program);
  if (reason) return { not_had: reason };
  let outcome;
  const log = await logged(async () => (outcome = await played(VoiceClient, row, new Fault(program, driver))));
  return { ...outcome, log };
}

// ---------------------------------------------------------------------------- what is given

/** What the time of an operation is called in the options of this function. */
function deadline({ parameters }) {
  if ('wait' in parameters) return 'pollTimeoutMs';
  return 'timeout-ms' in parameters ? 'requestTimeoutMs' : 'timeoutMs';
}

function arguments_(called, given, callOptions = {}) {
  const { parameters } = called;
  const positional = [];
  const options = {};
  for (const [name, type] of Object.entries(parameters)) {
    const isLone = positional.length === 0 && types[type]?.record && !(snake(name) in given);
    const value = passed(type, isLone ? given : given[snake(name)]);
    if (!FROM_OPTIONS.includes(name)) positional.push(value);
    else if (name === 'options') Object.assign(options, inOptions(called, value ?? {}));
    else Object.assign(options, type === 'u32' ? { [camel(name)]: value } : value);
  }
  return 'options' in parameters ? [...positional, { ...options, ...callOptions }] : positional;
}

function inOptions(called, { account, deadlineMs, maxAttempts }) {
  return {
    account,
    [deadline(called)]: deadlineMs,
    maxRetries: maxAttempts === undefined ? undefined : maxAttempts - 1,
  };
}

function passed(type, value) {
  if (value === null || value === undefined) return undefined;
  if (type.option) return passed(type.option, value);
  if (type.list?.tuple) return value;
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

// ------------------------------------------------------------------------- what is reported

/** `whole` is the JSON that a value was read from, where that is known, with marked numbers. */
function report(called, type, value, whole) {
  if (value === undefined) return null;
  if (type.option) return report(called, type.option, value, whole);
  if (type.result) {
    return value.ok
      ? { ok: report(called, type.result[0], value.value) }
      : { error: reportError(called, value.error) };
  }
  if (type.list) {
    const wholes = Array.isArray(whole) ? whole : [whole];
    return value.map((element, i) => report(called, type.list, element, wholes[i]));
  }
  const { record, variant } = types[type] ?? {};
  if (record) return reportRecord(called, record, value, whole);
  if (type === 's64') return BigInt(value);
  if (!variant) return value;
  if (value.kind === undefined) {
    const known = Object.keys(variant).find((name) => snake(name).toUpperCase() === value);
    return known ? snake(known) : { other: value };
  }
  const of = variant[value.kind];
  return of === null ? snake(value.kind) : { [snake(value.kind)]: report(called, of, value.value) };
}

function reportRecord(called, record, value, whole) {
  const own = value.rawJson === undefined ? whole : marked(value.rawJson);
  const fields = {};
  for (const [name, type] of Object.entries(record)) {
    const given = value[camel(name)];
    const isJson = (type.option ?? type) === 'json' && name !== 'raw-json' && given !== undefined;
    if (isJson) fields[snake(name)] = exact(own[snake(name)], given);
    // The lists of agents and of calls are the whole answer.
    else fields[snake(name)] = report(called, type, given, type.list ? own : own?.[snake(name)]);
  }
  return fields;
}

/** A member as a user who needs all digits finds it in `rawJson`. */
function exact(member, value) {
  assert.deepEqual(value, JSON.parse(unmarked(JSON.stringify(member))));
  return member;
}

function reportError(called, error) {
  if (!(error instanceof onNode.RequestError)) throw error;
  const failure = report(called, 'failure', error);
  if (error.problem) {
    const problem = inWit(called, error.problem);
    failure.message = failure.message.replace(sentence(error.problem), sentence(problem));
    failure.problem = problem;
  }
  return { [snake(error.kind)]: failure };
}

function sentence({ subject, found, allowed }) {
  return `${subject}: found ${found}; allowed: ${allowed}`;
}

/** `callContext.name` as `call-context.name`: the WIT's own names, and keys as they are. */
function inWit(called, { subject, found, allowed }) {
  const named = (subject) => ({ subject, found, allowed });
  const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (subject.startsWith('VOICE_CALLING_')) return named(subject);
  const [first, ...rest] = subject.split('.');
  if (first === 'options') {
    const [name] = rest;
    if (name === 'account') return named('options.account');
    if (name === deadline(called)) return named('options.deadline-ms');
    if (name === 'maxRetries') {
      const oneMore = (text) => text.replace(/-?\d+/g, (digits) => String(Number(digits) + 1));
      return { subject: 'options.max-attempts', found: oneMore(found), allowed: oneMore(allowed) };
    }
    return named('wait' in called.parameters ? `wait.${kebab(name)}` : kebab(name));
  }
  const isJson = ['callContext', 'extra', 'tools'].includes(first);
  return named([kebab(first), ...rest.map((name) => (isJson ? name : kebab(name)))].join('.'));
}

// ------------------------------------------------------------------- JSON to the last digit

/** JSON with integers of any size: those that a number cannot hold as bigints. */
function parsed(text) {
  return JSON.parse(text.replace(TOKEN, mark), (_, value) => {
    const [, digits] = MARKED.exec(value) ?? [];
    if (digits === undefined) return value;
    return /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)) ? BigInt(digits) : Number(digits);
  });
}

/** JSON whose numbers are texts with a mark, until they are written. */
function marked(text) {
  return JSON.parse(text.replace(TOKEN, mark));
}

function mark(token) {
  return token.startsWith('"') ? token : `"${MARK}${token}"`;
}

function unmarked(text) {
  return text.replaceAll(new RegExp(`"${MARK}([^"]*)"`, 'g'), '$1');
}
