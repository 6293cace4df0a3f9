/** A batch gives each result as it comes, and loses none, however it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { DOCKET, REQUEST, failure, withBoth } from './service.js';

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

test('leaving the loop ends the batch, and keeps what is known', async () => {
  const { client, service } = scripted([CREATED, NEVER, NEVER], { maxInFlight: 2 });
  const batch = client.dockets.createMany(Array(5).fill(REQUEST), { timeoutMs: 5000 });
  for await (const { ok } of batch) {
    assert.equal(ok, true);
    break;
  }
  const told = batch.results.map(({ ok, error }) => (ok ? 'created' : [error.name, error.mayHaveCreated]));
  const unknown = ['OutcomeUnknown', true];
  assert.deepEqual(told, ['created', unknown, unknown, ['TimedOut', false], ['TimedOut', false]]);
  assert.equal(service.requests.length, 3);
});

test('leaving the loop while it waits for a result ends the batch at once', async () => {
  const { client, service } = scripted([CREATED, { ...CREATED, afterMs: 1000 }], { maxInFlight: 1 });
  const batch = client.dockets.createMany(Array(5).fill(REQUEST), { timeoutMs: 60_000 });
  const results = batch[Symbol.asyncIterator]();
  await results.next();
  const next = results.next();
  assert.deepEqual(await results.return('left'), { done: true, value: 'left' });
  assert.equal((await next).done, false);
  assert.deepEqual(batch.results.map(({ ok, error }) => (ok ? 'created' : error.name)), [
    'created', 'OutcomeUnknown', 'TimedOut', 'TimedOut', 'TimedOut',
  ]);
  assert.equal(service.requests.length, 2);
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
