/** Creates with keys: a program that was killed is run again, and calls no one twice. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { test as anyTest } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ledger } from 'voice-calling';
import { VoiceClient as FetchClient } from 'voice-calling/fetch';
import { clock } from '../src/clock.js';
import { test } from './ledger_path.js';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, logged, pause, scripted, withClient, withService } from './service.js';

const cwd = fileURLToPath(new URL('..', import.meta.url));
const KEY = 'crm-1001';
const ONCE = { once: KEY };
const IN_TIME = { timeoutMs: 60_000 };
const REASON = new Error('the user left');

/** A ledger of a user's own, in memory. What `before` has for a claim is done before it is answered. */
class OwnLedger {
  entries = new Map();
  before = [];

  async claim({ key, function: fn }) {
    await this.before.shift()?.();
    const entry = this.entries.get(key);
    if (entry && entry.state !== 'free') return { entry };
    this.entries.set(key, { function: fn, state: 'begun', begun_ms: 0, answer: null, differs_in: null });
    return { taken: key };
  }

  async record(key, claimName, { state, answer }) {
    assert.equal(claimName, key);
    await pause(5);
    Object.assign(this.entries.get(key), { state, answer });
  }

  forget(key) {
    this.entries.get(key).state = 'unknown';
  }

  async observe() {}

  get states() {
    return [...this.entries].map(([key, { state }]) => `${key} ${state}`).join();
  }
}

/** A program that creates a docket on `fetch`, prints what came of it, and may kill itself at a moment. */
const PROGRAM = `
  import { VoiceClient } from 'voice-calling/fetch';
  const [ledger, baseUrl, moment] = process.argv.slice(1);
  const reach = (it) => it === moment && process.kill(process.pid, 'SIGKILL');
  const client = new VoiceClient({ baseUrl, token: '${TOKEN}', env: {}, ledger, fetch: async (...given) => {
    reach('before it is sent');
    const response = await fetch(...given);
    await response.clone().text();
    reach('before it is recorded');
    return response;
  } });
  const created = client.dockets.create(${JSON.stringify(REQUEST)}, { once: '${KEY}' });
  console.log(await created.then(({ docketId, fromLedger }) => docketId + ' ' + fromLedger, ({ name }) => name));
  await client.close();
`;

function program(path, url, moment = 'never') {
  const given = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM, path, url, moment];
  return spawn(process.execPath, given, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function printedBy(child) {
  let text = '';
  child.stdout.on('data', (piece) => (text += piece));
  const [, signal] = await once(child, 'close');
  return signal ?? text.trim();
}

for (const [moment, sent] of Object.entries({ 'before it is sent': 0, 'before it is answered': 1, 'before it is recorded': 1 })) {
  test(`a create whose program is killed ${moment} is unknown, and not sent again`, (path) => {
    let child;
    const answer = () => moment === 'before it is answered' && child.kill('SIGKILL') && pause(50);
    return withService(answer, async ({ url, requests }) => {
      child = program(path, url, moment);
      assert.equal(await printedBy(child), 'SIGKILL');
      assert.equal(await printedBy(program(path, url)), 'OutcomeUnknown');
      assert.equal(requests.length, sent);
    });
  });
}

test('what another process has in progress is refused or waited for, and its answer is returned', (path) => {
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  return withService(() => answered, async ({ url, requests, server }) => {
    const printed = printedBy(program(path, url));
    await once(server, 'request');
    await withClient(url, { ledger: path }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST, ONCE));
      assert.deepEqual([error.name, error.kind, error.problem.subject], ['InProgress', 'in-progress', 'options.once']);
    });
    const ledger = new Ledger(path, { waitInProgress: true });
    await withClient(url, { ledger }, async (client) => {
      const waiting = client.dockets.create(REQUEST, ONCE);
      setTimeout(answer, 100, {});
      const { docketId, fromLedger } = await waiting;
      assert.deepEqual([docketId, fromLedger], [DOCKET, true]);
      assert.equal(await printed, `${DOCKET} false`);
    });
    assert.equal((await ledger.get(KEY)).createdId, DOCKET);
    await ledger.close();
    assert.equal(requests.length, 1);
  });
});

