/** An exchange alone, with requests that do what no service can be made to do. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { functions } from '../generated/wit.js';
import { Connections } from '../src/connections.js';
import { core, signatureOf } from '../src/core.js';
import { Exchange } from '../src/exchange.js';
import { Instance } from '../src/instance.js';
import { wasi } from '../src/wasi.js';
import { CREATED, DOCKET, REQUEST, TOKEN, answerText, failure, withClient, withService, withSockets } from './service.js';

const MESSAGE = { method: 'POST', scheme: 'http', authority: '127.0.0.1:1', path: '/', headers: [] };

/** Requests on connections that were used before. */
class Requests {
  all = [];

  constructor(most) {
    this.most = most;
  }

  request() {
    if (this.all.length === this.most) throw new Error('no more');
    const request = Object.assign(new EventEmitter(), { reusedSocket: true, destroy() {}, end() {} });
    this.all.push(request);
    return request;
  }
}

test('a connection that has ended, and cannot be replaced, is one on which nothing was sent', () => {
  const requests = new Requests(1);
  const exchange = new Exchange(MESSAGE, undefined, requests);
  requests.all[0].emit('error', new Error('gone'));
  assert.deepEqual(exchange.error, { code: 'destination-unavailable' });
  assert.equal(exchange.attempt.mayHaveCreated, false);
  assert.equal(exchange.isAnswered.isReady, true);
});

test('what a connection says that was given up is no answer', () => {
  const requests = new Requests(2);
  const exchange = new Exchange(MESSAGE, undefined, requests);
  const [first] = requests.all;
  first.emit('error', new Error('gone'));
  assert.equal(requests.all.length, 2);
  const response = Object.assign(new EventEmitter(), { statusCode: 404, rawHeaders: [] });
  first.emit('response', response);
  assert.equal(exchange.head, undefined);
  assert.equal(exchange.error, undefined);
  assert.equal(exchange.isAnswered.isReady, false);
  assert.equal(requests.all.length, 2);
});

test('a request that was begun is never told as refused, whatever breaks afterwards', () => {
  const host = { environment: [], connections: new Requests(1), stderr: () => {} };
  const instance = new Instance(core(), host);
  const { handle } = wasi(instance, host)['wasi:http/outgoing-handler'];
  const request = instance.resources.add({ ...MESSAGE, chunks: [] });
  const { memory } = instance;
  instance.memory = { setU8: memory.setU8.bind(memory), bytes: memory.bytes, setU32: broken };
  assert.throws(() => handle(request, 0, 0, 1024), /the memory is gone/);
  assert.equal(instance.attempts.length, 1);
});

function broken() {
  throw new Error('the memory is gone');
}

test('a component that breaks while it leaves its stack leaves no rejection behind', () =>
  withSockets(() => {}, async ({ url }) => {
    const connections = new Connections({});
    const environment = Object.entries({ VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN });
    const instance = new Instance(core(), { environment, connections, stderr: () => {} });
    instance.suspend = (pollables) => {
      Instance.prototype.suspend.call(instance, pollables);
      throw new Error('the stack is full');
    };
    const unheard = [];
    const hear = (reason) => unheard.push(reason);
    process.on('unhandledRejection', hear);
    const name = 'dockets.get';
    const error = await failure(instance.call(functions[name].core, signatureOf(name), [DOCKET, undefined]));
    assert.equal(error.message, 'the stack is full');
    instance.abandon('given up');
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off('unhandledRejection', hear);
    assert.deepEqual(unheard, []);
    connections.close();
  }));

/** When a socket breaks, with an error whose code is no text. */
const MOMENTS = {
  'before it connects': [(socket) => process.nextTick(socket.breakDown), () => {}, 'Unreachable'],
  'before an answer': [() => {}, (_, mine) => mine.breakDown(), 'OutcomeUnknown'],
  'within an answer': [
    () => {},
    (socket, mine) => {
      mine.once('data', () => setImmediate(mine.breakDown));
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{');
    },
    'UnexpectedResponse',
  ],
};

for (const [moment, [made, behave, name]] of Object.entries(MOMENTS)) {
  for (const code of [5, Symbol('broken'), null, {}]) {
    test(`a socket that breaks ${moment}, with ${inspect(code)} as its code, is ${name}`, () => {
      let mine;
      return withSockets(
        (socket) => behave(socket, mine),
        ({ url }) => {
          class Agent extends http.Agent {
            createConnection(options) {
              mine = net.connect(options);
              mine.breakDown = () => mine.destroy(Object.assign(new Error('broken'), { code }));
              made(mine);
              return mine;
            }
          }
          return withClient(url, { agent: new Agent(), maxAttempts: 1 }, async (client) => {
            const error = await failure(client.dockets.create(REQUEST));
            assert.equal(error.name, name, error.stack);
          });
        },
      );
    });
  }
}

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
  return withService(answer, ({ url }) =>
    withClient(url, { backoffMs: 1, maxBackoffMs: 1, attemptTimeoutMs: 600_000, deadlineMs: 600_000 }, async (client) => {
      const wait = client.dockets.waitFor(DOCKET, { timeoutMs: 3_600_000 });
      try {
        await all;
        for (let i = 0; i < 3; i++) {
          await new Promise((resolve) => setTimeout(resolve, 1));
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
    }));
});

test('an answer that has come while the event loop was busy is taken, whatever time is over', async (t) => {
  /** The ways in which time can be over. */
  const times = {
    'the time of an attempt': [{ attemptTimeoutMs: 300 }, {}],
    'the deadline': [{ deadlineMs: 300 }, {}],
    'the deadline of a call': [{}, { deadlineMs: 300 }],
  };
  for (const [what, [options, callOptions]] of Object.entries(times)) {
    await t.test(what, () =>
      withSockets(
        // The answer is on its way before this process, which is both sides, does anything else.
        (socket) => {
          socket.write(answerText());
          busy(500);
        },
        ({ url }) =>
          withClient(url, { ...options, maxAttempts: 1 }, async (client) => {
            const docket = await client.dockets.create(REQUEST, callOptions);
            assert.equal(docket.docketId, DOCKET);
          }),
      ));
  }
});

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
