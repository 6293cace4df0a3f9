/**
 * The package as its users have it: installed from the tarball into an empty folder.
 *
 * VOICE_CALLING_TARBALL is the tarball. `cargo xtask bindings test` sets it.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import * as classes from '../src/errors.js';
import { Ledger, VoiceClient } from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, pause, scripted, skipLedger, startHarness, withService } from './service.js';

const run = promisify(execFile);
const package_ = fileURLToPath(new URL('..', import.meta.url));
const tools = join(package_, 'node_modules');
const readme = readFileSync(join(package_, 'README.md'), 'utf8');
const frontPage = readFileSync(join(package_, '../../README.md'), 'utf8');
const recipes = readFileSync(join(package_, '../../docs/recipes.md'), 'utf8');
const tarball = process.env.VOICE_CALLING_TARBALL;
const mock = await startHarness('MOCK', '--port', '0', '--call-ms', '50');

const env = {
  ...process.env,
  VOICE_CALLING_BASE_URL: mock,
  VOICE_CALLING_API_TOKEN: TOKEN,
};
for (const name of ['VOICE_CALLING_TARBALL', 'NODE_TEST_CONTEXT']) delete env[name];

let folder;

before(async () => {
  assert.ok(tarball, 'VOICE_CALLING_TARBALL is not set: run `cargo xtask bindings test`');
  folder = mkdtempSync(join(tmpdir(), 'voice-calling-user-'));
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', tarball];
  await run('npm', install, { cwd: folder, env });
});

after(() => folder && rmSync(folder, { recursive: true }));

const examples = [...readme.matchAll(/^## ([^\n]*)\n[^#]*?```js\n(.*?)```/gms)].map(
  ([, title, code]) => ({ title, code }),
);
examples.push({ title: 'One call', code: /```js\n(.*?)```/s.exec(frontPage)[1] });

/** What each example prints, by its title. */
const PRINTED = {
  'Place a docket and wait for its end': /^[0-9a-f-]{36} OPEN\nCOMPLETED \{ reference: 'crm-1001' \}\n$/,
  'A batch': /^(?=[^]*^910000000000 [0-9a-f-]{36}$)(?=[^]*^910000000001 [0-9a-f-]{36}$)[^]*^12345 toPhoneNumber: found 5 digits; /m,
  'A direct call with its insights': /^ANSWERED \w+ \{/,
  'Several accounts': /^\d+ \S+\n$/,
  'Tests of your own': /^\[ 503, 429, 200 \] true\ntrue 1\nconfirmed\n$/,
  Errors: /^correct toPhoneNumber: found 5 digits; allowed: exactly 12/,
};

for (const { title, code } of examples.filter(({ title }) => !/^A (webhook|list)|^One call/.test(title))) {
  test(`the README's example runs: ${title}`, async () => {
    const { stdout, stderr } = await ran(title, code.replaceAll(/token-of-(alpha|beta)/g, TOKEN));
    assert.match(stdout, PRINTED[title]);
    assert.equal(stderr, '');
  });
}

test('the front page places one call, however often it is run', { skip: skipLedger }, async () => {
  const { code } = examples.find(({ title }) => title === 'One call');
  const [first, second] = [await ran('one call', code), await ran('one call', code)];
  const [, docketId] = /^([0-9a-f-]{36}) false\n$/.exec(first.stdout);
  assert.equal(second.stdout, `${docketId} true\n`);
});

test('the README\'s example calls each of a list once, although it is killed', { skip: skipLedger }, (t) => {
  const kills = Number(process.env.KILLS ?? 3);
  const { code } = examples.find(({ title }) => title === 'A list of people, each called once');
  const rows = Array.from({ length: 200 }, (_, i) => `crm-${i},${919876543200 + i},Asha`);
  writeFileSync(join(folder, 'customers.csv'), ['crm_id,phone,name', ...rows].join('\n'));
  const file = written('list', code);
  return withService(() => pause(5), async ({ url, requests, server }) => {
    const options = { cwd: folder, env: { ...env, VOICE_CALLING_BASE_URL: url } };
    for (let killed = 0; killed < kills; killed++) {
      const count = 1 + Math.floor(Math.random() * (120 / kills));
      const child = spawn(process.execPath, [file], { ...options, stdio: 'ignore' });
      for (const until = requests.length + count; requests.length < until; ) await once(server, 'request');
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    const { stdout } = await run(process.execPath, [file], options);
    const phones = requests.map(({ body }) => JSON.parse(body).to_phone_number);
    assert.equal(new Set(phones).size, phones.length);
    const unknown = stdout.match(/^\S+\/crm-\d+ may have been called, /gm)?.length ?? 0;
    assert.equal(stdout.match(/^\S+\/crm-\d+ is docket /gm).length, rows.length - unknown);
    t.diagnostic(`${kills} kills: ${phones.length} of ${rows.length} phones rang, ${unknown} are unknown`);
    // Those that were not called were killed between the ledger and the service.
    assert.ok(rows.length - phones.length <= unknown && unknown <= kills * 8);
  });
});

test('the README\'s example runs: A webhook with Express', async () => {
  const { code } = examples.find(({ title }) => title === 'A webhook with Express');
  link('express');
  const port = await freePort();
  const child = spawn(process.execPath, [written('webhook', code)], {
    cwd: folder,
    env: { ...env, PORT: String(port), NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    let printed = '';
    child.stdout.on('data', (piece) => (printed += piece));
    const docket_id = await completedDocket();
    const insights = { call_insights: { call_disposition: 'INTERESTED' } };
    assert.equal(await delivered(port, JSON.stringify({ docket_id, ...CONTEXT, ...insights })), 204);
    assert.equal(await delivered(port, JSON.stringify({ docket_id, call_context: {}, ...insights })), 503);
    assert.equal(await delivered(port, JSON.stringify({ docket_id: randomUUID(), ...CONTEXT, ...insights })), 503);
    assert.equal(await delivered(port, '{"event": "call"}'), 204);
    assert.equal(await delivered(port, 'broken'), 400);
    assert.equal(await delivered(port, ' '.repeat(1024 * 1024 + 1)), 413);
    assert.equal(printed, `${docket_id} COMPLETED INTERESTED\n`);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});

const [remind, reminders, , unknown] = [...recipes.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);

test('the recipe runs: Tests without a phone', async () => {
  written('reminders', remind, 'mjs');
  const file = written('reminders test', reminders, 'mjs');
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', file], { cwd: folder, env });
  assert.match(stdout, /^# fail 0$/m);
  assert.match(stdout, /^# pass [12]$/m);
});

test('the recipe runs: What to do with an unknown outcome', { skip: skipLedger }, async () => {
  const keys = ['crm-1', 'crm-2'];
  const cwd = mkdtempSync(join(folder, 'unknown-'));
  const { client } = scripted([{ lost: 'reset' }, { lost: 'reset' }], { ledger: join(cwd, 'calls.db') });
  for (const once of keys) await assert.rejects(client.dockets.create(REQUEST, { once }));
  await client.close();
  const missing = DOCKET.replace('0', '1');
  await withService(({ url }) => (url.endsWith(missing) ? { status: 404 } : {}), async ({ url }) => {
    const options = { cwd, env: { ...env, VOICE_CALLING_BASE_URL: url }, timeout: 30_000 };
    const program = run(process.execPath, [written('unknown', unknown, 'mjs')], options);
    const answers = ['-', 'a typing error', missing, DOCKET, 'n', DOCKET, 'y'];
    program.child.stdout.on('data', (piece) => /(later:|\(y\/n\)) $/.test(piece) && program.child.stdin.write(`${answers.shift()}\n`));
    await program;
  });
  const ledger = new Ledger(join(cwd, 'calls.db'));
  const states = await Promise.all(keys.map(async (key) => (await ledger.get(key)).state));
  await ledger.close();
  assert.deepEqual(states, ['free', 'done']);
});

test('the READMEs have nine examples, and all options with their defaults, classes and settings', async () => {
  assert.equal(examples.length, 9);
  const types = readFileSync(join(package_, 'types/options.d.ts'), 'utf8');
  const { settings } = await import('../src/settings.js');
  for (const [name, { variable }] of Object.entries(settings)) {
    const written = new RegExp(`Default: \`([^\`]*)\`\\. Variable: \`VOICE_CALLING_${variable}\``).exec(types)?.[1];
    const [, inReadme] = new RegExp(`^\\| \`${name}\` \\| ([^|]*) \\|`, 'm').exec(readme) ?? [];
    assert.equal(inReadme?.replaceAll(/[\`']/g, ''), written ?? 'required', name);
  }
  for (const { prototype: { kind, name } } of Object.values(classes)) assert.ok(!kind || readme.includes(`| \`${name}\` |`), name);
});

test('the examples pass the strict checks of TypeScript', async () => {
  for (const { title, code } of examples) written(title, code, 'ts');
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types', 'express']) link(name);
  for (const name of ['express', 'express-serve-static-core', 'body-parser', 'connect', 'send', 'serve-static', 'qs', 'range-parser', 'http-errors', 'mime']) {
    link(`@types/${name}`);
  }
  copyFileSync(join(package_, 'test/types.ts'), join(folder, 'types.ts'));
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const target = ['--target', 'es2023', '--module', 'nodenext'];
  const required = `import { VoiceClient } from 'voice-calling';
    import { ScriptedService } from 'voice-calling/testing';
    export const client = new VoiceClient(new ScriptedService().options);`;
  written('required', required, 'cts');
  const files = ['required.cts', ...examples.map(({ title }) => `${slug(title)}.ts`), 'types.ts'];
  const tsc = join(tools, 'typescript/bin/tsc');
  // The Node that is on the PATH: the compiler wants a newer one than the package.
  await run('node', [tsc, ...options, ...target, ...files], { cwd: folder }).catch((error) => {
    assert.fail(error.stdout || error.stderr);
  });
});

test('a bundler makes one file of it that runs alone', async () => {
  const alone = mkdtempSync(join(tmpdir(), 'voice-calling-bundle-'));
  try {
    const last = "console.log((await client.agents.list('').catch((error) => error)).name);";
    const code = examples[0].code.replace('await client.close();', `${last} await client.close();`);
    const entry = written('bundled', code);
    const bundle = join(alone, 'bundle.mjs');
    const options = { bundle: true, minify: true, platform: 'node', format: 'esm' };
    await build({ entryPoints: [entry], outfile: bundle, ...options });
    assert.deepEqual(readdirSync(alone), ['bundle.mjs']);
    const { stdout } = await run(process.execPath, [bundle], { cwd: alone, env });
    assert.match(stdout, /COMPLETED.*\nInvalidInput\n$/);
  } finally {
    rmSync(alone, { recursive: true });
  }
});

test('a program that forgets close() ends', async () => {
  const code = `
    import { VoiceClient } from 'voice-calling';
    const client = new VoiceClient();
    await client.agents.list('org-1');
    process.on('exit', () => console.log(performance.now() - end < 500));
    const end = performance.now();`;
  const { stdout } = await ran('forgetful', code);
  assert.equal(stdout, 'true\n');
});

/** Lets users' programs have a package that is not a dependency of ours. */
function link(name) {
  const to = join(folder, 'node_modules', name);
  if (existsSync(to) || !existsSync(join(tools, name))) return;
  mkdirSync(join(to, '..'), { recursive: true });
  symlinkSync(join(tools, name), to, 'junction');
}

function slug(title) {
  return title.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}

function written(title, code, type = 'js') {
  const file = join(folder, `${slug(title)}.${type}`);
  writeFileSync(file, code);
  return file;
}

/** Runs a program of a user, and returns what it prints. */
function ran(title, code) {
  return run(process.execPath, [written(title, code)], { cwd: folder, env });
}

const CONTEXT = { call_context: { reference: 'crm-1001' } };

/** The id of a docket of the mock service, once it is completed. */
async function completedDocket() {
  const client = new VoiceClient({ baseUrl: mock, token: TOKEN, env: {}, backoffMs: 50 });
  const { docketId } = await client.dockets.create({ ...REQUEST, callContext: CONTEXT.call_context });
  await client.dockets.waitFor(docketId, { timeoutMs: 60_000 });
  return docketId;
}

/** A free port below those that the system gives to connections. */
async function freePort() {
  const server = net.createServer().listen(randomInt(10_000, 20_000), '127.0.0.1');
  const isFree = await once(server, 'listening').then(() => true, () => false);
  if (!isFree) return freePort();
  const { port } = server.address();
  await once(server.close(), 'close');
  return port;
}

/** The status that the receiver answers, once it listens. */
async function delivered(port, body) {
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
      await response.text();
      return response.status;
    } catch (error) {
      if (error.cause?.code !== 'ECONNREFUSED') throw error;
      await pause(20);
    }
  }
}
