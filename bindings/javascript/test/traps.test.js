/** Failures of the client without I/O, or of the driver's own step: every caller gets an error. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { clock } from '../src/clock.js';
import { NodeHttp } from '../src/node_http.js';
import { DOCKET, REQUEST, TOKEN, failure, withBoth } from './service.js';

/** A transport on a clock that can be stopped: the next step breaks then. */
function stoppable() {
  let isStopped = false;
  const date = () => {
    if (isStopped) throw new Error('the clock stopped');
    return clock.date();
  };
  const transport = Object.assign(new NodeHttp({}), { clock: { ...clock, date } });
  return { transport, stop: () => (isStopped = true), restart: () => (isStopped = false) };
}

/** `answer(stop, request)` is what the service does. */
function withStoppingClock(options, answer, test) {
  const { transport, stop, restart } = stoppable();
  return withBoth((...request) => answer(stop, ...request), { transport, ...options }, (client, service) =>
    test(client, service, restart),
  );
}

test('a create under way when it breaks is of unknown outcome, a read is not; the next call works', () =>
  withStoppingClock({}, (stop, _, __, nth) => {
    if (nth === 2) stop();
    return nth <= 2 ? {} : { body: { docket_id: DOCKET } };
  }, async (client, { requests }, restart) => {
    await client.dockets.create(REQUEST);
    const [created, read] = await Promise.all([
      failure(client.dockets.create(REQUEST)),
      failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000 })),
    ]);
    assert.equal(created.name, 'OutcomeUnknown', created.stack);
    assert.deepEqual([created.isPermanent, created.mayHaveCreated], [true, true]);
    assert.match(created.message, /may have been processed/);
    assert.equal(read.name, 'ExecutionFailed', read.stack);
    assert.equal(read.kind, 'execution-failed');
    assert.deepEqual([read.isPermanent, read.mayHaveCreated], [false, false]);
    for (const { cause } of [created, read]) assert.equal(cause.message, 'the clock stopped');
    restart();
    assert.equal((await client.dockets.get(DOCKET)).docketId, DOCKET);
    assert.equal(requests.filter(({ method }) => method === 'POST').length, 2);
  }));

test('a batch keeps what it has when it breaks, and each request is reported', () => {
  const answer = (stop, _, __, nth) => {
    if (nth === 1) return {};
    if (nth === 4) return stop();
    return new Promise(() => {});
  };
  return withStoppingClock({ maxInFlight: 3 }, answer, async (client, { requests }) => {
    const results = await client.dockets.createMany(Array(6).fill(REQUEST), { timeoutMs: 60_000 });
    const outcomes = results.map(({ ok, error }) => (ok ? 'created' : error.name));
    assert.deepEqual(outcomes, ['created', ...Array(3).fill('OutcomeUnknown'), 'ExecutionFailed', 'ExecutionFailed']);
    assert.equal(requests.length, 4);
  });
});

test('an answer to an exchange of a lost instance does not reach the next instance', async () => {
  const { stop, restart, transport: { clock } } = stoppable();
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
  stop();
  exchanges[0].head(200, []);
  const late = client.dockets.get(DOCKET);
  assert.equal((await failure(late)).name, 'ExecutionFailed');
  assert.equal((await lost).name, 'OutcomeUnknown');
  restart();
  const created = client.dockets.create(REQUEST);
  while (exchanges.length === 1) await new Promise(setImmediate);
  const answer = (exchange, docket_id) => {
    exchange.head(200, []);
    exchange.chunk(Buffer.from(JSON.stringify({ docket_id, status: 'OPEN', created: true })));
    exchange.end();
  };
  answer(exchanges[0], '00000000-0000-4000-8000-000000000000');
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
  answer(exchanges[1], DOCKET);
  assert.equal((await created).docketId, DOCKET);
  await client.close();
});

test('a real trap, and a module that cannot be used, are reported with their cause, and nothing was created', async () => {
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  for (const [bytes, Cause] of [[trapping(), WebAssembly.RuntimeError], [empty, TypeError]]) {
    const wasm = new WebAssembly.Module(bytes);
    const client = new VoiceClient({ baseUrl: 'http://127.0.0.1:1', token: TOKEN, env: {}, wasm });
    const calls = [() => client.dockets.create(REQUEST), () => client.dockets.create(REQUEST), () => client.webhooks.parse('{}')];
    for (const call of calls) {
      const error = await failure(call());
      assert.equal(error.name, 'ExecutionFailed', error.stack);
      assert.equal(error.mayHaveCreated, false);
      assert.equal(error.message.includes('nothing was created'), call !== calls[2]);
      assert.ok(error.cause instanceof Error);
    }
    assert.ok((await failure(client.dockets.create(REQUEST))).cause instanceof Cause);
  }
});

/** A module that takes its settings and traps in the first step. */
function trapping() {
  const text = (value) => [value.length, ...Buffer.from(value)];
  const section = (id, ...content) => [id, content.length, ...content];
  const body = (...code) => [code.length + 2, 0, ...code, 0x0b];
  const ok = '{"Ok":null}';
  const exports = ['mailbox', 'reserve', 'configure', 'step'].map((name, index) => [...text(name), 0, index]);
  const mailbox = [64, 0, 16, ok.length].flatMap((number) => [number, 0, 0, 0]);
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, 3, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7f, 0, 0x60, 0, 0),
    ...section(3, 4, 0, 1, 2, 2),
    ...section(5, 1, 0, 2),
    ...section(7, 5, ...text('memory'), 2, 0, ...exports.flat()),
    // mailbox: 0, where the data is; reserve and configure: nothing; step: unreachable.
    ...section(10, 4, ...body(0x41, 0), ...body(), ...body(), ...body(0x00)),
    ...section(11, 1, 0, 0x41, 0, 0x0b, 16 + ok.length, ...mailbox, ...Buffer.from(ok)),
  ]);
}
