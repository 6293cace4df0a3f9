/** Connections: which are used again, what is kept of them, TLS, and those that a user's agent makes. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { test } from 'node:test';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { DOCKET, REQUEST, answerText, failure, listening, pause, pem, urlOf, withBoth, withClient, withService, withSockets } from './service.js';

// ---------------------------------------------------------------------------- used again

/** How a service treats a socket after each request, what its user does between, and how many connections are made. */
const REUSED = {
  'calls that follow each other use one connection': [(s) => s.write(answerText()), 10, () => {}, 1],
  'a connection that was idle for more than a second is not used again': [(s) => s.write(answerText()), 2, () => pause(1200), 2],
  // The service closes each connection without a word. What can be known of that is known before the client sends.
  'a create is not sent on a connection that the service has closed': [(s) => s.end(answerText()), 100, (i) => pause(i % 3), 100],
  'a connection that was closed while the event loop was busy is noticed': [(s) => s.end(answerText()), 2, () => busy(50), 2],
  'a service that says goodbye to an idle connection with a 408 is not misunderstood': [
    (socket) => {
      socket.write(answerText());
      setTimeout(() => socket.write(answerText({}, '408 Request Timeout', 'connection: close\r\n')), 5);
    },
    8,
    () => pause(40),
    8,
  ],
};

for (const [what, [behave, calls, between, connections]] of Object.entries(REUSED)) {
  test(what, () =>
    withSockets(behave, (service) =>
      withClient(service.url, { maxAttempts: 1 }, async (client) => {
        for (let i = 0; i < calls; i++) {
          await between(i);
          assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        }
        assert.deepEqual([service.posts, service.connections], [calls, connections]);
      })));
}

