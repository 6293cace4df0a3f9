/** Where the package may run: under a test runner that replaces things, with an odd clock. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { DOCKET, REQUEST, TOKEN, failure, withClient, withService } from './service.js';

/** A copy of the package, loaded as test runners load CommonJS: there is no `import()`. */
function loaded() {
  const filename = fileURLToPath(new URL('../dist/index.cjs', import.meta.url));
  const module = { exports: {} };
  const load = compileFunction(readFileSync(filename, 'utf8'), ['module', 'exports', 'require'], { filename });
  load(module, module.exports, createRequire(filename));
  return /** @type {any} */ (module.exports);
}

/** A call that hangs goes on when the time of an attempt is over. */
const IN_TIME = { timeout: 5000 };

test('imported under the timers of a test, it works when they are gone', IN_TIME, () =>
  withService((_, __, nth) => (nth === 2 ? { status: 503 } : {}), async ({ url, requests }) => {
    const restore = frozen('setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask');
    let client;
    try {
      client = new (loaded().VoiceClient)({ baseUrl: url, token: TOKEN, env: {}, backoffMs: 1, maxBackoffMs: 5 });
    } finally {
      restore();
    }
    // The second is retried after a pause, and on a connection that was used before.
    for (let i = 0; i < 2; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    const controller = new AbortController();
    const aborted = failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000, signal: controller.signal }));
    controller.abort(DOCKET);
    assert.equal(await aborted, DOCKET);
    assert.equal(requests.filter(({ method }) => method === 'POST').length, 3);
    await client.close();
  }));

test('a call that waits under the timers of a test holds up no call after them', IN_TIME, () => {
  let answered;
  const wasAnswered = new Promise((resolve) => (answered = resolve));
  return withService((_, __, nth) => (nth <= 2 ? { status: 503 } : {}), ({ url }) =>
    withClient(url, { backoffMs: 50, maxBackoffMs: 50, onAttempt: answered }, async (client) => {
      const controller = new AbortController();
      const restore = frozen('setTimeout', 'clearTimeout');
      const waiting = failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000, signal: controller.signal }));
      await wasAnswered;
      // The pause before the next poll has begun.
      await new Promise(setImmediate);
      restore();
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      controller.abort();
      await waiting;
    }));
});

test('a clock that is set back costs no call', IN_TIME, () =>
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

/** Timers of a test, which are never over, in the place of the real ones. Returns what takes them away. */
function frozen(...names) {
  const usual = Object.fromEntries(names.map((name) => [name, globalThis[name]]));
  for (const name of names) globalThis[name] = () => ({ ref() {}, unref() {} });
  return () => Object.assign(globalThis, usual);
}
