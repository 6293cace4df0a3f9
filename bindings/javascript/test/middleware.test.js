/** What programs put between the client and the service: it may send, fail and answer as it likes. */
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Agent, RetryAgent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { VoiceClient as FetchClient } from 'voice-calling/fetch';
import { CREATED, DOCKET, REQUEST, answerText, failure, withClient, withService, withSockets } from './service.js';

const REFUSED = { code: 'ECONNREFUSED', syscall: 'connect' };

function refusal() {
  return Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('connect ECONNREFUSED'), REFUSED) });
}

function refuse() {
  throw refusal();
}

/** Sends the request by its body, as middlewares do that keep it to send it elsewhere. */
async function sent(url, { method, headers, body }) {
  const copied = new Headers(headers);
  copied.delete('content-length');
  return fetch(url, { method, headers: copied, body: await new Response(body).text() });
}

/** When they fail to connect: what they do with a request, the error, and how often it is received. */
const MIDDLEWARES = {
  'before it sends': [refuse, 'Unreachable', 0],
  'before it sends, without a reason': [() => { throw undefined; }, 'Unreachable', 0],
  'before it sends a copy': [(url, init) => { new Request(url, init).clone(); refuse(); }, 'Unreachable', 0],
  'when it has read the request': [async (_, { body }) => refuse(await new Response(body).text()), 'OutcomeUnknown', 0],
  'when it has sent': [async (...given) => refuse(await fetch(...given)), 'OutcomeUnknown', 1],
  'when it has sent a copy': [async (...given) => refuse(await fetch(new Request(...given).clone())), 'OutcomeUnknown', 1],
  'when it has sent another request': [async (...given) => refuse(await sent(...given)), 'OutcomeUnknown', 1],
  'within the answer': [
    async (...given) => {
      const { status, headers } = await sent(...given);
      return new Response(new ReadableStream({ pull: refuse }), { status, headers });
    },
    'UnexpectedResponse',
    1,
  ],
};

/** How a middleware comes into a program: in an option, or in the place of the global `fetch`. */
const PLACES = {
  option: (own, test) => test({ fetch: own }),
  'global fetch': async (own, test) => {
    const { fetch } = globalThis;
    globalThis.fetch = (...given) => {
      globalThis.fetch = fetch;
      return own(...given);
    };
    try {
      return await test({});
    } finally {
      globalThis.fetch = fetch;
    }
  },
};

for (const [place, within] of Object.entries(PLACES)) {
  for (const [when, [own, name, received]] of Object.entries(MIDDLEWARES)) {
    test(`fetch: a middleware (${place}) that fails to connect ${when}: a create is ${name}`, () =>
      withService(() => ({}), ({ url, requests }) =>
        within(own, (options) =>
          withClient(url, { ...options, maxAttempts: 1 }, async (client) => {
            const error = await failure(client.dockets.create(REQUEST));
            assert.equal(error.name, name, error.stack);
            assert.equal(error.mayHaveCreated, name !== 'Unreachable');
            assert.equal(requests.length, received);
          }, FetchClient))));
  }
}

test('fetch: a middleware that sends late, whatever the signal says, has nothing to send after an abort', () =>
  withService(() => ({}), ({ url, requests }) => {
    const controller = new AbortController();
    let late;
    const own = (...given) => {
      const [, { signal }] = given;
      late = failure(new Promise((resolve) => signal.addEventListener('abort', resolve)).then(() => sent(...given)));
      controller.abort(DOCKET);
      return late;
    };
    return withClient(url, { fetch: own }, async (client) => {
      assert.equal(await failure(client.dockets.create(REQUEST, { signal: controller.signal })), DOCKET);
      assert.match((await late).message, /cancelled/);
      assert.deepEqual(requests, []);
    }, FetchClient);
  }));

