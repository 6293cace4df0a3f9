/** Abort signals: nothing is sent after one, and what may have been created is reported. */
import assert from 'node:assert/strict';
import { EventEmitter, getEventListeners, once } from 'node:events';
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

test('a create that is aborted before it could be sent, or in a pause after a 429, has created nothing', () => {
  const events = new EventEmitter();
  const options = { maxInFlight: 1, backoffMs: 60_000, maxBackoffMs: 60_000, timeoutMs: 600_000, onAttempt: ({ status }) => events.emit(`${status}`) };
  return withBoth((_, __, n) => (n === 1 ? null : { status: 429 }), options, async (client, { arrived, requests }) => {
    const [first, second, third] = [1, 2, 3].map(() => new AbortController());
    const create = ({ signal }) => failure(client.dockets.create(REQUEST, { signal }));
    const unanswered = create(first);
    await arrived(1);
    const unsent = create(second);
    second.abort(REASON);
    assert.equal(await unsent, REASON);
    first.abort(REASON);
    assert.ok((await unanswered) instanceof OutcomeUnknownError);
    const refused = once(events, '429');
    const pausing = create(third);
    await refused;
    third.abort(REASON);
    assert.equal(await pausing, REASON);
    assert.equal(requests.length, 2);
  });
});

test('after an abort a batch retries nothing, although all of its requests were taken', () => {
  const controller = new AbortController();
  const answer = async (_, body) => {
    if (body.includes('crm-1001')) return {};
    if (!controller.signal.aborted) await once(controller.signal, 'abort');
    return { status: 429 };
  };
  return withBoth(answer, {}, async ({ dockets }, { arrived, requests }) => {
    const refused = { ...REQUEST, callContext: {} };
    const batch = dockets.createEach([REQUEST, refused], { timeoutMs: 60_000, signal: controller.signal }).start();
    await arrived(2);
    controller.abort(REASON);
    const [first, second] = await batch;
    assert.deepEqual([first.ok, second.error.mayHaveCreated, requests.length], [true, false, 2]);
    assert.deepEqual(await batch, [first, second]);
  });
});

test('an operation that has ended no longer listens to its signal', () =>
  withBoth(() => ({}), {}, async ({ dockets }) => {
    const { signal } = new AbortController();
    await dockets.create(REQUEST, { signal });
    await failure(dockets.create({ ...REQUEST, toPhoneNumber: '1' }, { signal }));
    await failure(dockets.create({ ...REQUEST, agentId: 'x' }, { signal }));
    await failure(dockets.wait(DOCKET, { signal, timeoutMs: 1 }));
    await dockets.createEach([REQUEST], { signal, timeoutMs: 60_000 });
    for await (const _ of dockets.createEach([REQUEST, REQUEST], { signal, timeoutMs: 60_000 })) break;
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  }));