test('a goodbye that comes when a connection is used again is not taken for an answer', () => {
  let sayGoodbye;
  class Reusing extends http.Agent {
    reuseSocket(...given) {
      sayGoodbye();
      super.reuseSocket(...given);
    }
  }
  const agent = new Reusing({ keepAlive: true });
  return withSockets((socket) => {
    sayGoodbye = () => socket.end(answerText({}, '408 Request Timeout', 'connection: close\r\n'));
    socket.write(answerText());
  }, (service) =>
    withClient(service.url, { agent, maxAttempts: 1 }, async (client) => {
      for (let i = 0; i < 3; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      assert.deepEqual([service.posts, service.connections], [3, 3]);
      agent.destroy();
    }));
});

test('a service that takes longer than an idle connection is kept, or than one may take to be made, is waited for', () =>
  withSockets(
    (socket) => setTimeout(() => socket.write(answerText()), 1500),
    (service) =>
      withClient(service.url, { connectTimeoutMs: 50 }, async (client) => {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        assert.equal(service.posts, 1);
      }),
  ));

test('an IPv6 address is reached, and named in the header host', async (t) => {
  const server = http.createServer((request, response) => {
    response.end(JSON.stringify({ docket_id: DOCKET, status: request.headers.host }));
  });
  const isListening = await new Promise((resolve) => server.once('error', () => resolve(false)).listen(0, '::1', () => resolve(true)));
  if (!isListening) return t.skip('this machine has no IPv6');
  const host = `[::1]:${server.address().port}`;
  await withClient(`http://${host}`, {}, async (client) => {
    assert.equal((await client.dockets.get(DOCKET)).status, host);
  });
  server.close();
});

// ----------------------------------------------------------------- while the loop is busy

for (const when of ['before they were read', 'when the first was read']) {
  test(`answers that have come while the event loop was busy ${when} are taken, although their time is over`, () =>
    withSockets(
      // The answers are on their way before this process, which is both sides, does anything else.
      (_socket, _request, { received, sockets }) => {
        if (received < 3) return;
        for (const socket of sockets) socket.write(answerText());
        if (when === 'before they were read') busy(1500);
      },
      ({ url }) =>
        withClient(url, { deadlineMs: 1000, maxAttempts: 1 }, async (client) => {
          const creates = Array.from({ length: 3 }, () => client.dockets.create(REQUEST));
          if (when === 'when the first was read') Promise.race(creates).then(() => busy(1500));
          for (const { docketId } of await Promise.all(creates)) assert.equal(docketId, DOCKET);
        }),
    ));
}

test('a connection that was made while the event loop was busy is used, although its time is over', () => {
  const agent = new http.Agent();
  const { createConnection } = agent;
  agent.createConnection = (...given) => {
    queueMicrotask(() => busy(200));
    return createConnection.apply(agent, given);
  };
  return withBoth(() => ({}), { agent, connectTimeoutMs: 50, maxAttempts: 1 }, async (client) => {
    assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
  });
});

function busy(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

// ------------------------------------------------------------------------------ an odd clock

// A call that hangs goes on when the time of an attempt is over.
test('a clock that is set back costs no call', { timeout: 5000 }, () =>
  withService((_, __, nth) => (nth === 3 ? { status: 503 } : {}), ({ url }) =>
    withClient(url, { backoffMs: 20, maxBackoffMs: 20 }, async (client) => {
      await client.dockets.create(REQUEST);
      const usual = performance.now;
      let ms = 1e6;
      performance.now = () => (ms -= 100);
      try {
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      } finally {
        performance.now = usual;
      }
      const { attempts } = await client.dockets.create(REQUEST);
      assert.deepEqual(attempts.map(({ status }) => status), [503, 200]);
    })));

// ----------------------------------------------------------------------------------- TLS

const ca = pem('ca.pem');
const withHttps = (test, tls = {}) => withService(() => ({}), test, tls);

/** Runs one create, which fails before it is sent. */
async function unsent(url, options) {
  return withClient(url, { maxAttempts: 2, ...options }, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.equal(error.name, 'Unreachable', error.stack);
    assert.equal(error.attempts.length, 2);
    return error.attempts[0].transportError;
  });
}

test('a service that asks for a certificate accepts an agent that has one; with the option ca alone, the handshake succeeds and the request is refused', () =>
  withHttps(async ({ url }) => {
    const agent = new https.Agent({ ca, key: pem('client.pem'), cert: pem('client.pem') });
    await withClient(url, { agent }, async (client) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    });
    // With TLS 1.3 the refusal comes after the request was sent.
    await withClient(url, { ca }, async (client) => {
      assert.equal((await failure(client.dockets.create(REQUEST))).name, 'OutcomeUnknown');
    });
  }, { ca, requestCert: true, rejectUnauthorized: true }));

// -------------------------------------------------------------------------- a user's agents

/** A proxy that connects to any address that it is given. */
async function withProxy(test) {
  const proxy = http.createServer();
  proxy.on('connect', (request, socket) => {
    socket.on('error', () => {});
    const [host, port] = request.url.split(':');
    const onward = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
  });
  await listening(proxy);
  try {
    await test(urlOf(proxy));
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
}

test('an agent takes requests through a proxy to a service of a private authority; without either nothing is sent', () =>
  withProxy((proxy) =>
    withHttps(async ({ url, requests }) => {
      const agent = new HttpsProxyAgent(proxy, { keepAlive: true });
      await withClient(url, { agent, ca }, async (client) => {
        for (let i = 0; i < 3; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      });
      agent.destroy();
      for (const agent of [undefined, new HttpsProxyAgent(proxy)]) assert.match(await unsent(url, { agent }), /unable to verify/);
      await unsent(url, { agent: new HttpsProxyAgent('http://127.0.0.1:9'), ca });
      assert.equal(requests.length, 3);
    })));

test("an agent of the user makes the connections, and stays the user's; one that throws sends nothing", () => {
  const agent = new http.Agent({ keepAlive: true });
  const options = { agent, maxAttempts: 2 };
  return withBoth(() => ({}), options, async (client, { url, requests }) => {
    await client.dockets.create(REQUEST);
    await client.close();
    assert.equal(Object.values(agent.freeSockets).flat().length, 1);
    agent.destroy();
    agent.addRequest = () => {
      throw new Error('the agent is broken');
    };
    await unsent(url, options);
    assert.equal(requests.length, 1);
  });
});