test('fetch: a create whose request was sent by a retrying agent is never sent again by the client', () =>
  withSockets(
    (socket, _, service) => {
      service.refuse();
      socket.destroy();
    },
    async (service) => {
      const usual = getGlobalDispatcher();
      const retrying = new RetryAgent(new Agent(), { methods: ['POST'], minTimeout: 1, maxRetries: 2 });
      setGlobalDispatcher(retrying);
      try {
        await withClient(service.url, {}, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, 'OutcomeUnknown', error.stack);
          assert.equal(error.attempts.length, 1);
          assert.equal(service.posts, 1);
        }, FetchClient);
      } finally {
        setGlobalDispatcher(usual);
        await retrying.close();
      }
    },
  ));

// ------------------------------------------------------------------------------- nonsense

const json = JSON.stringify(CREATED);
const headers = new Headers();

/** A body of these pieces. */
function bodyOf(...pieces) {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

/** What a `fetch` returns, and whether a docket can be read from it. */
const ANSWERS = {
  nothing: [undefined, false],
  text: ['created', false],
  'no members': [{}, false],
  'no headers': [{ status: 200, body: bodyOf(json) }, false],
  'headers that are numbers': [{ status: 200, headers: { get: () => 7 }, body: bodyOf(json) }, true],
  'headers that are half a character': [{ status: 200, headers: { get: () => '\ud83d' }, body: bodyOf(json) }, true],
  'a status that is text': [{ status: '200', headers, body: bodyOf(json) }, false],
  'a status that is no number': [{ status: NaN, headers, body: bodyOf(json) }, false],
  'a status that is too large': [{ status: 70_000, headers, body: bodyOf(json) }, false],
  'a body that is text': [{ status: 200, headers, body: json }, false],
  'a body that is locked': [(({ body }) => (body.getReader(), { status: 200, headers, body }))(new Response(json)), false],
  'texts in the body': [{ status: 200, headers, body: bodyOf(json.slice(0, 20), json.slice(20)) }, true],
  'an ArrayBuffer in the body': [{ status: 200, headers, body: bodyOf(new TextEncoder().encode(json).buffer) }, true],
  'a DataView in the body': [{ status: 200, headers, body: bodyOf(new DataView(new TextEncoder().encode(json).buffer)) }, true],
  'numbers in the body': [{ status: 200, headers, body: bodyOf(7) }, false],
  'objects in the body': [{ status: 200, headers, body: bodyOf({ length: 3 }, null) }, false],
  'a reader of nothing': [{ status: 200, headers, body: { getReader: () => ({ read: () => undefined }) } }, false],
};

/** What a `fetch` throws. */
const THROWN = {
  nothing: undefined,
  'half a character': new Error(`${'x'.repeat(199)}\u{1f600}`),
  'a symbol as its code': Object.assign(new Error('broken'), { cause: { code: Symbol('x') } }),
  'members that throw': Object.defineProperty({}, 'message', { get: refuse }),
};

test('fetch: what a fetch of the user returns or throws is that call\'s alone', async (t) => {
  const unhandled = [];
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  const cases = [
    ...Object.entries(ANSWERS).map(([what, [answer, isRead]]) => [`returns ${what}`, async () => answer, isRead]),
    ...Object.entries(THROWN).map(([what, error]) => [`throws ${what}`, async () => { throw error; }, false]),
  ];
  for (const [what, misbehave, isRead] of cases) {
    await t.test(what, () =>
      withService(() => ({}), ({ url, requests }) => {
        let calls = 0;
        let release;
        const isOver = new Promise((resolve) => (release = resolve));
        const own = async (...given) => {
          if (++calls === 3) {
            await sent(...given);
            // The others are in flight meanwhile.
            setTimeout(release, 5);
            return misbehave();
          }
          const response = await fetch(...given);
          await isOver;
          return response;
        };
        return withClient(url, { fetch: own, maxAttempts: 1 }, async (client) => {
          const results = await client.dockets.createMany(Array(6).fill(REQUEST), { timeoutMs: 5000 });
          const third = results[2];
          const others = results.filter((it) => it !== third);
          assert.ok(others.every(({ value }) => value?.docketId === DOCKET), third.error?.stack);
          if (isRead) assert.equal(third.value.docketId, DOCKET);
          else assert.equal(third.error.mayHaveCreated, true, third.error.stack);
          assert.equal(requests.length, 6);
          // It would end the process.
          assert.deepEqual(unhandled.splice(0), []);
        }, FetchClient);
      }));
  }
});

// ---------------------------------------------------------------------------- node:http

/** A socket that connects only once it is written to, as those of mocks do. */
class LateSocket extends net.Socket {
  connecting = true;

  constructor(answer) {
    super();
    this.answer = answer;
  }

  _write(_chunk, _encoding, done) {
    done();
    if (!this.connecting) return;
    this.connecting = false;
    this.emit('connect');
    setImmediate(() => this.answer(this));
  }

  _writev(_chunks, done) {
    this._write(undefined, undefined, done);
  }

  _read() {}
}

class LateAgent extends http.Agent {
  constructor(answer) {
    super();
    this.answer = answer;
  }

  createConnection() {
    return new LateSocket(this.answer);
  }
}

test('node:http: a socket that connects only after it was written to is written to', () => {
  const agent = new LateAgent((socket) => socket.push(answerText()));
  return withClient('http://127.0.0.1:9', { agent, connectTimeoutMs: 200, maxAttempts: 1 }, async (client) => {
    assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
  });
});

test('node:http: a socket that says after it was written to that it was refused is of unknown outcome', () => {
  const late = new LateAgent((socket) => socket.destroy(Object.assign(new Error('connect'), REFUSED)));
  class Own extends http.Agent {
    createConnection(options) {
      const socket = net.connect(options);
      const { write } = socket;
      socket.write = (...given) => {
        setTimeout(() => socket.destroy(Object.assign(new Error('connect'), REFUSED)), 20);
        return write.apply(socket, given);
      };
      socket._writev = undefined;
      return socket;
    }
  }
  return withSockets(() => {}, async (service) => {
    for (const agent of [late, new Own()]) {
      await withClient(service.url, { agent, attemptTimeoutMs: 2000 }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.equal(error.name, 'OutcomeUnknown', error.stack);
        assert.equal(error.attempts.length, 1);
      });
    }
    assert.equal(service.posts, 1);
  });
});

