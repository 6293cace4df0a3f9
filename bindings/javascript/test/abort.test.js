/** Abort signals: nothing is sent after one, and what may have been created is reported. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { OutcomeUnknown } from 'voice-calling';
import { CREATED, DOCKET, REQUEST, answerText, failure, pause, scripted, withClient, withSockets } from './service.js';

const REASON = new Error('the user left');

test('after an abort the answers that are here count, and nothing is sent, although there is room for it', () => {
  const controller = new AbortController();
  return withSockets(
    // The answers are on their way before this process, which is both sides, does anything else.
    (_socket, _request, { received, sockets }) => {
      if (received < 2) return;
      for (const socket of sockets) socket.write(answerText());
      controller.abort(REASON);
    },
    (service) =>
      withClient(service.url, { maxInFlight: 2 }, async (client) => {
        const options = { timeoutMs: 5000, signal: controller.signal };
        const [first, second, third] = await client.dockets.createMany([REQUEST, REQUEST, REQUEST], options);
        for (const { value } of [first, second]) assert.equal(value?.docketId, DOCKET);
        assert.deepEqual([third.error.mayHaveCreated, third.error.cause], [false, REASON]);
        assert.equal(service.posts, 2);
      }),
  );
});

test('200 calls that are aborted end with the reason, creates as of unknown outcome, and leave no timer and no socket', () => {
  let resolve;
  const received = new Promise((it) => (resolve = it));
  return withSockets((_socket, _request, service) => service.received === 200 && resolve(), (service) =>
    withClient(service.url, { maxInFlight: 200 }, async (client) => {
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const calls = [
        () => client.dockets.create(REQUEST, options),
        () => client.dockets.get(DOCKET, options),
        () => client.agents.list('org-1', options),
        () => client.dockets.waitFor(DOCKET, { ...options, timeoutMs: 60_000 }),
      ];
      const failed = Array.from({ length: 200 }, (_, i) => failure(calls[i % calls.length]()));
      await received;
      controller.abort(REASON);
      const errors = await Promise.all(failed);
      assert.equal(errors.filter((error) => error === REASON).length, 150);
      const unknown = errors.filter((error) => error instanceof OutcomeUnknown);
      assert.equal(unknown.length, 50);
      for (const { cause, attempts } of unknown) {
        assert.equal(cause, REASON);
        assert.deepEqual(attempts.map((it) => it.transportError), ['cancelled by the caller']);
      }
      while (service.sockets.size > 0) await pause(1);
      assert.equal(service.posts, 50);
      await pause(20);
      const alive = process.getActiveResourcesInfo();
      assert.deepEqual(alive.filter((it) => it === 'Timeout' || it === 'TCPSocketWrap'), []);
    }));
});

/** Calls that end, each in its way. */
const ENDED = {
  'a create': ({ dockets }, options) => dockets.create(REQUEST, options),
  'a create that fails': ({ dockets }, options) => failure(dockets.create({ ...REQUEST, toPhoneNumber: '1' }, options)),
  'a create whose key is taken': ({ dockets }, options) => dockets.create(REQUEST, { ...options, once: 'new' }),
  'a create whose key is known': ({ dockets }, options) => dockets.create(REQUEST, { ...options, once: 'known' }),
  'a wait': ({ dockets }, options) => failure(dockets.waitFor(DOCKET, { ...options, timeoutMs: 1000 })),
  'a batch': ({ dockets }, options) => dockets.createMany([REQUEST, { ...REQUEST, once: 'known' }], { ...options, timeoutMs: 1000 }),
  'a batch whose loop is left': async ({ dockets }, options) => {
    for await (const _ of dockets.createMany([REQUEST, { ...REQUEST, once: 'new' }], { ...options, timeoutMs: 1000 })) break;
  },
};

test('a client keeps nothing of the calls that have ended, and no longer listens to their signals', async () => {
  const known = { function: 'dockets.create-docket-v2', state: 'done', begun_ms: 0, answer: JSON.stringify(CREATED), differs_in: null };
  const ledger = { claim: async ({ key }) => (key === 'known' ? { entry: known } : { taken: key }), record: async () => {}, observe: async () => {} };
  const { client } = scripted([], { ledger });
  const refs = await Promise.all(Object.entries(ENDED).map(async ([what, call]) => {
    const { signal } = new AbortController();
    const called = call(client, { signal });
    await called;
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
    return [what, [signal, called].map((it) => new WeakRef(it))];
  }));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  // What a `WeakRef` was asked for, or made of, is kept until the turn is over.
  await new Promise(setImmediate);
  collect();
  assert.deepEqual(refs.filter(([, all]) => all.some((it) => it.deref())).map(([what]) => what), []);
  await client.close();
});
