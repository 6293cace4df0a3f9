/** One request as a transport fills it, the event loop that is busy meanwhile, and garbage. */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Exchange } from '../src/exchange.js';
import { CREATED, DOCKET, REQUEST, answerText, pause, withBoth, withClient, withSockets } from './service.js';

const SEND = { exchange: 1, operation: 1, item: null, request: { max_response_bytes: 8 } };

/** An exchange, and the events that it has emitted. */
function exchange() {
  const emitted = [];
  return { it: new Exchange(SEND, (events) => emitted.push(...events)), emitted };
}

const bytes = (text) => Buffer.from(text);

test('a whole answer is one event', () => {
  const { it, emitted } = exchange();
  const headers = [['date', 'x']];
  it.head(200, headers);
  assert.equal(it.chunk(bytes('{"a"')), true);
  it.chunk(bytes(':1}'));
  it.end();
  it.end('later');
  it.fail('Unknown', 'later');
  assert.deepEqual(emitted, [{ Answered: { exchange: 1, status: 200, headers, body: { Text: '{"a":1}' } } }]);
});

test('what came when time is up is emitted, and then the rest', () => {
  const { it, emitted } = exchange();
  assert.deepEqual(it.arrived(), []);
  it.head(200, []);
  it.chunk(Uint8Array.of(0x22, 0xc3));
  assert.deepEqual(it.arrived(), [
    { Head: { exchange: 1, status: 200, headers: [] } },
    { Chunk: { exchange: 1, bytes: { Bytes: [0x22, 0xc3] } } },
  ]);
  assert.deepEqual(it.arrived(), []);
  it.chunk(bytes('x'));
  it.end('ended early');
  assert.deepEqual(emitted, [
    { Chunk: { exchange: 1, bytes: { Text: 'x' } } },
    { Ended: { exchange: 1, error: 'ended early' } },
  ]);
});

test('one byte beyond the limit is emitted, and no more', () => {
  const { it, emitted } = exchange();
  it.head(200, []);
  assert.equal(it.chunk(bytes('12345678')), true);
  assert.equal(it.chunk(bytes('9abc')), false);
  assert.equal(it.isOver, true);
  assert.deepEqual(emitted[0].Answered.body, { Text: '123456789' });
});

test('a failure after the head is a body that ended early', () => {
  const { it, emitted } = exchange();
  it.head(503, []);
  it.fail('NotSent', 'the connection broke');
  assert.deepEqual(emitted.map((event) => Object.keys(event)[0]), ['Head', 'Ended']);
});

test('a wait keeps nothing of the polls that are over', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const { request } = http;
  const seen = [];
  http.request = (...given) => {
    const made = request(...given);
    seen.push(new WeakRef(made));
    made.once('response', (response) => seen.push(new WeakRef(response)));
    return made;
  };
  const POLLS = 100;
  let reached;
  const all = new Promise((resolve) => (reached = resolve));
  let finish;
  const answer = (_, __, nth) => {
    if (nth <= POLLS) return { body: { docket_id: DOCKET, status: 'OPEN' } };
    reached();
    return new Promise((resolve) => (finish = resolve));
  };
  const options = { backoffMs: 1, maxBackoffMs: 1, attemptTimeoutMs: 600_000, deadlineMs: 600_000 };
  return withBoth(answer, options, async (client) => {
    const wait = client.dockets.waitFor(DOCKET, { timeoutMs: 3_600_000 });
    try {
      await all;
      for (let i = 0; i < 3; i++) {
        await pause(1);
        collect();
      }
      const alive = seen.filter((it) => it.deref() !== undefined).length;
      assert.equal(seen.length, 2 * POLLS + 1);
      assert.ok(alive < 10, `${alive} of ${seen.length} requests and answers are kept`);
    } finally {
      http.request = request;
      finish({ body: { ...CREATED, status: 'COMPLETED' } });
    }
    assert.equal((await wait).polls, POLLS + 1);
  });
});

/** The ways in which time can be over. */
const TIMES = {
  'the time of an attempt': [{ attemptTimeoutMs: 300 }, {}],
  'the deadline': [{ deadlineMs: 300 }, {}],
  'the time of a call': [{}, { timeoutMs: 300 }],
};

for (const [what, [options, callOptions]] of Object.entries(TIMES)) {
  test(`an answer that has come while the event loop was busy is taken, although ${what} is over`, () =>
    withSockets(
      // The answer is on its way before this process, which is both sides, does anything else.
      (socket) => {
        socket.write(answerText());
        busy(500);
      },
      ({ url }) =>
        withClient(url, { ...options, maxAttempts: 1 }, async (client) => {
          assert.equal((await client.dockets.create(REQUEST, callOptions)).docketId, DOCKET);
        }),
    ));
}

test('a connection that was made while the event loop was busy is used', () => {
  class Agent extends http.Agent {
    createConnection(options) {
      const socket = net.connect(options);
      // It connects after this, in the same turn.
      process.nextTick(busy, 400);
      return socket;
    }
  }
  return withSockets(
    (socket) => socket.write(answerText()),
    ({ url }) =>
      withClient(url, { agent: new Agent(), connectTimeoutMs: 200, maxAttempts: 1 }, async (client) => {
        // From here the loop comes to its timers first.
        await new Promise(setImmediate);
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      }),
  );
});

function busy(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
