/** What surrounds a client: the end of its program, workers, contexts, and garbage collection. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { DOCKET, TOKEN, gate, pause, ran, withBoth, withService } from './service.mjs';

const require = createRequire(import.meta.url);
const CLIENT = `
  import { VoiceClient } from 'voice-calling';
  const client = new VoiceClient();
  const request = { agentId: 7, toPhoneNumber: '919876543210', callContext: {}, externalId: 'crm-1' };
`;
/** Lets a program collect garbage at will. */
const COLLECTING = `import v8 from 'node:v8'; import { runInNewContext } from 'node:vm'; v8.setFlagsFromString('--expose-gc'); globalThis.gc = runInNewContext('gc');\n`;
const env = (url) => ({ VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN, VOICE_CALLING_ACCOUNTS: undefined });

test('an idle client does not keep its program running, and an operation does', () =>
  withService(() => ({ afterMs: 300 }), async ({ url }) => {
    const idle = await ran(`${CLIENT} await client.dockets.create(request);
      let turns = 0;
      setInterval(() => turns++, 100).unref();
      process.on('exit', () => console.log(turns));`, env(url));
    assert.deepEqual([idle.code, idle.stderr], [0, '']);
    assert.ok(Number(idle.stdout) < 20, idle.stdout);
    const waiting = await ran(`${CLIENT} client.dockets.create(request).then((it) => console.log(it.docketId));`, env(url));
    assert.equal(waiting.stdout, `${DOCKET}\n`);
    const batch = await ran(`${CLIENT} client.dockets.createEach([request], { timeoutMs: 60_000 }).start(); process.on('exit', () => console.log('end'));`, env(url));
    assert.equal(batch.code, 0);
  }));

test('process.exit with creates in flight logs each that may have been created', () =>
  withService(() => null, async ({ url, arrived }) => {
    const source = `${CLIENT}
      client.dockets.create(request).catch(() => {});
      client.dockets.createEach([{ ...request, externalId: 'crm-2' }], { timeoutMs: 60_000 }).start();
      process.stdin.on('end', () => process.exit(3)).resume();`;
    const { code, stderr } = await ran(source, env(url), arrived(2));
    assert.equal(code, 3);
    for (const id of ['crm-1', 'crm-2']) assert.match(stderr, new RegExp(`may exist.*${id}`));
  }));

/** Waits until all threads of a program sleep: it has processed what it was sent. */
async function asleep({ pid }) {
  const state = (thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1][0];
  for (let quiet = 0; quiet < 5; ) {
    await pause(20);
    quiet = readdirSync(`/proc/${pid}/task`).every((thread) => state(thread) === 'S') ? quiet + 1 : 0;
  }
}

test('a program that is busy when results arrive, and then exits, logs them', async () => {
  for (const logger of ['undefined', 'console']) {
    const { open, opened } = gate();
    await withService(() => opened, async ({ url, arrived }) => {
      const source = `${CLIENT}
        import { readFileSync, writeSync } from 'node:fs';
        const other = new VoiceClient({ logger: ${logger} });
        other.dockets.create(request);
        await new Promise((supplied) => {
          const each = function* () {
            for (const n of [2, 3, 4]) yield { ...request, externalId: 'crm-' + n };
            supplied();
          };
          other.dockets.createEach(each(), { timeoutMs: 60_000 }).start();
        });
        writeSync(1, 'busy');
        readFileSync(0);
        process.exit();`;
      const { stderr, stdout } = await ran(source, env(url), arrived(4), async (child, output) => {
        while (!output.stdout) await once(child.stdout, 'data');
        open();
        await asleep(child);
        child.stdin.end();
      });
      for (const id of ['crm-1', 'crm-2', 'crm-3', 'crm-4']) assert.match(stderr, new RegExp(`${DOCKET}.*${id}`), stdout);
    });
  }
});

test('a program that is frozen while an answer waits for it gets the answer', () =>
  withService(() => ({ afterMs: 200 }), async ({ url, arrived }) => {
    const source = `${CLIENT}
      new VoiceClient({ attemptTimeoutMs: 5000, timeoutMs: 5500 }).dockets.create(request).then((it) => console.log(it.docketId));`;
    const { stdout, stderr } = await ran(source, env(url), arrived(1), async (child) => {
      child.kill('SIGSTOP');
      await pause(6000);
      child.kill('SIGCONT');
    });
    assert.equal(stdout, `${DOCKET}\n`, stderr);
  }));

test('a worker has its own client, and its end logs its creates alone', () =>
  withService(({ body }) => (body.includes('hangs') ? null : {}), async ({ url, arrived }) => {
    const source = `${CLIENT}
      import { Worker } from 'node:worker_threads';
      const source = \`
        const { VoiceClient } = require('voice-calling');
        const client = new VoiceClient();
        const request = { agentId: 7, toPhoneNumber: '919876543210', callContext: {} };
        client.dockets.create(request).then(({ docketId }) => require('node:worker_threads').parentPort.postMessage(docketId));
        client.dockets.create({ ...request, externalId: 'hangs-1' }).catch(() => {});
      \`;
      const workers = Array.from({ length: 4 }, () => new Worker(source, { eval: true, execArgv: [] }));
      const ids = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
      process.stdin.on('end', async () => {
        await Promise.all(workers.map((worker) => worker.terminate()));
        console.log(ids.join(), (await client.dockets.create(request)).docketId);
      }).resume();`;
    const { code, stdout, stderr } = await ran(source, env(url), arrived(8));
    assert.deepEqual([code, stdout], [0, `${Array(4).fill(DOCKET).join()} ${DOCKET}\n`], stderr);
    assert.equal(stderr.match(/may exist.*hangs-1/g)?.length, 4, stderr);
  }));

test('values of another context are arguments as any other', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const request = runInNewContext(`({ agentId: 7n, toPhoneNumber: '919876543210', callContext: { when: new Date(0), list: [1] } })`);
    await client.dockets.create(request);
    assert.equal((await client.dockets.createEach(runInNewContext('(given) => [given]')(request), { timeoutMs: 60_000 }))[0].ok, true);
    assert.ok(requests[0].body.includes('{"when":"1970-01-01T00:00:00.000Z","list":[1]}'));
  }));

test('import and require load the same package', async () => {
  const imported = await import('voice-calling');
  const required = require('voice-calling');
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
});

test('a batch that is forgotten is collected, and what was not read is logged', () =>
  withService(() => ({}), async ({ url }) => {
    const source = `${CLIENT}
      client.dockets.createEach([request], { timeoutMs: 60_000 }).start();
      for (let i = 0; i < 10; i++) { gc(); await new Promise((it) => setTimeout(it, 50)); }`;
    const { stderr, code } = await ran(`${COLLECTING}${source}`, env(url));
    assert.equal(code, 0);
    assert.match(stderr, new RegExp(`${DOCKET}.*crm-1`));
  }));

test('clients that are forgotten are collected once their creates have ended', () =>
  withService(() => ({ afterMs: 100 }), async ({ url }) => {
    const source = `${CLIENT}
      for (let i = 0; i < 50; i++) new VoiceClient().dockets.create(request).then(() => process.stdout.write('.'));
      for (let i = 0; i < 5; i++) { gc(); await new Promise((it) => setTimeout(it, 50)); }`;
    const { stdout, code } = await ran(`${COLLECTING}${source}`, env(url));
    assert.deepEqual([code, stdout], [0, '.'.repeat(50)]);
  }));

