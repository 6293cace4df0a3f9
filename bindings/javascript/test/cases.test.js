/**
 * The table of cases that all clients of the service run, played and judged by another process:
 * `host-test cases`.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RequestError, VoiceClient } from 'voice-calling';
import { jsonText } from '../src/json_text.js';
import { DEADLINES } from '../src/options.js';
import { functions } from '../src/wit.js';
import { camel, kebab, sentence, snake } from '../src/words.js';
import { Fault, REASON, unsupportedReason } from './program.js';
import { logged, skipLedger as NO_LEDGER, startHarness } from './service.js';

const AT_ONCE = 16;

/** The members of a request that are passed as they are. */
const FREE_FORM = ['call_context', 'extra', 'tools'];

/** The members of results that have a way of their own in the table. */
const STATUSES = { status: ['OPEN', 'IN_PROGRESS', 'COMPLETED'], callStatus: ['ANSWERED', 'NO_ANSWER', 'BUSY'] };
const JSON_MEMBERS = ['callContext', 'metadata', 'callMetadata'];

const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`^${MARK}(.*)`);
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const judge = await startHarness('HOST_TEST', 'cases');
const url = `${judge}/runs/javascript-${process.versions.node}-${randomUUID()}`;
const cases = parsed(await text(url));
const programs = cases.filter(({ program }) => program);
const others = cases.filter(({ program }) => !program);

async function judged(id, outcome) {
  const { differences } = JSON.parse(await text(`${url}/cases/${id}/outcome`, unmarked(jsonText(outcome))));
  assert.deepEqual(differences, [], jsonText(outcome));
}

test(`${others.length} cases`, { concurrency: AT_ONCE }, async (t) => {
  assert.ok(others.length > 0);
  await Promise.all(others.map((row) => t.test(row.name, async () => judged(row.id, await playedOnce(row)))));
});

// One after the other, since what is logged meanwhile belongs to the case.
for (const row of programs) test(row.name, async () => judged(row.id, await playedWith(row.program, row)));

test('no case was left out, and nothing was sent after the end', async () => {
  const { failed, not_judged, unsupported } = JSON.parse(await text(`${url}/summary`));
  assert.deepEqual({ failed, not_judged }, { failed: [], not_judged: [] });
  const reasons = [...others, ...programs].map((row) => [row.name, row.program ? unsupportedReason(row.program) : row.once && NO_LEDGER]);
  assert.deepEqual(unsupported, reasons.filter(([_, reason]) => reason));
});

async function text(url, body) {
  const response = await fetch(url, body && { method: 'POST', body });
  const answer = await response.text();
  assert.ok(response.ok, `${url}: ${response.status} ${answer}`);
  return answer;
}

/** Calls the operation as a user does, and says what came of it as the table writes it. */
async function played({ operation, arguments: given, settings: env }, fault = undefined) {
  const called = Object.values(functions).find(({ wit }) => wit === operation);
  const client = new VoiceClient({ env, ...fault?.options });
  fault?.begin(client);
  try {
    const [group, method] = called.method.split('.');
    const begun = client[group][method](...arguments_(called, given, fault?.callOptions));
    const value = await (fault ? fault.outcome(begun) : begun);
    return { value: report(called, value) };
  } catch (error) {
    // Nothing came of it.
    if (error === REASON) return { value: null };
    return { error: reportError(called, error) };
  } finally {
    await client.close();
  }
}

