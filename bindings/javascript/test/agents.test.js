/** Connections that the user makes: proxies, instrumentation, a `fetch` of their own. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { fetch as undiciFetch } from 'undici';
import { VoiceClient } from 'voice-calling';
import { VoiceClient as FetchClient } from 'voice-calling/fetch';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, withClient, withService } from './service.js';

const pem = (name) => readFileSync(new URL(`certificates/${name}`, import.meta.url), 'utf8');

/** A proxy that connects to any address that it is given, or answers with a status. */
async function withProxy(status, test) {
  const seen = [];
  const proxy = http.createServer();
  proxy.on('connect', (request, socket) => {
    seen.push(request.url);
    socket.on('error', () => {});
    if (status) return socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const [host, port] = request.url.split(':');
    const onward = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  try {
    await test(`http://127.0.0.1:${proxy.address().port}`, seen);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
}

async function withHttps(test) {
  const posts = [];
  const server = https.createServer({ key: pem('service.key'), cert: pem('service.pem') }, (request, response) => {
    posts.push(request.url);
    response.end(JSON.stringify(CREATED));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await test(`https://127.0.0.1:${server.address().port}`, posts);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test('an agent takes requests through a proxy to a service of a private authority', () =>
  withProxy(undefined, (proxy, seen) =>
    withHttps(async (url, posts) => {
      const agent = new HttpsProxyAgent(proxy, { keepAlive: true });
      await withClient(url, { agent, ca: pem('ca.pem') }, async (client) => {
        for (let i = 0; i < 3; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      });
      agent.destroy();
      assert.equal(posts.length, 3);
      assert.ok(seen.every((it) => it === new URL(url).host));
    })));

test('a proxy that refuses gets nothing of a create', () =>
  withProxy(403, (proxy) =>
    withHttps(async (url, posts) => {
      const agent = new HttpsProxyAgent(proxy);
      await withClient(url, { agent, ca: pem('ca.pem'), maxAttempts: 1 }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.ok(['Unauthorized', 'Unreachable', 'OutcomeUnknown'].includes(error.name), error.stack);
      });
      assert.equal(posts.length, 0);
    })));

test('a service behind a proxy whose authority is unknown gets nothing: Unreachable', () =>
  withProxy(undefined, (proxy) =>
    withHttps(async (url, posts) => {
      await withClient(url, { agent: new HttpsProxyAgent(proxy), maxAttempts: 2 }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST));
        assert.equal(error.name, 'Unreachable', error.stack);
      });
      assert.equal(posts.length, 0);
    })));

test('a proxy that is not there is Unreachable', () =>
  withHttps(async (url) => {
    const agent = new HttpsProxyAgent('http://127.0.0.1:9');
    await withClient(url, { agent, maxAttempts: 2 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, 'Unreachable', error.stack);
      assert.equal(error.attempts.length, 2);
    });
  }));

test('instrumentation that replaces http.request sees every request', () =>
  withService(() => ({}), async ({ url }) => {
    const { request } = http;
    const seen = [];
    http.request = (options, ...rest) => {
      seen.push(`${options.method} ${options.path}`);
      return request(options, ...rest);
    };
    try {
      await withClient(url, {}, (client) => client.dockets.create(REQUEST));
    } finally {
      http.request = request;
    }
    assert.deepEqual(seen, ['POST /api/v2/dockets']);
  }));

test('a fetch of the user sends the requests', () =>
  withService(() => ({}), ({ url }) =>
    withClient(url, { fetch: undiciFetch }, async (client) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    }, FetchClient)));

test('a browser is refused', () => {
  globalThis.window = { document: {} };
  try {
    assert.throws(() => new FetchClient({ env: {} }), /not for browsers: a page would publish the token/);
  } finally {
    delete globalThis.window;
  }
});

test('a request that Node does not take is refused, and nothing is sent', () =>
  withService(() => ({}), async ({ url, requests }) => {
    const agent = new http.Agent();
    agent.addRequest = () => {
      throw new Error('the agent is broken');
    };
    const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, agent, maxAttempts: 1 });
    const error = await failure(client.dockets.create(REQUEST));
    assert.equal(error.name, 'Unreachable', error.stack);
    assert.equal(requests.length, 0);
  }));
