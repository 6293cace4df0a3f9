/**
 * What goes wrong between client and service: which error reports it, and that a create is sent
 * once, and again only where it certainly did nothing, or where the service asks for it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CREATED, DOCKET, DRIVERS, REQUEST, answerText, failure, withClient, withListener, withService, withSockets } from './service.js';

const QUICK = { attemptTimeoutMs: 300, connectTimeoutMs: 200, deadlineMs: 3000, maxAttempts: 2 };

/** What the service does, the error of a create and of a read, and how many of each it receives. */
const FAULTS = {
  'closes without an answer': [(s) => s.destroy(), 'OutcomeUnknown', 1, 'TimedOut', 2],
  'ends without an answer': [(s) => s.end(), 'OutcomeUnknown', 1, 'TimedOut', 2],
  'resets the connection': [(s) => s.resetAndDestroy(), 'OutcomeUnknown', 1, 'TimedOut', 2],
  'answers garbage': [(s) => s.end('hello\r\n\r\n'), 'OutcomeUnknown', 1, 'TimedOut', 2],
  'ends early in the head': [(s) => s.end('HTTP/1.1 200 OK\r\nconte'), 'OutcomeUnknown', 1, 'TimedOut', 2],
  'answers with a huge head': [
    (s) => s.end(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(1e5)}\r\n\r\n`), 'OutcomeUnknown', 1, 'TimedOut', 2,
  ],
  'is silent': [() => {}, 'OutcomeUnknown', 1, 'TimedOut', 2],
  'switches protocols': [
    (s) => s.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'), 'OutcomeUnknown', 1, 'TimedOut', 2,
  ],
  'ends early in the body of a 2xx': [
    (s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"docket'), 'UnexpectedResponse', 1, 'TimedOut', 2,
  ],
  'is late with the body of a 2xx': [
    (s) => s.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'), 'UnexpectedResponse', 1, 'TimedOut', 2,
  ],
  'ends early in a chunked body': [
    (s) => s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"doc'), 'UnexpectedResponse', 1, 'TimedOut', 2,
  ],
  'has a failure of its own': [(s) => s.write(answerText({}, '503 X')), 'OutcomeUnknown', 2, 'Unavailable', 2],
  'redirects': [
    (s) => s.write(answerText({}, '302 X', 'location: /api/v2/dockets\r\n')), 'Rejected', 1, 'Rejected', 1,
  ],
};

for (const [driver, Client] of Object.entries(DRIVERS)) {
  for (const [what, [behave, createError, creates, readError, reads]] of Object.entries(FAULTS)) {
    test(`${driver}: a service that ${what}: a create is ${createError}, a read is ${readError}`, async () => {
      await withSockets(behave, (service) =>
        withClient(service.url, QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, createError, error.stack);
          assert.equal(error.mayHaveCreated, true);
          assert.equal(error.attempts.length, creates);
          assert.equal(service.posts, creates);
        }, Client),
      );
      await withSockets(behave, (service) =>
        withClient(service.url, QUICK, async (client) => {
          const error = await failure(client.dockets.get(DOCKET));
          assert.equal(error.name, readError, error.stack);
          assert.equal(service.received, reads);
        }, Client),
      );
    });
  }

  test(`${driver}: a service that resets connections as they are made receives a create at most once`, () =>
    withListener((socket) => socket.resetAndDestroy(), (service) =>
      withClient(service.url, QUICK, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.ok(['OutcomeUnknown', 'Unreachable'].includes(error.name), error.stack);
        assert.equal(error.mayHaveCreated, error.name === 'OutcomeUnknown');
        assert.ok(service.posts <= 1);
      }, Client)));

  test(`${driver}: a create on an idle connection that is closed under it is sent once`, async () => {
    for (const close of ['destroy', 'resetAndDestroy', 'end']) {
      const behave = (socket, _, service) => {
        if (service.received === 1) socket.write(answerText());
        else socket[close]();
      };
      await withSockets(behave, (service) =>
        withClient(service.url, QUICK, async (client) => {
          await client.dockets.create(REQUEST);
          await new Promise((resolve) => setTimeout(resolve, 20));
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, 'OutcomeUnknown', error.stack);
          assert.equal(service.posts, 2);
          if (driver === 'node:http') assert.equal(service.connections, 1);
        }, Client));
    }
  });

  test(`${driver}: a create is sent once, with its length, whatever 421 asks for`, () =>
    withSockets(
      (socket, request, service) => {
        assert.match(request, /\r\ncontent-length: \d+\r\n/i);
        service.refuse();
        socket.end(answerText({}, '421 X', 'connection: close\r\n'));
      },
      (service) =>
        withClient(service.url, QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, 'Rejected', error.stack);
          assert.equal(error.attempts.length, 1);
          assert.equal(service.posts, 1);
        }, Client)));

  test(`${driver}: a port that refuses is Unreachable, with the attempts`, async () => {
    // A port that was free a moment ago.
    const url = await withListener(() => {}, async (service) => service.url);
    await withClient(url, { maxAttempts: 2 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'Unreachable', error.stack);
      assert.equal(error.mayHaveCreated, false);
      assert.equal(error.attempts.length, 2);
      assert.match(error.attempts[0].transportError, /ECONNREFUSED/);
    }, Client);
  });

  test(`${driver}: a name that does not exist is Unreachable`, () =>
    withClient('https://nosuch.invalid', { maxAttempts: 2 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'Unreachable', error.stack);
      assert.match(error.attempts[0].transportError, /ENOTFOUND|EAI_AGAIN/);
    }, Client));

  test(`${driver}: a redirect is not followed`, () =>
    withService(
      () => ({ status: 307, headers: { location: '/elsewhere' } }),
      (service) =>
        withClient(service.url, QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, 'Rejected', error.stack);
          assert.match(error.message, /elsewhere/);
          assert.equal(service.requests.length, 1);
        }, Client)));
}

const BOTH_UNREACHABLE = { 'node:http': ['Unreachable', 2], fetch: ['Unreachable', 2] };

/** What becomes of a handshake that comes to nothing: `fetch` reports none that is silent. */
const HANDSHAKES = {
  'never ends': [() => {}, { 'node:http': ['Unreachable', 2], fetch: ['OutcomeUnknown', 1] }],
  'is broken off': [(socket) => socket.once('data', () => socket.end()), BOTH_UNREACHABLE],
  'is answered without TLS': [(socket) => socket.once('data', () => socket.end(answerText())), BOTH_UNREACHABLE],
};

for (const [what, [accept, told]] of Object.entries(HANDSHAKES)) {
  for (const [driver, [name, attempts]] of Object.entries(told)) {
    test(`${driver}: a create whose TLS handshake ${what} is ${name}`, () =>
      withListener(accept, (service) =>
        withClient(service.url.replace('http:', 'https:'), QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, name, error.stack);
          assert.equal(error.attempts.length, attempts);
          assert.equal(service.posts, 0);
        }, DRIVERS[driver])));
  }
}

test('node:http: a handshake that never ends is reported with its time limit', () =>
  withListener(() => {}, (service) =>
    withClient(service.url.replace('http:', 'https:'), QUICK, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.attempts[0].transportError, 'no connection within 200 ms');
    })));

test('a service that takes longer than the connection may receives a create once', () =>
  withSockets(
    (socket) => setTimeout(() => socket.write(answerText()), 400),
    (service) =>
      withClient(service.url, { connectTimeoutMs: 50 }, async (client) => {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        assert.equal(service.posts, 1);
      }),
  ));

test('an answer that comes before the request is read decides', () =>
  withSockets(
    (socket) => socket.end(answerText({ detail: 'too large' }, '413 X', 'connection: close\r\n')),
    (service) =>
      withClient(service.url, {}, async (client) => {
        const callContext = { text: 'x'.repeat(500_000) };
        const error = await failure(client.dockets.create({ ...REQUEST, callContext }));
        assert.equal(error.response.status, 413);
      }),
  ));

test('an answer in pieces is read whole, header bytes and doubled headers included', () =>
  withSockets(
    (socket) => {
      const text = answerText(CREATED, '200 OK', 'x-request-id: caf\u00e9\r\nx-request-id: second\r\n');
      let at = 0;
      const next = () => {
        if (at >= text.length) return;
        socket.write(Buffer.from(text.slice(at, (at += 40)), 'latin1'));
        setImmediate(next);
      };
      next();
    },
    (service) =>
      withClient(service.url, {}, async (client) => {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      }),
  ));

test('of doubled headers the first counts, and bytes that are not UTF-8 cost nothing', () =>
  withSockets(
    (socket) =>
      socket.write(
        Buffer.from(answerText({}, '404 X', 'x-request-id: caf\u00e9\r\nx-request-id: 2\r\n'), 'latin1'),
      ),
    (service) =>
      withClient(service.url, {}, async (client) => {
        const error = await failure(client.dockets.get(DOCKET));
        assert.equal(error.response.requestId, 'caf\ufffd');
      }),
  ));

test('an answer that is too large is not read to its end', () =>
  withSockets(
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `10000\r\n${' '.repeat(65536)}\r\n`;
      const write = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', write);
      write();
    },
    (service) =>
      withClient(service.url, { maxResponseBytes: 3_000_000 }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.equal(error.name, 'UnexpectedResponse', error.stack);
        assert.equal(error.response.bodyCut, true);
        assert.equal(service.posts, 1);
      }),
  ));

test('a large answer is read whole', () =>
  withService(
    () => ({ body: Array(10_000).fill({ agent_id: 1, agent_name: 'n'.repeat(500) }) }),
    ({ url }) =>
      withClient(url, {}, async (client) => {
        const { agents } = await client.agents.list('org-1');
        assert.equal(agents.length, 10_000);
      }),
  ));
