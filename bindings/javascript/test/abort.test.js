/** Abort signals: nothing is sent after one, and what may have been created is reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { OutcomeUnknown } from 'voice-calling';
import { CREATED, DOCKET, DRIVERS, REQUEST, answerText, failure, pause, withBoth, withClient, withSockets } from './service.js';

const REASON = new Error('the user left');

/** A service that never answers, and a promise of its first `count` requests. */
function silent(test, count = 1) {
  let resolve;
  const received = new Promise((it) => (resolve = it));
  return withSockets((_socket, _request, service) => service.received === count && resolve(), (service) => test(service, received));
}

/** Resolves once the client has closed its connections. */
async function closed({ sockets }) {
  while (sockets.size > 0) await pause(1);
}

test('a create that is aborted in flight is of unknown outcome, with the reason as its cause', () =>
  silent((service, received) =>
    withClient(service.url, {}, async (client) => {
      const controller = new AbortController();
      const failed = failure(client.dockets.create(REQUEST, { signal: controller.signal }));
      await received;
      controller.abort(REASON);
      const error = await failed;
      assert.ok(error instanceof OutcomeUnknown, error.stack);
      assert.equal(error.cause, REASON);
      assert.deepEqual(error.attempts.map((it) => it.transportError), ['cancelled by the caller']);
      await closed(service);
      assert.equal(service.posts, 1);
    }),
  ));

test('a read that is aborted rejects with the reason, as fetch does', () =>
  silent((service, received) =>
    withClient(service.url, {}, async (client) => {
      const controller = new AbortController();
      const reads = [
        client.dockets.get(DOCKET, { signal: controller.signal }),
        client.agents.list('org-1', { signal: controller.signal }),
        client.dockets.waitFor(DOCKET, { timeoutMs: 60_000, signal: controller.signal }),
      ].map(failure);
      await received;
      controller.abort(REASON);
      assert.deepEqual(await Promise.all(reads), [REASON, REASON, REASON]);
    }),
  ));

const WAITS = {
  'dockets.waitFor': [(client, options) => client.dockets.waitFor(DOCKET, options), { body: CREATED }],
  'calls.waitForDetails': [(client, options) => client.calls.waitForDetails('t-1', options), { status: 404, body: {} }],
};

for (const [name, [wait, pending]] of Object.entries(WAITS)) {
  test(`${name} that is aborted in the pause after a pending answer rejects with the reason`, () =>
    withBoth(() => pending, { backoffMs: 60_000, maxBackoffMs: 60_000 }, async (client, { requests }) => {
      const controller = new AbortController();
      const onProgress = () => setImmediate(() => controller.abort(REASON));
      const options = { timeoutMs: 600_000, signal: controller.signal, onProgress };
      assert.equal(await failure(wait(client, options)), REASON);
      assert.equal(requests.length, 1);
    }));
}

test('a create that is aborted before it begins rejects with the reason, and is not sent', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const signal = AbortSignal.abort(REASON);
    assert.equal(await failure(client.dockets.create(REQUEST, { signal })), REASON);
    const controller = new AbortController();
    const failed = failure(client.withOptions({ signal: controller.signal }).dockets.create(REQUEST));
    controller.abort(REASON);
    assert.equal(await failed, REASON);
    assert.equal(requests.length, 0);
  }));

for (const [driver, Client] of Object.entries(DRIVERS)) {
  test(`${driver}: after an abort an answer that is here counts, and nothing is sent, although there is room for it`, () => {
    const controller = new AbortController();
    return withSockets(
      // The answer is on its way before this process, which is both sides, does anything else.
      (socket) => {
        socket.write(answerText());
        controller.abort(REASON);
      },
      (service) =>
        withClient(service.url, { maxInFlight: 1 }, async (client) => {
          const options = { timeoutMs: 5000, signal: controller.signal };
          const [first, second] = await client.dockets.createMany([REQUEST, REQUEST], options);
          assert.equal(first.value?.docketId, DOCKET);
          assert.equal(second.error.mayHaveCreated, false);
          assert.equal(service.posts, 1);
        }, Client),
    );
  });
}

test('200 calls that are aborted leave no timer and no socket', () =>
  silent((service, received) =>
    withClient(service.url, { maxInFlight: 200 }, async (client) => {
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const calls = Array.from({ length: 200 }, (_, i) =>
        failure(i % 2 ? client.dockets.create(REQUEST, options) : client.dockets.get(DOCKET, options)),
      );
      await received;
      controller.abort(REASON);
      const errors = await Promise.all(calls);
      assert.equal(errors.filter((error) => error === REASON).length, 100);
      assert.equal(errors.filter((error) => error instanceof OutcomeUnknown).length, 100);
      await closed(service);
      assert.match(inspect(client), /running: 0/);
      await pause(20);
      const alive = process.getActiveResourcesInfo();
      assert.deepEqual(alive.filter((it) => it === 'Timeout' || it === 'TCPSocketWrap'), []);
    }), 200));
