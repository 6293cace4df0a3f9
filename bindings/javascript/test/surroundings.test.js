/** Where the package may run: under a test runner that replaces things, without a compiler, with an odd clock. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileFunction, createContext, runInContext } from 'node:vm';
import { DOCKET, REQUEST, TOKEN, failure, withClient, withService } from './service.js';

const cwd = fileURLToPath(new URL('..', import.meta.url));

/** A copy of a module of the package, loaded as test runners load CommonJS: there is no `import()`. */
function loaded(file, options = {}) {
  const module = { exports: {} };
  const names = ['module', 'exports', 'require'];
  const load = compileFunction(readFileSync(file, 'utf8'), names, { filename: file, ...options });
  load(module, module.exports, (name) =>
    name.startsWith('.') ? loaded(resolve(dirname(file), name), options) : createRequire(file)(name),
  );
  return module.exports;
}

/** A call that hangs goes on when the time of an attempt is over. */
const IN_TIME = { timeout: 5000 };

const DRIVERS = { 'node:http': 'index', fetch: 'fetch' };

for (const [driver, name] of Object.entries(DRIVERS)) {
  const load = () => loaded(`${cwd}dist/${name}.cjs`).VoiceClient;

  test(`${driver}: imported under the timers of a test, it works when they are gone`, IN_TIME, () =>
    withService((_, __, nth) => (nth === 2 ? { status: 503 } : {}), ({ url, requests }) => {
      const restore = frozen('setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask');
      let Client;
      try {
        Client = load();
      } finally {
        restore();
      }
      return withClient(url, {}, async (client) => {
        // The second is retried after a pause, and on a connection that was used before.
        for (let i = 0; i < 2; i++) assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        const controller = new AbortController();
        const aborted = failure(client.dockets.waitFor(DOCKET, { timeoutMs: 60_000, signal: controller.signal }));
        controller.abort(DOCKET);
        assert.equal(await aborted, DOCKET);
        assert.equal(requests.filter(({ method }) => method === 'POST').length, 3);
      }, Client);
    }));

  test(`${driver}: a call that waits under the timers of a test holds up no call after them`, IN_TIME, () =>
    withService((_, __, nth) => (nth <= 2 ? { status: 503 } : {}), ({ url }) =>
      withClient(url, { backoffMs: 50, maxBackoffMs: 50 }, async (client) => {
        const controller = new AbortController();
        const restore = frozen('setTimeout', 'clearTimeout');
        let waiting;
        try {
          await new Promise((resolve) => {
            const options = { timeoutMs: 60_000, signal: controller.signal, onProgress: resolve };
            waiting = failure(client.dockets.waitFor(DOCKET, options));
          });
          // The pause before the next poll has begun.
          await new Promise(setImmediate);
        } finally {
          restore();
        }
        assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
        controller.abort();
        await waiting;
      }, load())));

  test(`${driver}: a clock that is set back costs no call`, IN_TIME, () =>
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
      }, load())));

  test(`${driver}: where nothing is compiled, the constructor says what it has to be given`, () => {
    const sandbox = { process, performance, TextEncoder, TextDecoder };
    const parsingContext = createContext(sandbox, { codeGeneration: { wasm: false } });
    const { VoiceClient, ConfigurationProblem } = loaded(`${cwd}dist/${name}.cjs`, { parsingContext });
    const options = { baseUrl: 'http://127.0.0.1:9', token: TOKEN, env: {} };
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.ok(error instanceof ConfigurationProblem, error.stack);
      assert.equal(error.problem.subject, 'wasm');
      assert.match(error.message, /import wasm from 'voice-calling\/voice-calling-sans-io\.wasm'/);
      return true;
    });
    const wasm = runInContext('WebAssembly', parsingContext).Module.prototype;
    assert.doesNotThrow(() => new VoiceClient({ ...options, wasm: Object.create(wasm) }));
  });
}

/** Timers of a test, which are never over, in the place of the real ones. Returns what takes them away. */
function frozen(...names) {
  const usual = Object.fromEntries(names.map((name) => [name, globalThis[name]]));
  for (const name of names) globalThis[name] = () => ({ ref() {}, unref() {} });
  return () => Object.assign(globalThis, usual);
}
