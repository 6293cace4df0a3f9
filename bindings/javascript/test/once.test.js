/** Creates with keys: a program that was killed is run again, and calls no one twice. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { test as anyTest } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { clock } from '../src/clock.js';
import { CREATED, DOCKET, REQUEST, TOKEN, endOf, failure, ledgerTest as test, logged, pause, scripted, started, withService } from './service.js';

const KEY = 'crm-1001';
const ONCE = { once: KEY };
const IN_TIME = { timeoutMs: 60_000 };

/** A ledger of a user's own, in memory. `before` has what is done before a claim is answered. */
class OwnLedger {
  entries = new Map();
  before = [];
  /** Whether records fail. */
  isFull = false;
  #asked = 0;

  async claim({ key, function: fn }) {
    this.#asked++;
    await this.before.shift()?.();
    this.#asked--;
    const entry = this.entries.get(key);
    if (entry && entry.state !== 'free') return { entry };
    this.entries.set(key, { function: fn, state: 'begun', begun_ms: 0, answer: null, differs_in: null });
    return { taken: key };
  }

  async record(key, claimName, { state, answer }) {
    assert.equal(claimName, key);
    await pause(5);
    if (this.isFull) throw new Error('no room');
    Object.assign(this.entries.get(key), { state, answer });
  }

  /** Waits until everything has a record. */
  async recorded() {
    while (this.#asked > 0 || /begun/.test(this.states)) await pause(5);
  }

  get states() {
    return [...this.entries].map(([key, { state }]) => `${key} ${state}`).join();
  }

  async observe() {}
}

/** A program that creates a docket and prints what came of it. It may kill itself at a moment. */
const PROGRAM = `
  import { Agent } from 'node:http';
  import { VoiceClient } from 'voice-calling';
  const [ledger, baseUrl, moment] = process.argv.slice(1);
  const reach = (it) => it === moment && process.kill(process.pid, 'SIGKILL');
  class Watched extends Agent {
    addRequest(request, ...given) {
      reach('sent');
      request.prependListener('response', (response) => response.once('end', () => reach('recorded')));
      super.addRequest(request, ...given);
    }
  }
  const client = new VoiceClient({ baseUrl, token: '${TOKEN}', env: {}, ledger, agent: new Watched() });
  const created = client.dockets.create(${JSON.stringify(REQUEST)}, { once: '${KEY}' });
  console.log(await created.then(({ docketId, fromLedger }) => docketId + ' ' + fromLedger, ({ name }) => name));
  await client.close();
`;

async function program(path, url, moment = '') {
  const { stdout, signal } = await endOf(started(PROGRAM, [path, url, moment]));
  return signal ?? stdout.trim();
}

for (const [moment, sent] of [['sent', 0], ['recorded', 1]]) {
  test(`a create whose program is killed before it is ${moment} is unknown, and not sent again`, (path) =>
    withService(() => ({}), async ({ url, requests }) => {
      assert.equal(await program(path, url, moment), 'SIGKILL');
      assert.equal(await program(path, url), 'OutcomeUnknown');
      assert.equal(requests.length, sent);
    }));
}

test('what another process has in progress is refused, and its answer is returned later', (path) => {
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  return withService(() => answered, async ({ url, requests, server }) => {
    const end = program(path, url);
    await once(server, 'request');
    const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, ledger: path });
    const { name, kind, problem } = await failure(client.dockets.create(REQUEST, ONCE));
    assert.deepEqual([name, kind, problem.subject], ['InProgress', 'in-progress', 'options.key']);
    answer({});
    assert.equal(await end, `${DOCKET} false`);
    const { docketId, fromLedger } = await client.dockets.create(REQUEST, ONCE);
    assert.equal(`${docketId} ${fromLedger}`, `${DOCKET} true`);
    assert.equal(requests.length, 1);
  });
});

