/**
 * The package as its users have it: installed from the tarball into an empty folder.
 *
 * VOICE_CALLING_TARBALL is the tarball. `cargo xtask bindings test` sets it.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import * as package_ from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, gate, startHarness, withService } from './service.mjs';

const { VoiceCallingError, VoiceClient } = package_;
const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const tools = join(root, 'node_modules');
const read = (path) => readFileSync(join(root, path), 'utf8');
const [readme, recipes] = ['README.md', '../../docs/recipes.md'].map(read);
const tarball = process.env.VOICE_CALLING_TARBALL;
const mock = await startHarness('MOCK', '--port', '0', '--call-ms', '50');
const env = { ...process.env, VOICE_CALLING_BASE_URL: mock, VOICE_CALLING_API_TOKEN: TOKEN };
for (const name of ['VOICE_CALLING_TARBALL', 'NODE_TEST_CONTEXT']) delete env[name];

let folder;

before(async () => {
  assert.ok(tarball, 'VOICE_CALLING_TARBALL is not set: run `cargo xtask bindings test`');
  folder = mkdtempSync(join(tmpdir(), 'voice-calling-user-'));
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder, env });
});

after(() => folder && rmSync(folder, { recursive: true }));

const examples = [...readme.matchAll(/^## ([^\n]*)\n[^#]*?```js\n(.*?)```/gms)].map(([, title, code]) => ({ title, code }));
const codeOf = (wanted) => examples.find(({ title }) => title === wanted).code;

/** What each example prints, by its title. */
const PRINTED = {
  'Place a docket and wait for its end': /^[0-9a-f-]{36} OPEN\nCOMPLETED \{ reference: 'crm-1001' \}\n$/,
  'Tests of your own': /^\[ 503, 429, 200 \] true 7\ntrue\n$/,
  Errors: /^correct toPhoneNumber: found 5 digits; allowed: exactly 12/,
};

for (const [title, printed] of Object.entries(PRINTED)) {
  test(`the README's example runs: ${title}`, async () => {
    const { stdout, stderr } = await ran(title, codeOf(title));
    assert.match(stdout, printed);
    assert.equal(stderr, '');
  });
}

