/**
 * The table of cases that all clients of the service are judged by: those about what the package does by itself.
 * `host-test cases` plays the service, and judges. HOST_TEST names that program.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { VoiceCallingError, VoiceClient, WaitTimedOutError, parseDocketCompleted } from 'voice-calling';
import { keeping, ran, startHarness, withLedger } from './service.mjs';

const REASON = new Error('the caller was interrupted');
const BATCH = 'bulk.create-dockets-v2';
const PARSE = 'webhooks.parse-docket-completed';

const camel = (name) => name.replaceAll(/[_-]([a-z])/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const judge = await startHarness('HOST_TEST', 'cases', '--port', '0');
const url = `${judge}/runs/javascript`;
const rows = parsed(await text(url)).filter(({ edge }) => edge);

test('the cases that are about the package itself', async (t) => {
  assert.ok(rows.length > 50);
  for (const row of rows) {
    await t.test(row.name, async () => {
      const outcome = await (row.program ? playedIn(row.program, row) : row.once ? playedOnce(row) : played(row));
      const { differences } = JSON.parse(await text(`${url}/cases/${row.id}/outcome`, written(outcome)));
      assert.deepEqual(differences, [], written(outcome));
    });
  }
  const { failed } = JSON.parse(await text(`${url}/summary`));
  assert.deepEqual(failed, []);
});

async function text(url, body) {
  const response = await fetch(url, body && { method: 'POST', body });
  assert.ok(response.ok, `${url}: ${response.status}`);
  return response.text();
}

/** JSON whose integers are text where a number would lose digits, as the package takes and gives them. */
function parsed(json) {
  const quoted = (token) => (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token);
  return JSON.parse(json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, quoted));
}

/** JSON in which the integers of records are numbers again. */
function written(outcome) {
  return JSON.stringify(outcome).replaceAll(/"(agent_id|version|outbound_call_count)":"(-?\d+)"/g, '"$1":$2');
}

/** Calls the operation as a user does, and returns its outcome as the table has it. */
async function played(row, options = {}, given = {}, outcome = (begun) => begun) {
  let client;
  try {
    if (row.operation === PARSE) return { value: machine(parseDocketCompleted(row.arguments.body) ?? null) };
    client = new VoiceClient({ env: row.settings, ...options });
    const value = await outcome(begun(client, row, given));
    return { value: value === undefined ? null : machine(value) };
  } catch (error) {
    if (error === REASON) return { value: null };
    if (!(error instanceof WaitTimedOutError)) return { error: machineError(error, row.operation) };
    const { last = null, polls, failedPolls, waitedMs, heldBackMs } = error;
    return { value: machine({ outcome: { pending: last }, polls, failedPolls, waitedMs, heldBackMs }) };
  } finally {
    await client?.close();
  }
}

/** How each operation is called, with its arguments of the table, a request and options. */
const OPERATIONS = {
  'agents.create-agent': ({ agents }, _, request, options) => agents.create(request, options),
  'agents.list-agents': ({ agents }, { organization_id }, _, options) => agents.list(organization_id, options),
  'calls.make-call': ({ calls }, _, request, options) => calls.make(request, options),
  'calls.get-call-details': ({ calls }, { task_id }, _, options) => calls.get(task_id, options),
  'calls.wait-for-call-details': ({ calls }, { task_id }, _, options) => calls.wait(task_id, options),
  'dockets.create-docket': ({ dockets }, _, request, options) => dockets.createV1(request, options),
  'dockets.create-docket-v2': ({ dockets }, _, request, options) => dockets.create(request, options),
  'dockets.get-docket': ({ dockets }, { docket_id }, _, options) => dockets.get(docket_id, options),
  'dockets.wait-for-docket': ({ dockets }, { docket_id }, _, options) => dockets.wait(docket_id, options),
  [BATCH]: ({ dockets }, { requests }, _, options) => dockets.createEach(requests.map(taken), options),
  'webhooks.verify-docket-completed': ({ webhooks }, { body }, _, options) => webhooks.verify(body, options),
};

function begun(client, { operation, arguments: own }, given) {
  const { options: { account, deadline_ms, max_attempts } = {}, wait, timeout_ms } = own;
  const options = { account, maxRetries: max_attempts ? max_attempts - 1 : undefined, ...given };
  if (operation === BATCH) Object.assign(options, { timeoutMs: timeout_ms, requestTimeoutMs: deadline_ms });
  else if (!wait) options.timeoutMs = deadline_ms;
  else Object.assign(options, { timeoutMs: wait.timeout_ms, pollTimeoutMs: deadline_ms, notFoundIsPending: wait.not_found_is_pending });
  return OPERATIONS[operation](client, own, taken(own.request ?? own.config ?? own), options);
}

/** A record of the table as the package takes it. */
function taken(record) {
  const isFree = (name) => ['call_context', 'tools', 'extra'].includes(name);
  const members = Object.entries(record).map(([name, value]) => {
    const isRecord = typeof value === 'object' && value !== null && !isFree(name);
    return [camel(name), isRecord ? taken(value) : value];
  });
  return Object.fromEntries(members.filter(([name]) => !['options', 'wait'].includes(name)));
}

const STATUSES = ['OPEN', 'IN_PROGRESS', 'COMPLETED', 'ANSWERED', 'NO_ANSWER', 'BUSY'];