test('every create takes a key; what is done is returned, what is free is sent, another request is refused', async (path) => {
  const created = [];
  const { client, service } = scripted([{ status: 422 }], { ledger: path, onCreated: ({ id }) => created.push(id) });
  const creates = {
    docket: (options, change) => client.dockets.create({ ...REQUEST, ...change }, options),
    v1: (options) => client.dockets.createV1(REQUEST, options),
    call: (options) => client.calls.make({ fromAgentName: 'a', toPhoneNumber: '1' }, options),
    agent: (options) => client.agents.create({ agentName: 'a' }, options),
  };
  assert.equal((await failure(creates.docket({ once: 'docket' }))).name, 'Rejected');
  for (const [key, create] of Object.entries(creates)) {
    const first = await create({ once: key });
    const again = await create({ once: key });
    assert.deepEqual([first.fromLedger, again.fromLedger, again.rawJson], [false, true, first.rawJson]);
  }
  assert.equal(service.requests.length, 5);
  assert.equal(created.length, 4);
  for (const [refused, found] of [
    [creates.docket({ once: 'docket' }, { toPhoneNumber: '910000000000' }), 'a create with another toPhoneNumber'],
    [creates.docket({ once: 'docket' }, { callContext: {} }), 'a create with another callContext'],
    [creates.v1({ once: 'docket' }), 'a call of dockets.create'],
  ]) {
    const { problem } = await failure(refused);
    assert.deepEqual(problem, { subject: 'options.once', found: `the key "docket" of ${found}`, allowed: problem.allowed });
  }
  assert.equal(service.requests.length, 5);
  const { ledger } = client.withOptions({});
  await client.close();
  assert.equal((await ledger.get('call')).function, 'calls.make');
  await ledger.close();
});

test('a docket that is fetched resolves what is unknown', async (path) => {
  const seen = { docket_id: DOCKET, external_id: KEY, to_phone_number: REQUEST.toPhoneNumber };
  const { client } = scripted([{ lost: 'reset' }, { json: seen }], { ledger: path });
  assert.equal((await failure(client.dockets.create(REQUEST, ONCE))).name, 'OutcomeUnknown');
  assert.match((await failure(client.dockets.create(REQUEST, ONCE))).message, /its outcome is not known: nothing was sent now/);
  await client.dockets.get(DOCKET);
  assert.equal((await client.dockets.create(REQUEST, ONCE)).docketId, DOCKET);
  await client.close();
});

test('a ledger that cannot be used has nothing sent', async (path) => {
  writeFileSync(path, 'x'.repeat(5000));
  const { client, service } = scripted([], { ledger: new URL(`file://${path}`) });
  const error = await failure(client.dockets.create(REQUEST, ONCE));
  assert.deepEqual([error.name, error.problem.subject], ['ConfigurationProblem', 'ledger']);
  assert.match(error.problem.found, /calls\.db: file is not a database/);
  assert.equal(service.requests.length, 0);
});

anyTest('a batch sends each key once, and requests without one each time', async () => {
  const { client, service } = scripted([], { ledger: new OwnLedger() });
  const requests = [{ ...REQUEST, externalId: 'a' }, { ...REQUEST, externalId: 'a', once: 'b' }, REQUEST];
  const run = () => client.dockets.createMany(requests, { ...IN_TIME, once: 'externalId' });
  assert.deepEqual((await run()).map(({ value }) => value.fromLedger), [false, false, false]);
  assert.deepEqual((await run()).map(({ value }) => value.fromLedger), [true, true, false]);
  assert.equal(service.requests.length, 4);
  const twice = client.dockets.createMany([requests[0], { ...REQUEST, once: 'a' }], { ...IN_TIME, once: 'externalId' });
  const { problem } = await failure(twice);
  assert.deepEqual([problem.subject, problem.found], ['requests[1].once', '"a", as in requests[0].externalId']);
  const lines = await logged(() => client.dockets.createMany([{ ...REQUEST, once: 'c' }, REQUEST, REQUEST, REQUEST], IN_TIME));
  assert.equal(lines.at(-1), 'requests[2] is equal to requests[1], and neither has a key (once): both are sent');
});