test("the README's example calls each of a list once, although it is killed", (t) => {
  const kills = Number(process.env.KILLS ?? 3);
  const rows = Array.from({ length: 200 }, (_, i) => `crm-${i},${919876543200 + i},Asha`);
  writeFileSync(join(folder, 'customers.csv'), ['crm_id,phone,name', ...rows].join('\n'));
  const file = written('list', codeOf('A list of people, each called once'));
  const answer = (_, body) => ({ afterMs: 5, body: { docket_id: DOCKET.replace(/\d{4}$/, JSON.parse(body).to_phone_number.slice(-4)), status: 'OPEN' } });
  return withService(answer, async ({ url, requests, arrived }) => {
    const options = { cwd: folder, env: { ...env, VOICE_CALLING_BASE_URL: url } };
    for (let killed = 0; killed < kills; killed++) {
      const child = spawn(process.execPath, [file], { ...options, stdio: 'ignore' });
      await arrived(requests.length + 1 + randomInt(Math.floor(120 / kills)));
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    const { stdout } = await run(process.execPath, [file], options);
    const phones = requests.map(({ body }) => JSON.parse(body).to_phone_number);
    assert.equal(new Set(phones).size, phones.length);
    const lines = (pattern) => stdout.match(pattern)?.length ?? 0;
    const unknown = lines(/^\S+\/crm-\d+ may have been called, /gm);
    assert.equal(lines(/^\S+\/crm-\d+ is docket /gm), rows.length - unknown);
    t.diagnostic(`${kills} kills: ${phones.length} of ${rows.length} phones rang, ${unknown} are unknown`);
    // Those that were not called were killed between the ledger and the service.
    assert.ok(rows.length - phones.length <= unknown && unknown <= kills * 8);
  });
});

test("the README's example runs: A webhook with Express", async () => {
  link('express');
  // Tells the port that the system chose.
  const told = `
    import net from 'node:net';
    const { listen } = net.Server.prototype;
    net.Server.prototype.listen = function (...given) {
      return listen.apply(this.once('listening', () => process.send(this.address().port)), given);
    };`;
  const program = ['--import', pathToFileURL(written('port', told, 'mjs')).href, written('webhook', codeOf('A webhook with Express'))];
  const options = { cwd: folder, env: { ...env, PORT: '0', NODE_ENV: 'production' } };
  const child = spawn(process.execPath, program, { ...options, stdio: ['ignore', 'pipe', 'ignore', 'ipc'] });
  try {
    let printed = '';
    child.stdout.on('data', (piece) => (printed += piece));
    const [port] = await once(child, 'message');
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

const [renewals, telemetry] = [...recipes.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);

test('requests go through the proxy', () =>
  withService(() => ({ body: [] }), async ({ url, requests }) => {
    const client = new VoiceClient({ baseUrl: 'http://service.test', token: TOKEN, allowInsecureHttp: true, proxy: url });
    await client.agents.list('org-1');
    await client.close();
    assert.match(requests[0].url, /^http:\/\/service\.test\//);
  }));

test('the recipe runs: Insights of your own type', async () => {
  link('zod');
  written('renewals', renewals, 'mjs');
  const program = `
    import { ScriptedService } from 'voice-calling/testing';
    import { renewals } from './renewals.mjs';

    const calls = [0.25, 'a quarter'].map((amount) => ({ call_insights: { metadata: { amount } } }));
    const client = new ScriptedService([{ json: calls }]).client();
    console.log(JSON.stringify(renewals(await client.calls.get('task-1'))));`;
  const { stdout } = await run(process.execPath, [written('of the renewals', program, 'mjs')], { cwd: folder, env });
  const [typed, text] = JSON.parse(stdout);
  assert.deepEqual(typed, { amount: 0.25 });
  assert.equal(JSON.parse(text)[1].call_insights.metadata.amount, 'a quarter');
});

test('the recipe runs: Traces and metrics', async () => {
  for (const name of ['api', 'sdk-metrics', 'sdk-trace-base']) link(`@opentelemetry/${name}`);
  written('telemetry', telemetry, 'mjs');
  const program = `
    import { metrics, trace } from '@opentelemetry/api';
    import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
    import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
    import { ScriptedService } from 'voice-calling/testing';

    const spans = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
    const counted = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: counted })] });
    metrics.setGlobalMeterProvider(provider);
    const { createDocket, onAttempt } = await import('./telemetry.mjs');
    const client = new ScriptedService([{ lost: true }, { status: 429 }]).client({ onAttempt });
    for (let i = 0; i < 2; i++) {
      await createDocket(client, { agentId: 7, toPhoneNumber: '910000000000', callContext: {} }).catch(() => {});
    }
    await client.close();
    await provider.forceFlush();
    const ended = spans.getFinishedSpans().map(({ name, attributes }) => [name, attributes['http.response.status_code'], attributes['error.type']]);
    const points = counted.getMetrics()[0].scopeMetrics[0].metrics[0].dataPoints.map(({ value, attributes }) => [value, attributes]);
    console.log(JSON.stringify({ ended, points }));
    await provider.shutdown();`;
  const { stdout } = await run(process.execPath, [written('of the telemetry', program, 'mjs')], { cwd: folder, env });
  assert.deepEqual(JSON.parse(stdout), {
    ended: [['POST', null, 'no_response'], ['POST', 429, '429'], ['POST', 200, null]],
    points: [[1, { outcome: 'unknown' }], [1, { outcome: 'created', may_be_duplicate: false }]],
  });
});

test('the README has all errors', () => {
  for (const [name, Class] of Object.entries(package_)) {
    if (Class.prototype instanceof VoiceCallingError) assert.ok(readme.includes(`\`${name}\``), name);
  }
});

test('the examples pass the strict checks of TypeScript', async () => {
  for (const { title, code } of examples) written(title, code, 'ts');
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types', 'express']) link(name);
  for (const name of ['express', 'express-serve-static-core', 'body-parser', 'connect', 'send', 'serve-static', 'qs', 'range-parser', 'http-errors', 'mime']) {
    link(`@types/${name}`);
  }
  copyFileSync(join(root, 'test/types.ts'), join(folder, 'types.ts'));
  written('required', `import { VoiceClient } from 'voice-calling'; export const client = new VoiceClient();`, 'cts');
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2023', '--module', 'nodenext'];
  const files = ['required.cts', ...examples.map(({ title }) => `${slug(title)}.ts`), 'types.ts'];
  // The Node that is on the PATH: the compiler wants a newer one than the package.
  await run('node', [join(tools, 'typescript/bin/tsc'), ...options, ...files], { cwd: folder }).catch((error) => {
    assert.fail(error.stdout || error.stderr);
  });
});

test('what is installed is small, and has no dependency', async () => {
  const installed = join(folder, 'node_modules/voice-calling');
  assert.ok(statSync(join(installed, 'voice-calling.node')).size < 8_000_000);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.deepEqual([dependencies, optionalDependencies], [undefined, undefined]);
});

/** Runs the installed command, on which `meanwhile` acts, which may wait for what it says. */
async function commanded(url, given, meanwhile, terminal) {
  const program = join(folder, 'node_modules/.bin/voice-calling');
  const [command, arguments_] = terminal ? ['script', ['-qefc', [program, ...given].join(' '), '/dev/null']] : [program, given];
  const child = spawn(command, arguments_, { cwd: folder, env: { ...env, VOICE_CALLING_BASE_URL: url } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
  const closed = once(child, 'close');
  const said = async (pattern) => {
    while (!pattern.test(output)) await once(child.stderr, 'data');
  };
  await meanwhile?.(child, said);
  const [code, signal] = await closed;
  return { output, code, signal };
}

test('the installed command checks, calls, and ends as the program does', () => {
  const people = Array.from({ length: 20 }, (_, i) => `crm-${i},${919876543200 + i}`);
  writeFileSync(join(folder, 'people.csv'), ['crm_id,phone', ...people].join('\n'));
  const list = ['call-list', 'people.csv', '--agent-id', '7', '--number-column', 'phone', '--key-column', 'crm_id', '--campaign', 'c', '--ledger', 'people.db'];
  const stopping = /finishing the open calls/;
  const { open, opened } = gate();
  const answer = async ({ method }, body, n) => {
    if (n > 5) await opened;
    const docket_id = DOCKET.replace(/\d{4}$/, method === 'POST' ? JSON.parse(body).to_phone_number.slice(-4) : '0000');
    return n > 10 ? null : { body: { docket_id, status: 'OPEN' } };
  };
  return withService(answer, async ({ url, requests, arrived }) => {
    const [check, unknown, version] = [await commanded(url, [...list, '--check']), await commanded(url, ['nothing']), await commanded(url, ['--version'])];
    assert.deepEqual([check.code, unknown.code, version.code, requests.length], [0, 2, 0, 0], check.output + unknown.output);
    assert.match(check.output, /20 rows: 20 callable/);
    assert.match(unknown.output, /unrecognized subcommand 'nothing'/);
    const terminal = await commanded(url, [...list, '--max-creates', '5'], undefined, true);
    assert.deepEqual([terminal.code, requests.length], [3, 5], terminal.output);
    assert.match(terminal.output, /5\/20 .* left \|/);
    const once_ = await commanded(url, [...list, '--in-flight', '5'], async (child, said) => {
      await arrived(10);
      child.kill('SIGINT');
      await said(stopping);
      open();
    });
    assert.deepEqual([once_.code, requests.length], [3, 10], once_.output);
    assert.match(once_.output, /5 called[^]*interrupted/);
    const twice = await commanded(url, [...list, '--in-flight', '5'], async (child, said) => {
      await arrived(15);
      child.kill('SIGTERM');
      await said(stopping);
      child.kill('SIGINT');
    });
    assert.deepEqual([twice.code, requests.length], [3, 15], twice.output);
    assert.equal(twice.output.match(/left unknown: /g)?.length, 5, twice.output);
    const results = await commanded(url, ['results', '--ledger', 'people.db'], async (child) => (await arrived(16), child.kill('SIGINT')));
    assert.deepEqual([results.code, results.signal], [null, 'SIGINT'], results.output);
  });
});

/** Other runtimes, and how they run a program. */
const RUNTIMES = {
  Bun: [join(tools, '@oven/bun-linux-x64/bin/bun'), 'run'],
  Deno: [process.env.DENO ?? 'deno', 'run', '--allow-net', '--allow-env', '--allow-read', '--allow-ffi', '--allow-sys'],
};

for (const [name, [program, ...flags]] of Object.entries(RUNTIMES)) {
  test(`${name} runs the first example, a batch and a ledger`, async () => {
    const batch = `
      import { rmSync } from 'node:fs';
      const { VoiceClient: Client } = await import('voice-calling');
      const each = new Client({ ledger: '${slug(name)}.db' });
      const list = [1, 2].map((n) => ({ agentId: 7, toPhoneNumber: '910000000000', callContext: {}, key: 'crm-' + n }));
      const results = await each.dockets.createEach(list, { timeoutMs: 60_000 });
      console.log(results.map(({ ok }) => ok).join(), (await each.ledger.get('crm-1')).state);
      const gone = await each.dockets.get('x').catch((error) => error.name);
      console.log(gone);
      await each.close();`;
    const file = written(name, codeOf('Place a docket and wait for its end') + batch, 'mjs');
    const { stdout } = await run(program, [...flags, file], { cwd: folder, env, timeout: 120_000 });
    assert.match(stdout, /^[0-9a-f-]{36} OPEN\nCOMPLETED [^]*\ntrue,true done\nInvalidInputError\n$/);
  });
}

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
  await client.dockets.wait(docketId, { timeoutMs: 60_000 });
  await client.close();
  return docketId;
}

/** The status that the receiver answers. */
async function delivered(port, body) {
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
  await response.text();
  return response.status;
}