/** The encodings that a proxy may put on an answer, and what takes them off again. */
const ENCODINGS = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };

function withEncoded(encoding, body, test, options = {}) {
  const received = [];
  const server = http.createServer((request, response) => {
    received.push(request.headers['accept-encoding']);
    response.writeHead(200, { 'content-encoding': encoding });
    if (body.isEndless) response.write(body.begin);
    else response.end(body);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    .then(() => withClient(`http://127.0.0.1:${server.address().port}`, options, (client) => test(client, received)))
    .finally(() => (server.close(), server.closeAllConnections()));
}

for (const [encoding, encode] of Object.entries(ENCODINGS)) {
  test(`node:http: no encoding is asked for, and an answer in ${encoding} is read all the same`, () =>
    withEncoded(encoding, encode(json), async (client, received) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      assert.deepEqual(received, ['identity']);
    }));
}

test('node:http: an encoded answer that is broken or larger than its limit is an error that names it', async () => {
  const limits = { maxResponseBytes: 100_000, maxAttempts: 1, attemptTimeoutMs: 2000 };
  const bodies = [
    ['incorrect header check', Buffer.from(json)],
    ['unexpected end of file', gzipSync(json).subarray(0, -10)],
    ['the encoded body is larger than 17', gzipSync(Buffer.alloc(5_000_000))],
    ['the encoded body is larger than 17', { isEndless: true, begin: Buffer.alloc(100_000) }],
  ];
  for (const [message, body] of bodies) {
    await withEncoded('gzip', body, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.mayHaveCreated, true);
      assert.match(error.attempts[0].transportError, new RegExp(message), error.stack);
    }, limits);
  }
});
