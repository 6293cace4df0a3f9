/** A batch gives each result as it comes, and loses none, however it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { DOCKET, REQUEST, failure, logged, withBoth } from './service.js';

const REASON = new Error('the user left');
const CREATED = { json: { docket_id: DOCKET } };
const NEVER = { afterMs: Infinity };

function scripted(script, options) {
  const service = new ScriptedService(script);
  return { service, client: new VoiceClient({ ...service.options, ...options }) };
}

test('results come as they are known, with the index of their request', async () => {
  const { client } = scripted([{ ...CREATED, afterMs: 300 }, { status: 422, afterMs: 100 }, { ...CREATED, afterMs: 200 }]);
  const batch = client.dockets.createMany(Array(3).fill(REQUEST), { timeoutMs: 5000 });
  const seen = [];
  for await (const { index, ok } of batch) seen.push([index, ok]);
  assert.deepEqual(seen, [[1, false], [2, true], [0, true]]);
  assert.deepEqual((await batch).map(({ index }) => index), [0, 1, 2]);
  const again = [];
  for await (const { index } of batch) again.push(index);
  assert.deepEqual(again, [1, 2, 0]);
});

test('a refused batch that nobody awaits is a warning; one that is awaited is none', async () => {
  const warnings = [];
  const hear = (warning) => warnings.push(warning.message);
  process.on('warning', hear);
  const { client, service } = scripted();
  const wrong = { ...REQUEST, agentId: 'seven' };
  await failure(client.dockets.createMany([wrong], { timeoutMs: 5000 }));
  await client.dockets.createMany([wrong], { timeoutMs: 5000 }).catch(() => {});
  await failure((async () => {
    for await (const result of client.dockets.createMany([wrong], { timeoutMs: 5000 })) assert.fail(result);
  })());
  const batch = client.dockets.createMany([wrong], { timeoutMs: 5000 });
  while (warnings.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await assert.rejects(batch, { name: 'InvalidInput' });
  process.off('warning', hear);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /^a batch that nobody awaits failed: InvalidInput: requests\[0\]\.agentId: found "seven"/);
  assert.deepEqual(service.requests, []);
});

const ROWS = Array.from({ length: 6 }, (_, i) => ({ ...REQUEST, externalId: `crm-${i}` }));
const OTHER = '11111111-1111-4111-8111-111111111111';

/** The ways out of a loop. */
const WAYS = {
  break: async (batch) => {
    for await (const _ of batch) break;
  },
  throw: (batch) =>
    failure((async () => {
      for await (const _ of batch) throw REASON;
    })()),
  'return, while it waits for a result': async (batch) => {
    const results = batch[Symbol.asyncIterator]();
    await results.next();
    const next = results.next();
    assert.deepEqual(await results.return('left'), { done: true, value: 'left' });
    assert.equal((await next).done, false);
  },
};

for (const [way, leave] of Object.entries(WAYS)) {
  test(`leaving the loop (${way}) finishes what is open, begins nothing more, and logs what no one was given`, async () => {
    const script = [CREATED, { json: { docket_id: OTHER }, afterMs: 300 }, { status: 503, afterMs: 100 }, { lost: 'reset', afterMs: 400 }, { status: 422, afterMs: 100 }];
    const { client, service } = scripted(script, { maxInFlight: 4 });
    const batch = client.dockets.createMany(ROWS, { timeoutMs: 60_000 });
    const lines = await logged(() => leave(batch));
    const told = batch.results.map(({ ok, error }) => (ok ? 'created' : error.mayHaveCreated));
    assert.deepEqual(told, ['created', 'created', true, true, false, false]);
    assert.equal(service.requests.length, 5);
    assert.ok(service.elapsedMs <= 400);
    assert.equal(lines.length, 3, lines.join(''));
    const [created, ...unknown] = lines.toSorted();
    assert.match(created, new RegExp(`requests\\[1\\] \\(externalId "crm-1"\\): created docket ${OTHER}`));
    assert.match(unknown[0], /requests\[2\] \(externalId "crm-2"\): OutcomeUnknown: /);
    assert.match(unknown[1], /requests\[3\] \(externalId "crm-3"\): OutcomeUnknown: /);
  });
}