anyTest('a result is reported after it is recorded, and the time of a test stands still while a claim is pending', async () => {
  const ledger = new OwnLedger();
  const { client, service } = scripted(({ method }) => (method === 'GET' ? { json: CREATED, afterMs: 100 } : undefined), { ledger });
  ledger.before.push(() => pause(50).then(() => assert.equal(service.elapsedMs, 0)));
  await Promise.all([client.dockets.get(DOCKET), client.dockets.create(REQUEST, ONCE).then(() => assert.equal(ledger.states, `${KEY} done`))]);
  for await (const { index } of client.dockets.createMany([{ ...REQUEST, once: 'a' }, { ...REQUEST, once: 'b' }], IN_TIME)) {
    assert.equal(ledger.entries.get('ab'[index]).state, 'done');
  }
});

anyTest('a create that is aborted is free if it was not sent, and unknown if it was; a batch that is left claims nothing more', async () => {
  const ledger = new OwnLedger();
  const { client, service } = scripted(() => ({ afterMs: Infinity }), { ledger });
  ledger.before.push(() => pause(20), undefined);
  for (const state of ['free', 'unknown']) {
    const controller = new AbortController();
    const failed = failure(client.dockets.create(REQUEST, { ...ONCE, signal: controller.signal }));
    while (ledger.before.length === 2 || (state === 'unknown' && service.requests.length === 0)) await pause(1);
    controller.abort(REASON);
    const error = await failed;
    assert.equal(error.cause ?? error, REASON);
    assert.equal(ledger.states, `${KEY} ${state}`);
  }
  ledger.entries.clear();
  ledger.before.push(undefined, () => pause(20));
  const other = scripted([], { ledger, maxInFlight: 1 });
  const keys = ['a', 'b', 'c'];
  for await (const _ of other.client.dockets.createMany(keys.map((it) => ({ ...REQUEST, once: it })), IN_TIME)) break;
  assert.equal(ledger.states, 'a done,b free');
  assert.equal(other.service.requests.length, 1);
});

anyTest('when the client fails, what was sent is given up and what was not is free', async () => {
  const ledger = new OwnLedger();
  let isStopped = false;
  const date = () => (isStopped ? assert.fail('the clock stopped') : clock.date());
  const sent = [];
  const send = (request) => {
    sent.push(request);
    return () => {};
  };
  const { client } = scripted([], { ledger, transport: { clock: { ...clock, date }, send } });
  const first = failure(client.dockets.create(REQUEST, { once: 'a' }));
  while (sent.length === 0) await pause(1);
  ledger.before.push(() => pause(20).then(() => (isStopped = true)));
  const second = failure(client.dockets.create(REQUEST, { once: 'b' }));
  assert.deepEqual([(await first).name, (await second).name], ['OutcomeUnknown', 'ExecutionFailed']);
  assert.equal(ledger.states, 'a unknown,b free');
  isStopped = false;
  assert.equal((await failure(client.dockets.create(REQUEST, { once: 'a' }))).name, 'OutcomeUnknown');
  assert.equal(sent.length, 1);
});

anyTest('on fetch a ledger may be one of your own; one that fails has nothing sent; a path needs node:sqlite', async () => {
  const { client, service } = scripted([], { ledger: new OwnLedger() }, FetchClient);
  await client.dockets.create(REQUEST, ONCE);
  assert.ok((await client.dockets.create(REQUEST, ONCE)).fromLedger);
  client.ledger.claim = () => Promise.reject(new Error('the store is away'));
  const error = await failure(client.dockets.create(REQUEST, ONCE));
  assert.deepEqual([error.problem.subject, error.problem.found], ['ledger', 'the store is away']);
  assert.equal(service.requests.length, 1);
  const { getBuiltinModule } = process;
  process.getBuiltinModule = () => undefined;
  try {
    assert.throws(() => new FetchClient({ ledger: 'calls.db' }), /ledger: found a runtime without node:sqlite/);
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
});