test('what the ledger refuses has the names of JavaScript, and a docket that is fetched resolves what is unknown', async (path) => {
  const seen = { docket_id: DOCKET, external_id: KEY, to_phone_number: REQUEST.toPhoneNumber, created_at: new Date().toISOString() };
  const { client, service } = scripted([{ json: CREATED }, { lost: 'reset' }, { json: seen }], { ledger: path });
  const create = (key, change) => client.dockets.create({ ...REQUEST, ...change }, { once: key });
  await create('docket', { externalId: 'x' });
  for (const [refused, found] of [
    [create('docket', { externalId: 'x', toPhoneNumber: '910000000000', callContext: {} }), 'a create with another toPhoneNumber'],
    [create('docket'), 'a create with another externalId'],
    [client.dockets.createV1(REQUEST, { once: 'docket' }), 'a call of dockets.create'],
  ]) {
    const { problem } = await failure(refused);
    assert.equal(problem.subject, 'options.key');
    assert.ok(problem.found.startsWith(`the key "docket", which returned {"docket_id":"${DOCKET}"`), problem.found);
    assert.ok(problem.found.endsWith(`}, of ${found}`), problem.found);
  }
  assert.equal((await failure(create(KEY))).name, 'OutcomeUnknown');
  const { name, message } = await failure(create(KEY));
  const { begunAt } = await client.ledger.get(KEY);
  assert.equal(name, 'OutcomeUnknown');
  assert.ok(message.includes(`the key "${KEY}" and these arguments was begun on ${begunAt.toUTCString()}`), message);
  await client.dockets.get(DOCKET);
  assert.equal((await create(KEY)).docketId, DOCKET);
  assert.equal(service.requests.length, 3);
  await client.close();
  assert.deepEqual(readdirSync(dirname(path)), ['calls.db']);
});

anyTest('an outcome that a ledger refuses is reported, with the id', async () => {
  const ledger = Object.assign(new OwnLedger(), { isFull: true });
  const { client } = scripted([{ json: CREATED }], { ledger });
  const lines = await logged(() => client.dockets.create(REQUEST, ONCE));
  assert.equal(ledger.states, `${KEY} begun`);
  const reported = `how the create with the key "${KEY}" ended (it has created ${DOCKET}) could not be recorded: no room`;
  assert.ok(lines.some((line) => line.includes(reported)));
});

anyTest('a ledger that cannot record a docket that was seen affects no call', async () => {
  const ledger = Object.assign(new OwnLedger(), { observe: () => Promise.reject(new Error('no room')) });
  const seen = { docket_id: DOCKET, external_id: KEY, to_phone_number: REQUEST.toPhoneNumber };
  const { client } = scripted([{ json: seen }], { ledger });
  const lines = await logged(() => client.dockets.get(DOCKET));
  assert.ok(lines.includes(`that docket ${DOCKET} was seen could not be recorded: no room`), lines.join('\n'));
});

anyTest('with a ledger of your own, a batch sends each key once, and requests without one each time', async () => {
  const { client, service } = scripted([], { ledger: new OwnLedger() });
  const keyed = [{ ...REQUEST, once: 'a' }, { ...REQUEST, externalId: 'a', once: 'b' }];
  const run = async (requests, once = undefined) => client.dockets.createMany(requests, { ...IN_TIME, once });
  const fromLedger = async (...given) => (await run(...given)).map(({ value }) => value.fromLedger);
  assert.deepEqual(await fromLedger([...keyed, REQUEST]), [false, false, false]);
  assert.deepEqual(await fromLedger([...keyed, REQUEST]), [true, true, false]);
  const named = [...keyed, { ...REQUEST, externalId: 'c' }];
  assert.deepEqual(await fromLedger(named, 'externalId'), [true, true, false]);
  assert.deepEqual(await fromLedger(named, 'externalId'), [true, true, true]);
  for (const [requests, once, subject, found] of [
    [[...keyed, { ...REQUEST, once: 'a' }], undefined, 'requests[2].once', '"a", as in requests[0].once'],
    [[...keyed, REQUEST], 'externalId', 'requests[2].externalId', 'nothing'],
  ]) {
    const { problem } = await failure(run(requests, once));
    assert.deepEqual([problem.subject, problem.found], [subject, found]);
  }
  assert.equal(service.requests.length, 5);
  const lines = await logged(() => run([...keyed, REQUEST, REQUEST, REQUEST]));
  assert.equal(lines.at(-1).trim(), 'requests[3] is equal to requests[2], and neither has a key (once): both are sent');
});

anyTest('a result is reported when it is recorded, and the time of a test stands still while a claim is pending', async () => {
  const ledger = new OwnLedger();
  const { client, service } = scripted([{ json: CREATED, afterMs: 100 }], { ledger });
  const read = client.dockets.get(DOCKET);
  ledger.before.push(() => pause(50).then(() => assert.equal(service.elapsedMs, 0)));
  await client.dockets.create(REQUEST, ONCE);
  assert.equal(ledger.states, `${KEY} done`);
  for await (const { index } of client.dockets.createMany([{ ...REQUEST, once: 'a' }, { ...REQUEST, once: 'b' }], IN_TIME)) {
    assert.equal(ledger.entries.get('ab'[index]).state, 'done');
  }
  await read;
});