/** The same, in a case with a key after the earlier calls with it, each by a client of its own. */
async function playedOnce(row) {
  if (!row.once) return played(row);
  if (NO_LEDGER) return { unsupported: NO_LEDGER };
  const { key, earlier } = row.once;
  const folder = await mkdtemp(join(tmpdir(), 'voice-calling-'));
  try {
    const options = { ledger: join(folder, 'calls.db') };
    const program = { options, callOptions: { once: key }, begin: () => {}, outcome: (begun) => begun };
    for (const given of earlier) await played({ ...row, arguments: given }, program);
    return await played(row, program);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The same in a program that has a fault, with what was logged. */
async function playedWith(program, row) {
  const reason = unsupportedReason(program);
  if (reason) return { unsupported: reason };
  let outcome;
  const log = await logged(async () => (outcome = await played(row, new Fault(program))));
  return { ...outcome, log };
}

// ---------------------------------------------------------------------------- what is given

function arguments_({ wit, name, form }, { options, wait, timeout_ms: timeoutMs, ...given }, callOptions) {
  const value = name === '' ? (given.request ?? given.config ?? given) : Object.values(given)[0];
  if (wit === 'webhooks.parse-docket-completed') return [value];
  const { account, deadline_ms: deadline, max_attempts: attempts } = options ?? {};
  const named = { account, [DEADLINES[form]]: deadline, maxRetries: typeof attempts === 'number' ? attempts - 1 : undefined };
  if (form === 'batch') named.timeoutMs = timeoutMs;
  return [passed(value), { ...named, ...passed(wait), ...callOptions }];
}

function passed(value) {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(passed);
  if (typeof value !== 'object') return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, it]) => [camel(name), FREE_FORM.includes(name) ? (it ?? undefined) : passed(it)]));
}

// ------------------------------------------------------------------------- what is reported

/** `whole` is the JSON that a value was read from, where that is known, with marked numbers. */
function report(called, value, whole = undefined) {
  if (Array.isArray(value)) {
    const wholes = Array.isArray(whole) ? whole : [whole];
    return Array.from(value, (element, i) => report(called, element, wholes[i]));
  }
  if (typeof value !== 'object' || value === null) return value ?? null;
  if ('ok' in value) return value.ok ? { ok: report(called, value.value) } : { error: reportError(called, value.error) };
  if (value.kind === 'not-a-completion') return snake(camel(value.kind));
  if ('kind' in value) return { [value.kind]: report(called, value.value) };
  const own = value.rawJson === undefined ? whole : marked(value.rawJson);
  const members = Object.entries(value).filter(([name, it]) => name !== 'fromLedger' || it).map(([name, it]) => {
    const member = own?.[snake(name)];
    // The attempts of a delivery are JSON, those of the client have a time.
    const isJson = JSON_MEMBERS.includes(name) || (name === 'attempts' && it[0]?.startedMs === undefined && member);
    if (isJson) return [name, exact(member, it)];
    if (typeof it === 'string' && STATUSES[name] && !('confidenceScore' in value || 'reasoning' in value)) {
      return [name, STATUSES[name].includes(it) ? it.toLowerCase() : { other: it }];
    }
    // The lists of agents and of calls are the whole answer.
    return [name, report(called, it, Array.isArray(it) ? own : member)];
  });
  return Object.fromEntries(members.map(([name, it]) => [snake(name), it]));
}

/** A member as a user who needs all digits finds it in `rawJson`. */
function exact(member, value) {
  assert.deepEqual(value, JSON.parse(unmarked(JSON.stringify(member))));
  return member;
}

function reportError(called, error) {
  if (!(error instanceof RequestError)) throw error;
  const { kind, nextStep, message, problem, response, attempts, mayHaveCreated } = error;
  const failure = { kind, ...report(called, { nextStep, message, response, attempts, mayHaveCreated }) };
  if (problem) {
    failure.problem = inWit(called, problem);
    failure.message = message.replace(sentence(problem), sentence(failure.problem));
  }
  return failure;
}

/** `callContext.name` as `call-context.name`: the WIT's own names, and keys as they are. */
function inWit(called, { subject, found, allowed }) {
  const named = (subject) => ({ subject, found, allowed });
  if (subject.startsWith('VOICE_CALLING_')) return named(subject);
  const [first, ...rest] = subject.split('.');
  if (first === 'options') {
    const [name] = rest;
    if (name === 'account') return named('options.account');
    if (name === DEADLINES[called.form]) return named('options.deadline-ms');
    if (name === 'maxRetries') {
      const oneMore = (text) => text.replace(/-?\d+/g, (digits) => String(Number(digits) + 1));
      return { subject: 'options.max-attempts', found: oneMore(found), allowed: oneMore(allowed) };
    }
    return named(called.form === 'wait' ? `wait.${kebab(name)}` : kebab(name));
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
