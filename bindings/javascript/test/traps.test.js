/** Failures of the client without I/O, or of the driver's own step: every caller gets an error. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { clock as systemClock } from '../src/clock.js';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, scripted } from './service.js';

/** Stops a clock: the next step of its client breaks. `delete clock.date` has it go on. */
function stop(clock) {
  clock.date = () => {
    throw new Error('the clock stopped');
  };
}

test('a create that was sent when it breaks is of unknown outcome, one that was not and a read are not; the next call works', async () => {
  const script = [undefined, () => stop(service.clock), undefined, { notSent: 'refused' }, { json: { docket_id: DOCKET } }];
  const { client, service } = scripted(script);
  await client.dockets.create(REQUEST);
  const [created, read, unsent] = await Promise.all([
    failure(client.dockets.create(REQUEST)),
    failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000 })),
    failure(client.dockets.create(REQUEST)),
  ]);
  assert.equal(created.name, 'OutcomeUnknown', created.stack);
  assert.deepEqual([created.isPermanent, created.mayHaveCreated], [true, true]);
  assert.match(created.message, /may have been processed/);
  for (const error of [read, unsent]) {
    assert.equal(error.name, 'ExecutionFailed', error.stack);
    assert.equal(error.kind, 'execution-failed');
    assert.deepEqual([error.isPermanent, error.mayHaveCreated], [false, false]);
  }
  for (const { cause } of [created, read, unsent]) assert.equal(cause.message, 'the clock stopped');
  delete service.clock.date;
  assert.equal((await client.dockets.get(DOCKET)).docketId, DOCKET);
  assert.equal(service.requests.filter(({ method }) => method === 'POST').length, 3);
});

test('a batch keeps what it has when it breaks, and each request is reported', async () => {
  const never = { afterMs: Infinity };
  const { client, service } = scripted([undefined, never, never, () => stop(service.clock)], { maxInFlight: 3 });
  const results = await client.dockets.createMany(Array(6).fill(REQUEST), { timeoutMs: 60_000 });
  const outcomes = results.map(({ ok, error }) => (ok ? 'created' : error.name));
  assert.deepEqual(outcomes, ['created', ...Array(3).fill('OutcomeUnknown'), 'ExecutionFailed', 'ExecutionFailed']);
  assert.equal(service.requests.length, 4);
});

test('what was created is reported as that, although its result cannot be made', async () => {
  const { freeze } = Object;
  const failOnce = () => {
    Object.freeze = () => {
      Object.freeze = freeze;
      throw new Error('there is no memory');
    };
  };
  const { client } = scripted([failOnce, failOnce]);
  const error = await failure(client.dockets.create(REQUEST));
  const [result] = await client.dockets.createMany([REQUEST], { timeoutMs: 1000 });
  for (const { name, mayHaveCreated, cause } of [error, result.error]) {
    assert.deepEqual([name, mayHaveCreated, cause.message], ['OutcomeUnknown', true, 'there is no memory']);
  }
});

test('an answer to an exchange of a lost instance does not reach the next instance', async () => {
  const clock = Object.create(systemClock);
  const exchanges = [];
  const transport = {
    clock,
    send(_, exchange) {
      exchanges.push(exchange);
      return () => {};
    },
  };
  const client = new VoiceClient({ baseUrl: 'http://127.0.0.1:1', token: TOKEN, env: {}, transport });
  const lost = failure(client.dockets.create(REQUEST));
  while (exchanges.length === 0) await new Promise(setImmediate);
  stop(clock);
  exchanges[0].head(200, []);
  const late = client.dockets.get(DOCKET);
  assert.equal((await failure(late)).name, 'ExecutionFailed');
  assert.equal((await lost).name, 'OutcomeUnknown');
  delete clock.date;
  const created = client.dockets.create(REQUEST);
  while (exchanges.length === 1) await new Promise(setImmediate);
  const answer = (exchange, docket_id) => {
    exchange.head(200, []);
    exchange.chunk(Buffer.from(JSON.stringify({ ...CREATED, docket_id })));
    exchange.end();
  };
  answer(exchanges[0], '00000000-0000-4000-8000-000000000000');
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  answer(exchanges[1], DOCKET);
  assert.equal((await created).docketId, DOCKET);
  await client.close();
});
