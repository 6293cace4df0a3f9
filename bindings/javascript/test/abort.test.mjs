/** Abort signals: nothing is sent after one, and what may have been created is reported. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { OutcomeUnknownError } from 'voice-calling';
import { DOCKET, REQUEST, failure, withBoth } from './service.mjs';

const REASON = new Error('the user left');

test('a create that is aborted after it was sent is of unknown outcome; anything else rejects with the reason', () =>
  withBoth(() => null, { maxInFlight: 200 }, async (client, { arrived, requests }) => {
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const calls = [
      () => client.dockets.create({ ...REQUEST, externalId: 'crm-1' }, options),
      () => client.dockets.get(DOCKET, options),
      () => client.agents.list('org-1', options),
      () => client.dockets.wait(DOCKET, { ...options, timeoutMs: 60_000 }),
    ];
    const failed = Array.from({ length: 100 }, (_, index) => failure(calls[index % calls.length]()));
    await arrived(100);
    controller.abort(REASON);
    const errors = await Promise.all(failed);
    const unknown = errors.filter((error) => error instanceof OutcomeUnknownError);
    assert.equal(errors.filter((error) => error === REASON).length, 75);
    for (const { cause, mayHaveCreated, externalId, attempts } of unknown) {
      assert.deepEqual([cause, mayHaveCreated, externalId], [REASON, true, 'crm-1']);
      assert.deepEqual(attempts.map((it) => it.transportError), ['cancelled by the caller']);
    }
    assert.equal(await failure(client.dockets.create(REQUEST, options)), REASON);
    assert.deepEqual([unknown.length, requests.length], [25, 100]);
    assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
  }));

test('a create that is aborted before it could be sent, or in a pause after a 429, has created nothing', () =>
  withBoth(() => ({ status: 429 }), { maxInFlight: 1, backoffMs: 60_000, maxBackoffMs: 60_000, timeoutMs: 600_000 }, async (client, { arrived, requests }) => {
    const controller = new AbortController();
    const begun = [1, 2].map(() => failure(client.dockets.create(REQUEST, { signal: controller.signal })));
    await arrived(1);
    setTimeout(() => controller.abort(REASON), 30);
    assert.deepEqual(await Promise.all(begun), [REASON, REASON]);
    assert.ok(requests.length <= 2);
  }));

test('after an abort a batch retries nothing, although all of its requests were taken', () =>
  withBoth((_, body) => ({ status: body.includes('crm-1001') ? 200 : 429 }), { backoffMs: 100, maxBackoffMs: 100 }, async ({ dockets }, { arrived, requests }) => {
    const controller = new AbortController();
    const refused = { ...REQUEST, callContext: {} };
    const batch = dockets.createEach([REQUEST, refused], { timeoutMs: 9000, signal: controller.signal }).start();
    await arrived(2);
    controller.abort(REASON);
    const [first, second] = await batch;
    assert.deepEqual([first.ok, second.error.mayHaveCreated, requests.length], [true, false, 2]);
    assert.deepEqual(await batch, [first, second]);
  }));

test('an operation that has ended no longer listens to its signal', () =>
  withBoth(() => ({}), {}, async ({ dockets }) => {
    const { signal } = new AbortController();
    await dockets.create(REQUEST, { signal });
    await failure(dockets.create({ ...REQUEST, toPhoneNumber: '1' }, { signal }));
    await failure(dockets.create({ ...REQUEST, agentId: 'x' }, { signal }));
    await failure(dockets.wait(DOCKET, { signal, timeoutMs: 1 }));
    await dockets.createEach([REQUEST], { signal, timeoutMs: 1000 });
    for await (const _ of dockets.createEach([REQUEST, REQUEST], { signal, timeoutMs: 1000 })) break;
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  }));
