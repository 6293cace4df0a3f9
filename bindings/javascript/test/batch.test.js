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

test('a loop is given results as they come, with the index of their request; `await` has them in their order; each once', async () => {
  const begun = () => {
    const { client } = scripted([{ ...CREATED, afterMs: 300 }, { status: 422, afterMs: 100 }, { ...CREATED, afterMs: 200 }]);
    return client.dockets.createMany(ROWS.slice(0, 3), IN_TIME);
  };
  const looped = begun();
  assert.deepEqual((await collected(looped)).map(({ index, ok }) => [index, ok]), [[1, false], [2, true], [0, true]]);
  const awaited = begun();
  assert.deepEqual((await awaited).map(({ index }) => index), [0, 1, 2]);
  assert.equal(await awaited, await awaited);
  for (const read of [failure(looped), failure(collected(looped)), failure(collected(awaited))]) {
    assert.match((await read).message, /a batch is read once/);
  }
});

test('a batch whose service fails stops, and what it did not begin may be sent later', async () => {
  const { client, service } = scripted(() => ({ lost: 'reset' }));
  const errors = (await client.dockets.createMany(ROWS, IN_TIME)).map(({ error }) => error);
  assert.deepEqual(errors.map(({ name }) => name), [...Array(5).fill('OutcomeUnknown'), 'NotBegun']);
  const { isPermanent, nextStep } = errors[5];
  assert.deepEqual([isPermanent, nextStep, service.requests.length], [false, 'retry-later', 5]);
});

test('leaving the loop finishes what is open, begins nothing more, and logs what no one was given', async () => {
  const script = [CREATED, { json: { docket_id: OTHER }, afterMs: 300 }, { status: 503, afterMs: 100 }, { lost: 'reset', afterMs: 400 }, { status: 422, afterMs: 100 }];
  const { client, service } = scripted(script, { maxInFlight: 4 });
  const lines = await logged(async () => {
    for await (const _ of client.dockets.createMany(ROWS, IN_TIME)) break;
  });
  assert.equal(service.requests.length, 5);
  assert.ok(service.elapsedMs <= 400);
  assert.equal(lines.length, 3, lines.join(''));
  const [created, ...unknown] = lines.toSorted();
  assert.match(created, new RegExp(`requests\\[1\\] \\(externalId "crm-1"\\): created docket ${OTHER}`));
  assert.match(unknown[0], /requests\[2\] \(externalId "crm-2"\): OutcomeUnknown: /);
  assert.match(unknown[1], /requests\[3\] \(externalId "crm-3"\): OutcomeUnknown: /);
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
  await client.dockets.createMany([REQUEST], IN_TIME)[Symbol.asyncIterator]().return();
  const options = { ...IN_TIME, signal: AbortSignal.abort(REASON) };
  assert.equal(await failure(client.dockets.createMany([REQUEST], options)), REASON);
  assert.equal(service.requests.length, 0);
});
