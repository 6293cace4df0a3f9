/** A batch takes its requests from any iterable, as it can send them, and keeps nothing of what is done. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCKET, REQUEST, failure, logged, pause, scripted } from './service.js';

const MANY = 3000;
const IN_TIME = { timeoutMs: 3_600_000 };
/** A service that takes its time. */
const SLOW = { afterMs: 1000, json: { docket_id: DOCKET } };
const MISTAKE = new Error('the file ended early');

/** Requests that count how many were taken, and whether their end was asked for. */
class Source {
  taken = 0;
  isEnded = false;

  constructor(count, change = () => {}) {
    this.count = count;
    this.change = change;
  }

  *[Symbol.iterator]() {
    try {
      while (this.taken < this.count) {
        const index = this.taken++;
        yield { ...REQUEST, externalId: `crm-${index}`, ...this.change(index) };
      }
    } finally {
      this.isEnded = true;
    }
  }
}

/** The same, each after a pause. */
async function* waiting(source) {
  for (const request of source) {
    await pause(0);
    yield request;
  }
}

test('requests are taken as they can be sent', async () => {
  // As many as a batch sends at once from its beginning: otherwise the first ones are not in order.
  const { client, service } = scripted([], { maxInFlight: 5 });
  const source = new Source(MANY);
  let given = 0;
  for await (const { index, ok, externalId } of client.dockets.createMany(source, IN_TIME)) {
    assert.deepEqual([index, ok, externalId], [given, true, `crm-${given}`]);
    given++;
    assert.ok(source.taken <= given + 5 + 5 + 64, `${source.taken} are taken, ${given} are given`);
  }
  assert.deepEqual([given, service.requests.length], [MANY, MANY]);
});

test('one that is waited for is taken at a time, and only if it can be sent', async () => {
  const { client, service } = scripted(() => SLOW, { maxInFlight: 3 });
  const source = new Source(10);
  const batch = client.dockets.createMany(waiting(source), IN_TIME);
  for await (const { index } of batch) assert.ok(source.taken <= index + 1 + 3 + 3, `${source.taken} at ${index}`);
  assert.deepEqual(service.requests.map(({ json }) => json.external_id), Array.from({ length: 10 }, (_, i) => `crm-${i}`));
});

test('all results of any iterable can be awaited, and an array may be as long', async () => {
  const { client } = scripted([], { maxInFlight: 50 });
  for (const requests of [new Source(MANY), waiting(new Source(100)), [...new Source(MANY)], new Set([REQUEST]), []]) {
    const results = await client.dockets.createMany(requests, IN_TIME);
    assert.equal(results.length, requests.length ?? requests.size ?? requests.count ?? 100);
    assert.ok(results.every(({ ok, index }, i) => ok && index === i));
  }
});

test('results that are not read hold up the batch, and none is lost; a client that is closed meanwhile ends it', async () => {
  for (const isClosed of [false, true]) {
    const { client } = scripted([], { maxInFlight: 8 });
    const source = new Source(MANY);
    let given = 0;
    const loop = async () => {
      for await (const _ of client.dockets.createMany(source, IN_TIME)) {
        if (given++ > 0) continue;
        while (source.taken < 1000) await pause(5);
        await pause(50);
        assert.ok(source.taken <= 1000 + 8 + 64, `${source.taken}`);
        if (isClosed) await client.close();
      }
    };
    if (isClosed) assert.match((await failure(loop())).message, /the client is closed/);
    else await loop();
    assert.equal(given, isClosed ? source.taken : MANY);
  }
});

test('leaving the loop ends the iterable, also while it is waited for', async () => {
  const { client, service } = scripted([], { maxInFlight: 2 });
  const sources = [new Source(MANY), new Source(MANY)];
  for (const requests of [sources[0], waiting(sources[1])]) {
    for await (const _ of client.dockets.createMany(requests, IN_TIME)) break;
  }
  for (const source of sources) {
    while (!source.isEnded) await pause(1);
    assert.ok(source.taken <= 64 + 2);
  }
  assert.ok(service.requests.length <= 8);
  const given = [{ value: REQUEST }];
  const silent = {
    isEnded: false,
    next: async () => given.shift() ?? new Promise(() => {}),
    return: async () => (silent.isEnded = true),
    [Symbol.asyncIterator]: () => silent,
  };
  for await (const _ of client.dockets.createMany(silent, IN_TIME)) break;
  assert.equal(silent.isEnded, true);
});

test('when its time is over a batch takes no more, and says where it stopped', async () => {
  for (const form of [(source) => source, waiting]) {
    const { client } = scripted(() => SLOW, { maxInFlight: 1 });
    const source = new Source(MANY);
    const results = [];
    const loop = async () => {
      for await (const result of client.dockets.createMany(form(source), { timeoutMs: 30_000 })) results.push(result);
    };
    const { name, message } = await failure(loop());
    const { index, error } = results.at(-1);
    assert.equal(`${name}: ${message}`, `TimedOut: options.timeoutMs was over: no request after requests[${index}] was taken`);
    assert.deepEqual([error.name, source.taken, source.isEnded], ['TimedOut', index + 1, true]);
    assert.ok(index < 100, String(index));
  }
  const { client } = scripted(() => SLOW, { maxInFlight: 1 });
  assert.equal((await client.dockets.createMany(waiting(new Source(1)), { timeoutMs: 500, requestTimeoutMs: 60_000 })).length, 1);
});

test('a batch that is aborted before all requests were taken ends with the reason, after its results', async () => {
  for (const form of [(source) => source, waiting]) {
    const { client, service } = scripted([], { maxInFlight: 2 });
    const controller = new AbortController();
    const source = new Source(MANY, (index) => index === 100 && controller.abort(MISTAKE));
    const batch = client.dockets.createMany(form(source), { ...IN_TIME, signal: controller.signal });
    const created = [];
    const loop = async () => {
      for await (const { ok, index } of batch) if (ok) created.push(index);
    };
    assert.equal(await failure(loop()), MISTAKE);
    assert.ok(created.length > 30 && service.requests.length <= 101);
  }
});

/** What the fifth request is, and what ends the batch then. */
const FAULTS = {
  'an iterable that throws': [() => { throw MISTAKE; }, MISTAKE.message],
  'a request that is wrong': [() => ({ agentId: 'seven' }), 'requests[4].agentId: found "seven"'],
  'a key without a ledger': [() => ({ once: 'a' }), 'requests[4].once: found "a" for a client without a ledger'],
};

for (const [name, [fifth, message]] of Object.entries(FAULTS)) {
  test(`${name} ends the batch when those before were sent, and their results are given to the loop, or logged`, async () => {
    for (const form of [(source) => source, waiting]) {
      const { client } = scripted(() => SLOW, { maxInFlight: 8 });
      const source = new Source(MANY, (index) => index === 4 && fifth());
      const indexes = [];
      const loop = async () => {
        for await (const { index, ok } of client.dockets.createMany(form(source), IN_TIME)) indexes.push(ok && index);
      };
      assert.ok((await failure(loop())).message.startsWith(message));
      assert.deepEqual(indexes.toSorted(), [0, 1, 2, 3]);
      assert.deepEqual([source.taken, source.isEnded], [5, true]);
      source.taken = 0;
      const awaited = client.dockets.createMany(form(source), IN_TIME);
      const lines = await logged(async () => assert.ok((await failure(awaited)).message.startsWith(message)));
      assert.equal(lines.filter((line) => line.includes('created docket')).length, 4);
    }
  });
}