/** A value of the package as the table has it. */
function machine(value, name = '', parent = '') {
  if (Array.isArray(value)) return value.map((it) => machine(it, name));
  if (typeof value !== 'object' || value === null) {
    const isStatus = typeof value === 'string' && (name === 'callStatus' || (name === 'status' && parent !== 'userInterest'));
    return !isStatus ? value : STATUSES.includes(value) ? value.toLowerCase() : { other: value };
  }
  if (value instanceof VoiceCallingError) return machineError(value);
  if ('ok' in value) return value.ok ? { ok: machine(value.value) } : { error: machineError(value.error) };
  const { kind, ...rest } = value;
  if (kind === 'not-a-completion') return 'not_a_completion';
  if (kind === 'confirmed' || kind === 'contradicted') return { [kind]: machine(rest) };
  const isFree = (member, it) => ['callContext', 'metadata', 'callMetadata'].includes(member) || (member === 'attempts' && it[0]?.startedMs === undefined);
  const members = Object.entries(value).filter(([member, it]) => member !== 'fromLedger' || it);
  return Object.fromEntries(members.map(([member, it]) => [snake(member), isFree(member, it) ? it : machine(it, member, name)]));
}

function machineError(error, operation = '') {
  if (error.constructor.kind !== error.kind) throw error;
  const { kind, nextStep, message, problem, response, attempts, mayHaveCreated } = error;
  const named = problem && { ...problem, subject: subjectOf(problem.subject, operation) };
  return { kind, problem: named, ...machine({ nextStep, message, response, attempts, mayHaveCreated }) };
}

/** The name that the WIT has for an argument: of a member of the caller's JSON only the first part. */
function subjectOf(subject, operation) {
  if (subject.startsWith('VOICE_CALLING_')) return subject;
  if (subject === 'timeoutMs' && operation === BATCH) return 'timeout-ms';
  if (subject === 'timeoutMs' && operation.includes('.wait-')) return 'wait.timeout-ms';
  const options = { timeoutMs: 'options.deadline-ms', account: 'options.account' };
  const [first, ...rest] = subject.split('.');
  return options[subject] ?? [snake(first).replaceAll('_', '-'), ...rest].join('.');
}

/** A create with a key, after the earlier calls with it, each by a client of its own. */
function playedOnce(row) {
  return withLedger(async (ledger) => {
    const given = { key: row.once.key };
    for (const earlier of row.once.earlier) await played({ ...row, arguments: earlier }, { ledger }, given);
    return played(row, { ledger }, given);
  });
}

/** A program that is interrupted, leaves its batch, or ends, at a step of the first request. */
async function playedIn({ does, at }, row) {
  const isBatch = row.operation === BATCH;
  const isTooLate = does === 'close' ? at === 'end' : !isBatch && ['end', 'result'].includes(at);
  if (isTooLate) return { unsupported: 'whether an answer that has arrived was read before is not known to a program' };
  const relay = await relayTo(row.settings.VOICE_CALLING_BASE_URL, at);
  const settings = { ...row.settings, VOICE_CALLING_BASE_URL: relay.url };
  const reached = relay.reached(isBatch ? row.arguments.requests.length : 1);
  try {
    if (does === 'close') return { value: null, log: await logOfProgram(row, at, settings, reached) };
    const logger = keeping();
    const controller = new AbortController();
    if (at === 'before-request') controller.abort(REASON);
    const outcome = await played({ ...row, settings }, { logger }, { signal: controller.signal }, async (begun) => {
      const results = [];
      if (does === 'leave') {
        for await (const result of begun) {
          results[result.index] = result;
          break;
        }
        return Array.from(row.arguments.requests, (_, index) => results[index] ?? null);
      }
      if (isBatch) begun.start();
      if (at !== 'before-request') await reached;
      controller.abort(REASON);
      relay.release();
      return begun;
    });
    return { ...outcome, log: logger.lines };
  } finally {
    relay.close();
  }
}

/** What a program writes that ends once its first request is at a step. */
async function logOfProgram({ operation, arguments: own }, at, settings, reached) {
  const begin =
    operation === BATCH
      ? `client.dockets.createEach(${JSON.stringify(own.requests.map(taken))}, { timeoutMs: ${own.timeout_ms} }).start();`
      : `client.dockets.create(${JSON.stringify(taken(own))}).catch(() => {});`;
  const source = `
    import { VoiceClient } from 'voice-calling';
    const client = new VoiceClient();
    process.stdin.on('end', () => process.exit()).resume();
    ${at === 'before-request' ? 'process.exit();' : begin}`;
  const { stderr } = await ran(source, settings, reached);
  return stderr.split('\n');
}

/** A relay to the service of a row, which holds the answer to the first request at a step. */
async function relayTo(baseUrl, at) {
  const { pathname } = new URL(baseUrl);
  const waiting = [];
  let received = 0;
  let isFirst = true;
  let isAtStep = false;
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const look = () => waiting.forEach(({ count, resolve }) => isAtStep && received >= count && resolve());
  const server = http.createServer(async (request, response) => {
    const isHeld = isFirst;
    isFirst = false;
    const chunks = await request.toArray();
    const { method, url, headers } = request;
    const answer = await fetch(new URL(url, baseUrl), { method, headers: { ...headers, host: undefined }, body: Buffer.concat(chunks) });
    const body = Buffer.from(await answer.arrayBuffer());
    const steps = {
      head: () => response.flushHeaders(),
      body: () => response.write(body.subarray(0, body.length / 2)),
      end: () => response.end(body),
      result: () => response.end(body),
    };
    response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length });
    received += 1;
    if (isHeld) {
      steps[at]?.();
      isAtStep = true;
      look();
      await released;
    }
    look();
    if (!response.writableEnded) response.end(at === 'body' && isHeld ? body.subarray(body.length / 2) : body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reached = (count) => new Promise((resolve) => waiting.push({ count, resolve }));
  const close = () => (release(), server.closeAllConnections(), server.close());
  return { url: `http://127.0.0.1:${server.address().port}${pathname}`, reached, release, close };
}