test('what came before a loop was left is logged as well; where the batch is awaited, nothing is', async () => {
  const left = async (isAwaited) => {
    const { client } = scripted([], { maxInFlight: 6 });
    const batch = client.dockets.createMany(ROWS, { timeoutMs: 60_000 });
    const all = isAwaited ? batch.then((results) => results) : batch.finally(() => {});
    return logged(async () => {
      for await (const _ of batch) {
        await all;
        break;
      }
    });
  };
  assert.equal((await left(false)).length, 5);
  assert.deepEqual(await left(true), []);
});

test('an abort ends a batch whose loop was left at once', async () => {
  const { client, service } = scripted([CREATED, NEVER], { maxInFlight: 2 });
  const controller = new AbortController();
  const batch = client.dockets.createMany(ROWS, { timeoutMs: 60_000, signal: controller.signal });
  const lines = await logged(async () => {
    for await (const _ of batch) {
      setImmediate(() => controller.abort(REASON));
      break;
    }
  });
  assert.match(lines.join(), /requests\[1\] \(externalId "crm-1"\): OutcomeUnknown/);
  assert.equal(service.elapsedMs, 0);
});

test('leaving the loop before it has begun sends nothing', async () => {
  const { client, service } = scripted();
  const batch = client.dockets.createMany([REQUEST], { timeoutMs: 5000 });
  await batch[Symbol.asyncIterator]().return();
  assert.equal(batch.results[0].error.mayHaveCreated, false);
  assert.equal(service.requests.length, 0);
});

test('an abort ends the batch, and each request is reported with the reason', async () => {
  const { client } = scripted([CREATED, NEVER, NEVER], { maxInFlight: 2 });
  const controller = new AbortController();
  const { signal } = controller;
  const batch = client.dockets.createMany(Array(4).fill(REQUEST), { timeoutMs: 5000, signal });
  const first = await batch[Symbol.asyncIterator]().next();
  assert.equal(first.value.value.docketId, DOCKET);
  controller.abort(REASON);
  const [created, ...others] = await batch;
  assert.equal(created.ok, true);
  assert.deepEqual(others.map(({ error }) => [error.name, error.cause]), [
    ['OutcomeUnknown', REASON],
    ['OutcomeUnknown', REASON],
    ['TimedOut', REASON],
  ]);
});

test('a batch that is aborted before it begins rejects with the reason, and sends nothing', async () => {
  const { client, service } = scripted();
  const options = { timeoutMs: 5000, signal: AbortSignal.abort(REASON) };
  assert.equal(await failure(client.dockets.createMany([REQUEST], options)), REASON);
  assert.equal(service.requests.length, 0);
});

test('an error of the whole batch is reported to waiting and to iterating callers', async () => {
  const { client } = scripted();
  const batch = client.dockets.createMany([REQUEST], {});
  assert.equal((await failure(batch)).problem.subject, 'options.timeoutMs');
  const loop = async () => {
    for await (const result of batch) assert.fail(result);
  };
  assert.equal((await failure(loop())).problem.subject, 'options.timeoutMs');
  let caught;
  await client.dockets.createMany('x', { timeoutMs: 1 }).catch((error) => (caught = error)).finally(() => {});
  assert.equal(caught.problem.subject, 'requests');
});

test('1000 requests are answered in one batch', () =>
  withBoth(() => ({}), { maxInFlight: 200 }, async (client, { requests }) => {
    const results = await client.dockets.createMany(Array(1000).fill(REQUEST), { timeoutMs: 60_000 });
    assert.ok(results.every(({ ok }) => ok));
    assert.equal(requests.length, 1000);
  }));