const ENTRY = { function: 'dockets.create-docket-v2', state: 'done', begun_ms: 0, answer: JSON.stringify(CREATED) };

/** What a ledger may answer that is neither the name of a claim nor an entry. */
const ODD_ANSWERS = {
  nothing: undefined,
  'a name that is none': { taken: false },
  'both, one of them as null': { taken: null, entry: ENTRY },
  'an unknown state': { entry: { ...ENTRY, state: 'over' } },
  'a Date as its time': { entry: { ...ENTRY, begun_ms: new Date() } },
  'an object as its answer': { entry: { ...ENTRY, answer: CREATED } },
  'a number as an argument': { entry: { ...ENTRY, differs_in: 7 } },
};

for (const [what, answer] of Object.entries(ODD_ANSWERS)) {
  anyTest(`a ledger that answers with ${what} leads to no second call, and harms no other one`, async () => {
    const ledger = Object.assign(new OwnLedger(), { claim: async () => answer });
    const { client, service } = scripted([{ json: CREATED, afterMs: 100 }], { ledger });
    const other = client.dockets.create(REQUEST);
    const { problem, docketId } = await client.dockets.create(REQUEST, ONCE).catch((error) => error);
    assert.equal(problem?.subject ?? docketId, answer?.entry === ENTRY ? DOCKET : 'ledger');
    assert.equal((await other).docketId, DOCKET);
    assert.equal(service.requests.length, 1);
  });
}

for (const state of ['free', 'unknown']) {
  anyTest(`a create that is aborted is ${state} if it was ${state === 'free' ? 'not ' : ''}sent`, async () => {
    const ledger = new OwnLedger();
    const controller = new AbortController();
    const abort = () => controller.abort(KEY);
    if (state === 'free') ledger.before.push(() => abort() ?? pause(20));
    const { client } = scripted(() => (setImmediate(abort), { afterMs: Infinity }), { ledger });
    const error = await failure(client.dockets.create(REQUEST, { ...ONCE, signal: controller.signal }));
    assert.equal(error.cause ?? error, KEY);
    // What the ledger has not answered is not waited for.
    assert.equal(ledger.states, state === 'free' ? '' : `${KEY} unknown`);
    await ledger.recorded();
    assert.equal(ledger.states, `${KEY} ${state}`);
  });
}

anyTest('a batch that is left sends nothing more: what is claimed is free', async () => {
  const ledger = new OwnLedger();
  ledger.before.push(undefined, () => pause(20));
  const { client, service } = scripted([], { ledger, maxInFlight: 1 });
  const requests = ['a', 'b', 'c'].map((key) => ({ ...REQUEST, once: key }));
  for await (const _ of client.dockets.createMany(requests, IN_TIME)) break;
  await ledger.recorded();
  assert.equal(ledger.states, 'a done,b free');
  assert.equal(service.requests.length, 1);
});

anyTest('when the client fails, what was sent is given up and what was not is free, and a late answer is of no other claim', async () => {
  const ledger = new OwnLedger();
  let isStopped = false;
  const date = () => (isStopped ? assert.fail('the clock stopped') : clock.date());
  const { client } = scripted([], { ledger, transport: { clock: { ...clock, date }, send: () => () => {} } });
  const create = (key) => failure(client.dockets.create(REQUEST, { once: key, timeoutMs: 400 }));
  ledger.before = [undefined, () => pause(20).then(() => (isStopped = true)), () => pause(100)];
  const failed = ['a', 'b', 'c'].map(create);
  await failed[0];
  isStopped = false;
  // The last of them would be sent in time only by the answer to the last of those before.
  ledger.before = [undefined, undefined, () => pause(300)];
  const later = ['d', 'e', 'f'].map(create);
  assert.deepEqual((await Promise.all(failed)).map(({ name }) => name), ['OutcomeUnknown', 'ExecutionFailed', 'ExecutionFailed']);
  await ledger.recorded();
  assert.deepEqual(['a', 'b', 'c'].map((key) => ledger.entries.get(key).state), ['unknown', 'free', 'free']);
  assert.deepEqual((await Promise.all(later)).map(({ name }) => name), ['OutcomeUnknown', 'OutcomeUnknown', 'TimedOut']);
});
