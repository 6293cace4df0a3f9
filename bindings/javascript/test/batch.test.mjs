/** Batches: any iterable, one rule for the begin, the end, and what is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInputError, NotBegunError } from 'voice-calling';
import { DOCKET, REQUEST, failure, gate, keeping, pause, withBoth } from './service.mjs';

const TIME = { timeoutMs: 60_000 };
const REASON = new Error('the user left');
const request = (index) => ({ ...REQUEST, externalId: `crm-${index}` });
const requests = (count) => Array.from({ length: count }, (_, index) => request(index));

async function* generated(count, taken = []) {
  try {
    for (let index = 0; index < count; index++) {
      taken.push(index);
      yield request(index);
    }
  } finally {
    taken.push('returned');
  }
}

/** Runs `test` with a service that answers what `isHeld` says, or everything, not before `open` is called. */
function withGate(test, { isHeld = () => true, answer = () => ({}), ...options } = {}) {
  const { open, opened } = gate();
  const gated = async (request, body, n) => {
    if (isHeld(body, n)) await opened;
    return answer(body);
  };
  return withBoth(gated, options, (client, service) => test(client, service, open));
}

test('await gives all results in the order of the requests, for await each as it comes', () => {
  const isHeld = (body) => body.includes('crm-0');
  const answer = (body) => ({ status: body.includes('crm-2') ? 422 : 200 });
  return withGate(async ({ dockets }, _, open) => {
    const order = [];
    for await (const { index } of dockets.createEach(generated(4), TIME)) if (order.push(index) === 3) open();
    assert.deepEqual([order.at(-1), order.toSorted()], [0, [0, 1, 2, 3]]);
    const results = await dockets.createEach(requests(4), TIME);
    assert.deepEqual(results.map(({ index, ok, externalId }) => [index, ok, externalId]), [[0, true, 'crm-0'], [1, true, 'crm-1'], [2, false, 'crm-2'], [3, true, 'crm-3']]);
    assert.deepEqual([results[0].value.docketId, results[2].error.kind, results[2].error.index, results[2].error.externalId], [DOCKET, 'rejected', 2, 'crm-2']);
    assert.deepEqual(await dockets.createEach([], TIME), []);
  }, { isHeld, answer });
});

test('nothing is sent before start(), the first read, or await', () =>
  withBoth(() => ({}), {}, async ({ dockets }, { requests: sent, arrived }) => {
    const batch = dockets.createEach(requests(2), TIME);
    const closed = dockets.createEach(requests(2), TIME);
    await pause(20);
    await closed.close();
    assert.equal(sent.length, 0);
    batch.start();
    await arrived(2);
    assert.equal((await batch).length, 2);
    assert.equal(sent.length, 2);
  }));

test('requests are taken when they can be sent, from an iterable without end as well', () =>
  withBoth(() => ({}), { maxInFlight: 2 }, async ({ dockets }, { requests: sent }) => {
    const taken = [];
    let read = 0;
    for await (const _ of dockets.createEach(generated(Infinity, taken), TIME)) if (++read === 20) break;
    assert.equal(taken.at(-1), 'returned');
    assert.ok(sent.length <= 1030, `${sent.length}`);
    assert.equal(taken.length - 1, sent.length);
  }));

test('leaving the loop waits for the open requests, and logs what was not read', async () => {
  const logger = keeping();
  await withGate(async ({ dockets }, { requests: sent, arrived }, open) => {
    for await (const _ of dockets.createEach(requests(50), TIME)) {
      await arrived(2);
      setImmediate(open);
      break;
    }
    const unread = sent.length - 1;
    assert.ok(unread > 0 && sent.length < 50);
    const logged = logger.lines.filter((line) => line.includes('succeeded') && line.includes(DOCKET) && line.includes('crm-'));
    assert.equal(logged.length, unread, logger.lines.join('\n'));
  }, { isHeld: (_, n) => n > 1, logger, maxInFlight: 8 });
});

test('after an abort the open requests are finished, and those of an array that were not begun say so', () =>
  withGate(async ({ dockets }, { arrived, requests: sent }, open) => {
    const controller = new AbortController();
    const batch = dockets.createEach(requests(20), { ...TIME, signal: controller.signal }).start();
    await arrived(5);
    controller.abort(REASON);
    open();
    const results = await batch;
    assert.deepEqual(results.map(({ ok }) => ok), Array.from({ length: 20 }, (_, index) => index < 5));
    for (const { error } of results.slice(5)) assert.ok(error instanceof NotBegunError && error.cause === REASON, error.message);
    assert.equal(sent.length, 5);
  }));

test('after an abort a batch of another iterable ends with the reason, after the results of what was open', () =>
  withGate(async ({ dockets }, { arrived, requests: sent }, open) => {
    const controller = new AbortController();
    const taken = [];
    const batch = dockets.createEach(generated(20, taken), { ...TIME, signal: controller.signal }).start();
    await arrived(5);
    controller.abort(REASON);
    open();
    const read = [];
    const error = await failure((async () => {
      for await (const { ok } of batch) read.push(ok);
    })());
    assert.equal(error, REASON);
    assert.deepEqual([read, sent.length, taken.at(-1)], [Array(5).fill(true), 5, 'returned']);
  }));

test('an array with a request that is refused sends nothing; another iterable ends with the error, after the results before', () =>
  withBoth(() => ({}), {}, async ({ dockets }, { requests: sent }) => {
    const wrong = { ...REQUEST, agentId: 'seven' };
    const error = await failure(Promise.resolve(dockets.createEach([REQUEST, wrong], TIME)));
    assert.ok(error instanceof InvalidInputError);
    assert.deepEqual([error.index, error.problem.subject, sent.length], [1, 'agentId', 0]);
    const keyless = await failure(Promise.resolve(dockets.createEach([request(0), REQUEST], { ...TIME, key: 'externalId' })));
    assert.deepEqual([keyless.index, keyless.problem.subject, sent.length], [1, 'externalId', 0]);
    const read = [];
    const late = await failure((async () => {
      for await (const { index } of dockets.createEach(new Set([REQUEST, wrong]), TIME)) read.push(index);
    })());
    assert.deepEqual([late.index, read, sent.length], [1, [0], 1]);
    for (const [given, subject] of [[5, 'requests'], [null, 'requests']]) assert.throws(() => dockets.createEach(given, TIME), ({ problem }) => problem.subject === subject);
    assert.equal((await failure(dockets.createEach([REQUEST], {}).next())).problem.subject, 'timeoutMs');
  }));

test('an iterable that throws ends the batch with its error, and awaiting it logs what was created', async () => {
  const logger = keeping();
  await withBoth(() => ({}), { logger }, async ({ dockets }) => {
    const broken = (function* () {
      yield request(0);
      throw REASON;
    })();
    assert.equal(await failure(Promise.resolve(dockets.createEach(broken, TIME))), REASON);
  });
  assert.match(logger.lines.join('\n'), new RegExp(`warn: .*${DOCKET}.*crm-0`));
});

test('an iterable that does not answer is not waited for at the end', () =>
  withBoth(() => ({}), {}, async ({ dockets }, { requests: sent }) => {
    const silent = async function* () {
      yield request(0);
      await new Promise(() => {});
    };
    const read = dockets.createEach(silent(), TIME);
    assert.equal((await read.next()).value.ok, true);
    await read.close();
    const controller = new AbortController();
    const aborted = dockets.createEach(silent(), { ...TIME, signal: controller.signal });
    await aborted.next();
    const ended = failure(aborted.next());
    controller.abort(REASON);
    assert.equal(await ended, REASON);
    assert.equal(sent.length, 2);
  }));
