/** A batch gives each result as it comes, and loses none, however it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCKET, REQUEST, failure, logged, scripted } from './service.js';

const REASON = new Error('the user left');
const CREATED = { json: { docket_id: DOCKET } };
const NEVER = { afterMs: Infinity };
const OTHER = '11111111-1111-4111-8111-111111111111';
const ROWS = Array.from({ length: 6 }, (_, i) => ({ ...REQUEST, externalId: `crm-${i}` }));
const IN_TIME = { timeoutMs: 60_000 };

async function collected(batch) {
  const results = [];
  for await (const result of batch) results.push(result);
  return results;
}

test('results come as they are known, with the index of their request', async () => {
  const { client } = scripted([{ ...CREATED, afterMs: 300 }, { status: 422, afterMs: 100 }, { ...CREATED, afterMs: 200 }]);
  const batch = client.dockets.createMany(ROWS.slice(0, 3), IN_TIME);
  assert.deepEqual((await collected(batch)).map(({ index, ok }) => [index, ok]), [[1, false], [2, true], [0, true]]);
  assert.deepEqual((await batch).map(({ index }) => index), [0, 1, 2]);
  assert.deepEqual((await collected(batch)).map(({ index }) => index), [1, 2, 0]);
});

test('a refused batch is an error for each who reads it, and a warning only if no one does', async () => {
  const { client, service } = scripted();
  const refused = () => client.dockets.createMany([{ ...REQUEST, agentId: 'seven' }], IN_TIME);
  let batch;
  const lines = await logged(async () => {
    const read = [failure(refused()), failure(collected(refused()))];
    read.push(new Promise((resolve) => void refused().catch(resolve).finally(() => {})));
    for (const error of await Promise.all(read)) assert.equal(error.problem.subject, 'requests[0].agentId');
    batch = refused();
    await new Promise((resolve) => process.once('warning', resolve));
  });
  await assert.rejects(batch, { name: 'InvalidInput' });
  const warnings = lines.filter((line) => line.startsWith('a batch that is not awaited failed: '));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /InvalidInput: requests\[0\]\.agentId: found "seven"/);
  assert.deepEqual(service.requests, []);
});

/** The ways out of a loop. */
const WAYS = {
  break: async (batch) => {
    for await (const _ of batch) break;
  },
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
    const batch = client.dockets.createMany(ROWS, IN_TIME);
    const lines = await logged(() => leave(batch));
    const outcomes = batch.results.map(({ ok, error }) => (ok ? 'created' : error.mayHaveCreated));
    assert.deepEqual(outcomes, ['created', 'created', true, true, false, false]);
    assert.equal(service.requests.length, 5);
    assert.ok(service.elapsedMs <= 400);
    assert.equal(lines.length, 3, lines.join(''));
    const [created, ...unknown] = lines.toSorted();
    assert.match(created, new RegExp(`requests\\[1\\] \\(externalId "crm-1"\\): created docket ${OTHER}`));
    assert.match(unknown[0], /requests\[2\] \(externalId "crm-2"\): OutcomeUnknown: /);
    assert.match(unknown[1], /requests\[3\] \(externalId "crm-3"\): OutcomeUnknown: /);
  });
}

test('what came before a loop was left is logged as well; if the batch is awaited, nothing is', async () => {
  const linesOf = async (isAwaited) => {
    const { client } = scripted([], { maxInFlight: 6 });
    const batch = client.dockets.createMany(ROWS, IN_TIME);
    const all = isAwaited ? batch.then((results) => results) : batch.finally(() => {});
    return logged(async () => {
      for await (const _ of batch) {
        await all;
        break;
      }
    });
  };
  assert.equal((await linesOf(false)).length, 5);
  assert.deepEqual(await linesOf(true), []);
});

test('an abort ends a batch whose loop was left at once', async () => {
  const { client, service } = scripted([CREATED, NEVER], { maxInFlight: 2 });
  const controller = new AbortController();
  const batch = client.dockets.createMany(ROWS, { ...IN_TIME, signal: controller.signal });
  const lines = await logged(async () => {
    for await (const _ of batch) {
      setImmediate(() => controller.abort(REASON));
      break;
    }
  });
  assert.match(lines.join(), /requests\[1\] \(externalId "crm-1"\): OutcomeUnknown/);
  assert.equal(service.elapsedMs, 0);
});

test('a batch that is left or aborted before it begins sends nothing', async () => {
  const { client, service } = scripted();
  const batch = client.dockets.createMany([REQUEST], IN_TIME);
  await batch[Symbol.asyncIterator]().return();
  assert.equal(batch.results[0].error.mayHaveCreated, false);
  const options = { ...IN_TIME, signal: AbortSignal.abort(REASON) };
  assert.equal(await failure(client.dockets.createMany([REQUEST], options)), REASON);
  assert.equal(service.requests.length, 0);
});
