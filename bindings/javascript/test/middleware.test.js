/** What programs put between the client and the service: it may send, fail and answer as it likes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Agent, RetryAgent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { VoiceClient as FetchClient } from 'voice-calling/fetch';
import { CREATED, DOCKET, DRIVERS, REQUEST, failure, pause, withBoth, withClient, withService, withSockets } from './service.js';

const json = JSON.stringify(CREATED);

function refuse() {
  throw Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }) });
}

/** What middlewares do with a copy of a request before they fail to connect, and what a create is then. */
const COPIES = {
  'is not sent': [refuse, 'Unreachable', 0],
  'was sent': [async (copy) => refuse(await fetch(copy)), 'OutcomeUnknown', 1],
};

for (const [what, [handle, name, received]] of Object.entries(COPIES)) {
  test(`fetch: a middleware that fails to connect when a copy of the request ${what}: a create is ${name}`, () => {
    const own = (...given) => handle(new Request(...given).clone());
    return withService(() => ({}), ({ url, requests }) =>
      withClient(url, { fetch: own, maxAttempts: 1 }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.equal(error.name, name, error.stack);
        assert.equal(requests.length, received);
      }, FetchClient));
  });
}

test('fetch: a middleware that sends late, whatever the signal says, has nothing to send after an abort', () =>
  withService(() => ({}), ({ url, requests }) => {
    const controller = new AbortController();
    let late;
    const own = (url, { method, signal, body }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      late = failure(aborted.then(async () => fetch(url, { method, body: await new Response(body).text() })));
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

test('fetch: a request that timed out, and is rejected then, takes no answer from another one of a batch whose loop is left', async () => {
  const answersMs = [600, Infinity, 900];
  const own = async (_url, { body, signal }) => {
    const [answerMs] = answersMs.splice(0, 1);
    await new Response(body).text();
    const aborted = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return Promise.race([aborted, answerMs === Infinity ? aborted : pause(answerMs).then(() => new Response(json))]);
  };
  const options = { fetch: own, maxInFlight: 2, attemptTimeoutMs: 1200 };
  await withClient('http://127.0.0.1:9', options, async (client) => {
    const batch = client.dockets.createMany(Array(3).fill(REQUEST), { timeoutMs: 5000 });
    const results = batch[Symbol.asyncIterator]();
    await results.next();
    while (answersMs.length > 0) await pause(1);
    await results.return();
    assert.deepEqual(batch.results.map(({ value, error }) => value?.docketId ?? error.name), [DOCKET, 'OutcomeUnknown', DOCKET]);
  }, FetchClient);
});

// ------------------------------------------------------------------------------- nonsense

const encoded = new TextEncoder().encode(json);
const headers = new Headers();
const answer = (body) => ({ status: 200, headers, body });

/** A body of these pieces. */
function bodyOf(...pieces) {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

/** What a `fetch` of the user does, and whether a docket can be read from it. */
const NONSENSE = {
  'returns nothing': [() => undefined, false],
  'returns no headers': [() => ({ status: 200, body: bodyOf(json) }), false],
  'returns headers that are half a character': [() => ({ ...answer(bodyOf(json)), headers: { get: () => '\ud83d' } }), true],
  'returns a status that is text': [() => ({ ...answer(bodyOf(json)), status: '200' }), false],
  'returns a body that is text': [() => answer(json), true],
  'returns texts in the body': [() => answer(bodyOf(json.slice(0, 20), json.slice(20))), true],
  'returns an ArrayBuffer in the body': [() => answer(bodyOf(encoded.buffer)), true],
  'returns a DataView in the body': [() => answer(bodyOf(new DataView(encoded.buffer))), true],
  'returns numbers in the body': [() => answer(bodyOf(7)), false],
  'breaks off the body for half a reason': [() => answer(new ReadableStream({ pull: () => Promise.reject(new Error('\ud83d')) })), false],
  'throws half a reason': [() => { throw new Error('\ud83d'); }, false],
  'throws nothing': [() => { throw undefined; }, false],
  'throws members that throw': [() => { throw Object.defineProperty({}, 'message', { get: refuse }); }, false],
};

test("fetch: what a fetch of the user returns or throws is that call's alone", async () => {
  const unhandled = [];
  const onRejection = (reason) => unhandled.push(reason);
  process.on('unhandledRejection', onRejection);
  for (const [what, [misbehave, isRead]] of Object.entries(NONSENSE)) {
    let calls = 0;
    let release;
    const isOver = new Promise((resolve) => (release = resolve));
    let signalOfSecond;
    const fetch = async (_url, { body, signal }) => {
      const isSecond = ++calls === 2;
      if (isSecond) signalOfSecond = signal;
      await new Response(body).text();
      if (!isSecond) return isOver.then(() => new Response(json));
      // The others are in flight meanwhile.
      setImmediate(() => setImmediate(release));
      return misbehave();
    };
    await withClient('http://127.0.0.1:9', { fetch, maxAttempts: 1 }, async (client) => {
      const [first, second, third] = await client.dockets.createMany(Array(3).fill(REQUEST), { timeoutMs: 5000 });
      for (const { value } of [first, third]) assert.equal(value?.docketId, DOCKET, what);
      if (isRead) assert.equal(second.value?.docketId, DOCKET, what);
      else assert.equal(second.error?.mayHaveCreated, true, what);
      // What cannot be read is ended.
      assert.equal(signalOfSecond.aborted, !isRead, what);
      assert.equal(calls, 3);
    }, FetchClient);
    await new Promise(setImmediate);
    // It would end the process.
    assert.deepEqual(unhandled.splice(0), [], what);
  }
  process.off('unhandledRejection', onRejection);
});

// -------------------------------------------------------------------------- encodings

/** The encodings that a proxy may put on an answer, although node:http asks for none. */
const ENCODINGS = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };

for (const [driver, Client] of Object.entries(DRIVERS)) {
  test(`${driver}: an answer that has an encoding is read`, async () => {
    for (const [encoding, encode] of Object.entries(ENCODINGS)) {
      const answer = () => ({ headers: { 'content-encoding': encoding }, body: encode(json) });
      await withBoth(answer, {}, async (client, { requests }) => {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        if (driver === 'node:http') assert.equal(requests[0].headers['accept-encoding'], 'identity');
      }, Client);
    }
  });
}

test('node:http: an encoded answer that is broken is an error that names it, and one that is larger than its limit is cut', async () => {
  const limits = { maxResponseBytes: 100_000, maxAttempts: 1, attemptTimeoutMs: 2000 };
  const bodies = [
    ['incorrect header check', Buffer.from(json)],
    ['unexpected end of file', gzipSync(json).subarray(0, -10)],
  ];
  await withBoth(() => ({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(5_000_000)) }), limits, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.deepEqual([error.name, error.mayHaveCreated, error.response.bodyCut], ['UnexpectedResponse', true, true]);
  });
  for (const [message, body] of bodies) {
    await withBoth(() => ({ headers: { 'content-encoding': 'gzip' }, body }), limits, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.mayHaveCreated, true);
      assert.match(error.attempts[0].transportError, new RegExp(message), error.stack);
    });
  }
});
