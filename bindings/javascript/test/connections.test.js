import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { DOCKET, REQUEST, answerText, withBoth, withClient, withSockets } from './service.js';

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('calls that follow each other use one connection', () =>
  withSockets(
    (socket) => socket.write(answerText()),
    (service) =>
      withClient(service.url, {}, async (client) => {
        for (let i = 0; i < 10; i++) await client.dockets.create(REQUEST);
        assert.equal(service.connections, 1);
      }),
  ));

test('a connection that was idle for more than a second is not used again', () =>
  withSockets(
    (socket) => socket.write(answerText()),
    (service) =>
      withClient(service.url, {}, async (client) => {
        await client.dockets.create(REQUEST);
        await pause(1200);
        await client.dockets.create(REQUEST);
        assert.equal(service.connections, 2);
      }),
  ));

test('a service that takes longer than an idle connection is kept is waited for', () =>
  withSockets(
    (socket) => setTimeout(() => socket.write(answerText()), 1500),
    (service) =>
      withClient(service.url, {}, async (client) => {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        assert.equal(service.posts, 1);
      }),
  ));

/**
 * The service closes each connection as soon as it has answered, without a word. What the client
 * could know of that, it has to know before it sends.
 */
test('a create is not sent on a connection that the service has closed, and is sent once', () =>
  withSockets(
    (socket) => socket.end(answerText()),
    (service) =>
      withClient(service.url, { maxAttempts: 1 }, async (client) => {
        for (let i = 0; i < 100; i++) {
          await pause(i % 3);
          assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        }
        assert.equal(service.posts, 100);
      }),
  ));

test('a connection that was closed while the event loop was busy is noticed', () =>
  withSockets(
    (socket) => socket.end(answerText()),
    (service) =>
      withClient(service.url, { maxAttempts: 1 }, async (client) => {
        await client.dockets.create(REQUEST);
        const free = Date.now() + 50;
        while (Date.now() < free);
        await client.dockets.create(REQUEST);
        assert.equal(service.posts, 2);
      }),
  ));

test('a service that says goodbye to an idle connection with a 408 is not misunderstood', () =>
  withSockets(
    (socket) => {
      socket.write(answerText());
      setTimeout(() => socket.write(answerText({}, '408 Request Timeout', 'connection: close\r\n')), 5);
    },
    (service) =>
      withClient(service.url, { maxAttempts: 1 }, async (client) => {
        for (let i = 0; i < 8; i++) {
          assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
          await pause(40);
        }
        assert.equal(service.posts, 8);
        assert.equal(service.connections, 8);
      }),
  ));

test('an agent of the user makes the connections, and stays the user\'s', () => {
  const agent = new http.Agent({ keepAlive: true });
  return withBoth(() => ({}), { agent }, async (client) => {
    await client.dockets.create(REQUEST);
    await client.close();
    assert.equal(Object.values(agent.freeSockets).flat().length, 1);
    agent.destroy();
  });
});

test('an IPv6 address is reached, and named in the header host', async (t) => {
  const server = http.createServer((request, response) => {
    response.end(JSON.stringify({ docket_id: DOCKET, status: request.headers.host }));
  });
  server.listen(0, '::1');
  try {
    await once(server, 'listening');
  } catch (error) {
    assert.equal(error.code, 'EADDRNOTAVAIL');
    t.diagnostic('this machine has no IPv6');
    return;
  }
  const host = `[::1]:${server.address().port}`;
  await withClient(`http://${host}`, {}, async (client) => {
    assert.equal((await client.dockets.get(DOCKET)).status, host);
  });
  server.close();
});
