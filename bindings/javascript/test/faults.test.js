/**
 * Faults that only sockets have, on both drivers: which error reports them, and that a create is
 * sent once, and again only if it certainly did nothing. The table of cases has the others.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCKET, DRIVERS, REQUEST, answerText, failure, pause, withClient, withListener, withSockets } from './service.js';

const QUICK = { attemptTimeoutMs: 300, connectTimeoutMs: 200, deadlineMs: 3000, maxAttempts: 2 };

/** What the service does, and the error of a create, which is sent once. A read is sent twice, and then timed out. */
const FAULTS = {
  'answers garbage': [(s) => s.end('hello\r\n\r\n'), 'OutcomeUnknown'],
  'switches protocols': [(s) => s.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'), 'OutcomeUnknown'],
  'is late with the body of a 2xx': [(s) => s.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'), 'UnexpectedResponse'],
};

for (const [driver, Client] of Object.entries(DRIVERS)) {
  for (const [what, [behave, name]] of Object.entries(FAULTS)) {
    test(`${driver}: a service that ${what}: a create is ${name}, and sent once`, () =>
      withSockets(behave, (service) =>
        withClient(service.url, QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, name, error.stack);
          assert.equal(error.mayHaveCreated, true);
          assert.equal(service.posts, 1);
          assert.equal((await failure(client.dockets.get(DOCKET))).name, 'TimedOut');
          assert.equal(service.received, 3);
        }, Client)));
  }

  test(`${driver}: a create on an idle connection that is closed under it is sent once`, async () => {
    for (const close of ['destroy', 'resetAndDestroy', 'end']) {
      const behave = (socket, _, service) => {
        if (service.received === 1) socket.write(answerText());
        else socket[close]();
      };
      await withSockets(behave, (service) =>
        withClient(service.url, QUICK, async (client) => {
          await client.dockets.create(REQUEST);
          await pause(20);
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, 'OutcomeUnknown', error.stack);
          assert.equal(service.posts, 2);
          if (driver === 'node:http') assert.equal(service.connections, 1);
        }, Client));
    }
  });

  for (const [status, header, name] of [
    ['421 X', 'connection: close', 'Rejected'],
    ['401 X', 'www-authenticate: Basic realm="x"', 'Unauthorized'],
  ]) {
    test(`${driver}: a create is sent once, with its length, whatever ${status} asks for`, () =>
      withSockets(
        (socket, request, service) => {
          assert.match(request, /\r\ncontent-length: \d+\r\n/i);
          service.refuse();
          socket.end(answerText({}, status, `${header}\r\n`));
        },
        (service) =>
          withClient(service.url, QUICK, async (client) => {
            const error = await failure(client.dockets.create(REQUEST));
            assert.equal(error.name, name, error.stack);
            assert.equal(error.attempts.length, 1);
            assert.equal(service.posts, 1);
          }, Client)));
  }

  test(`${driver}: a name that does not exist is Unreachable`, () =>
    withClient('https://nosuch.invalid', { maxAttempts: 2 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'Unreachable', error.stack);
      assert.match(error.attempts[0].transportError, /ENOTFOUND|EAI_AGAIN/);
    }, Client));
}

const UNREACHABLE = ['Unreachable', 2];

/** What becomes of a handshake that comes to nothing: `fetch` reports none that is silent. */
const HANDSHAKES = {
  'never ends': [() => {}, { 'node:http': UNREACHABLE, fetch: ['OutcomeUnknown', 1] }],
  'is broken off': [(socket) => socket.once('data', () => socket.end()), { 'node:http': UNREACHABLE, fetch: UNREACHABLE }],
  'is answered without TLS': [
    (socket) => socket.once('data', () => socket.end(answerText())), { 'node:http': UNREACHABLE, fetch: UNREACHABLE },
  ],
};

for (const [what, [accept, expected]] of Object.entries(HANDSHAKES)) {
  for (const [driver, [name, attempts]] of Object.entries(expected)) {
    test(`${driver}: a create whose TLS handshake ${what} is ${name}`, () =>
      withListener(accept, (service) =>
        withClient(service.url.replace('http:', 'https:'), QUICK, async (client) => {
          const error = await failure(client.dockets.create(REQUEST));
          assert.equal(error.name, name, error.stack);
          assert.equal(error.attempts.length, attempts);
          const { transportError } = error.attempts[0];
          const isLate = driver === 'node:http' && what === 'never ends';
          if (isLate) assert.equal(transportError, 'no connection within 200 ms');
          assert.equal(service.posts, 0);
        }, DRIVERS[driver])));
  }
}

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
