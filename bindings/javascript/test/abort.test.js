import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { NotFound, OutcomeUnknown } from 'voice-calling';
import { CREATED, DOCKET, DRIVERS, REQUEST, answerText, failure, withBoth, withClient, withService, withSockets } from './service.js';

const CREATING = {
  'dockets.create': (client, options) => client.dockets.create(REQUEST, options),
  'dockets.createV1': (client, options) => client.dockets.createV1(REQUEST, options),
  'calls.make': (client, options) =>
    client.calls.make({ fromAgentName: 'renewals', toPhoneNumber: '919876543210' }, options),
  'agents.create': (client, options) => client.agents.create({ agentName: 'renewals' }, options),
};

const REASON = new Error('the user left');

/** A service that never answers, and a promise of its first request. */
function silent(test) {
  let received;
  const first = new Promise((resolve) => (received = resolve));
  return withSockets(received, (service) => test(service, first));
}

for (const [name, create] of Object.entries(CREATING)) {
  test(`${name} that is aborted in flight is of unknown outcome`, () =>
    silent((service, first) =>
      withClient(service.url, {}, async (client) => {
        const controller = new AbortController();
        const failed = failure(create(client, { signal: controller.signal }));
        await first;
        controller.abort(REASON);
        const error = await failed;
        assert.ok(error instanceof OutcomeUnknown, error.stack);
        assert.equal(error.cause, REASON);
        assert.equal(error.attempts.length, 1);
        assert.equal(error.attempts[0].transportError, 'cancelled by the caller');
        assert.equal(error.isPermanent, true);
        assert.equal(error.mayHaveCreated, true);
        await closed(service);
        assert.equal(service.posts, 1);
      }),
    ));
}

test('a create whose signal times out in flight is of unknown outcome', () =>
  silent((service) =>
    withClient(service.url, {}, async (client) => {
      const error = await failure(client.dockets.create(REQUEST, { signal: AbortSignal.timeout(50) }));
      assert.ok(error instanceof OutcomeUnknown, error.stack);
      assert.equal(error.cause.name, 'TimeoutError');
      assert.equal(service.posts, 1);
    }),
  ));

test('a read that is aborted rejects with the reason, as fetch does', () =>
  silent((service, first) =>
    withClient(service.url, {}, async (client) => {
      const controller = new AbortController();
      const reads = [
        client.dockets.get(DOCKET, { signal: controller.signal }),
        client.agents.list('org-1', { signal: controller.signal }),
        client.dockets.waitFor(DOCKET, { timeoutMs: 60_000, signal: controller.signal }),
      ].map(failure);
      await first;
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
    const failed = failure(client.dockets.create(REQUEST, { signal: controller.signal }));
    controller.abort(REASON);
    assert.equal(await failed, REASON);
    assert.equal(requests.length, 0);
  }));

test('a create that is aborted while it connects rejects with the reason: nothing was sent', () =>
  withClient('http://127.0.0.1:9', {
    maxAttempts: 100, backoffMs: 60_000, maxBackoffMs: 60_000, deadlineMs: 86_400_000, attemptTimeoutMs: 1000,
  }, async (client) => {
    const controller = new AbortController();
    const failed = failure(client.dockets.create(REQUEST, { signal: controller.signal }));
    await new Promise((resolve) => setTimeout(resolve, 30));
    controller.abort(REASON);
    assert.equal(await failed, REASON);
  }));

/** What was answered before the abort, and whether something may have been created. */
const ANSWERED = [
  [429, false],
  [425, false],
  [503, true],
  [500, true],
  [408, true],
];

for (const [status, mayExist] of ANSWERED) {
  test(`a create that is aborted in the pause after ${status} is ${mayExist ? '' : 'not '}of unknown outcome`, () => {
    const pause = { backoffMs: 8000, maxBackoffMs: 8000, maxAttempts: 2 };
    const controller = new AbortController();
    const headers = { 'retry-after': '8' };
    const attempt = { onAttempt: () => setImmediate(() => controller.abort(REASON)) };
    return withBoth(() => ({ status, headers }), { ...pause, ...attempt }, async (client, { requests }) => {
      const error = await failure(client.dockets.create(REQUEST, { signal: controller.signal }));
      assert.equal(error instanceof OutcomeUnknown, mayExist, inspect(error));
      if (!mayExist) assert.equal(error, REASON);
      else assert.deepEqual(error.attempts.map((attempt) => attempt.status), [status]);
      assert.equal(requests.length, 1);
    });
  });
}

test('a create that is aborted while its 2xx is read may have created, and reports what came', () =>
  withSockets(
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"docket_id"'),
    (service) =>
      withClient(service.url, {}, async (client) => {
        const error = await failure(client.dockets.create(REQUEST, { signal: AbortSignal.timeout(100) }));
        assert.equal(error.name, 'UnexpectedResponse', error.stack);
        assert.equal(error.mayHaveCreated, true);
        assert.equal(error.cause.name, 'TimeoutError');
        assert.equal(error.attempts[0].status, 200);
        assert.equal(error.response.body, '{"docket_id"');
        assert.equal(service.posts, 1);
      }),
  ));

for (const [driver, Client] of Object.entries(DRIVERS)) {
  test(`${driver}: a create that is aborted when its answer is here already returns what was created`, () => {
    const controller = new AbortController();
    return withSockets(
      // The answer is on its way before this process, which is both sides, does anything else.
      (socket) => {
        socket.write(answerText());
        controller.abort(REASON);
      },
      (service) =>
        withClient(service.url, {}, async (client) => {
          const docket = await client.dockets.create(REQUEST, { signal: controller.signal });
          assert.equal(docket.docketId, DOCKET);
          assert.equal(service.posts, 1);
        }, Client),
    );
  });

  test(`${driver}: nothing is sent after an abort, not even if an answer makes room for it`, () => {
    const controller = new AbortController();
    return withSockets(
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

test('an abort after the end changes nothing', () =>
  withBoth(() => ({}), {}, async (client) => {
    const controller = new AbortController();
    const docket = await client.dockets.create(REQUEST, { signal: controller.signal });
    controller.abort(REASON);
    assert.equal(docket.docketId, DOCKET);
    assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
  }));

test('200 calls that are aborted leave no timer and no socket', () => {
  let received;
  const all = new Promise((resolve) => (received = resolve));
  const behave = (_socket, _request, service) => service.received === 200 && received();
  return withSockets(behave, (service) =>
    withClient(service.url, { maxInFlight: 200 }, async (client) => {
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const calls = Array.from({ length: 200 }, (_, i) =>
        failure(i % 2 ? client.dockets.create(REQUEST, options) : client.dockets.get(DOCKET, options)),
      );
      await all;
      controller.abort(REASON);
      const errors = await Promise.all(calls);
      assert.equal(errors.filter((error) => error === REASON).length, 100);
      assert.equal(errors.filter((error) => error instanceof OutcomeUnknown).length, 100);
      await closed(service);
      assert.match(inspect(client), /running: 0/);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const alive = process.getActiveResourcesInfo();
      assert.deepEqual(alive.filter((it) => it === 'Timeout' || it === 'TCPSocketWrap'), []);
    }),
  );
});

test('a wait whose 404 ends it does not wait for its time', () =>
  withBoth(() => ({ status: 404 }), {}, async (client) => {
    const error = await failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000 }));
    assert.ok(error instanceof NotFound);
  }));

/** Until the client has let go of all connections. */
async function closed({ sockets }) {
  while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 2));
}
