/** Whoever listens to the attempts, and what goes wrong there: it never touches a call. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DOCKET, REQUEST, TOKEN, failure, withBoth, withService } from './service.js';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('..', import.meta.url));

/** A program with a client of its own, that calls three times and prints what it got. */
const program = (url, options) => `
  import { VoiceClient } from 'voice-calling';
  const client = new VoiceClient({ baseUrl: '${url}', token: '${TOKEN}', env: {}, ...${options} });
  ${options.includes('LOG') ? "await new Promise((begin) => process.stdin.once('data', begin));" : ''}
  for (let i = 0; i < 3; i++) {
    console.log((await client.dockets.create(${JSON.stringify(REQUEST)})).docketId);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await client.close();
  process.exit();`;

const THREE = `${DOCKET}\n`.repeat(3);
const LOGGING = "{ env: { VOICE_CALLING_LOG: 'attempts' } }";

test('a stderr that nobody reads any more ends no process that logs its attempts to it', () =>
  withService(() => ({}), async ({ url, requests }) => {
    const flags = ['--input-type=module', '--eval', program(url, LOGGING)];
    const child = spawn(process.execPath, flags, { cwd });
    child.stderr.destroy();
    await once(child.stderr, 'close');
    child.stdin.end('begin');
    let printed = '';
    child.stdout.on('data', (piece) => (printed += piece));
    const [code] = await once(child, 'close');
    assert.equal(printed, THREE);
    assert.equal(code, 0);
    assert.equal(requests.length, 3);
  }));

test('attempts are logged to stderr, a line for each', () =>
  withService(() => ({}), async ({ url }) => {
    const flags = ['--input-type=module', '--eval', program(url, LOGGING)];
    const running = run(process.execPath, flags, { cwd });
    running.child.stdin.end('begin');
    const { stderr } = await running;
    const lines = stderr.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ status }) => status), [200, 200, 200]);
  }));

test('a stderr that throws does not touch a call', () =>
  withBoth(() => ({}), { env: { VOICE_CALLING_LOG: 'attempts' } }, async (client, { requests }) => {
    const { write } = process.stderr;
    process.stderr.write = () => {
      throw new Error('the disk is full');
    };
    try {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      assert.equal((await client.dockets.get(DOCKET)).docketId, DOCKET);
      await new Promise(setImmediate);
    } finally {
      process.stderr.write = write;
    }
    assert.equal(requests.length, 2);
  }));

/** Listeners that fail, each in its way. */
const LISTENERS = {
  throws: '() => { throw new Error("the database is gone"); }',
  'rejects': 'async () => { throw new Error("the database is gone"); }',
  'throws nothing of worth': '() => { throw Object.create(null); }',
  'throws a symbol': '() => { throw Symbol("gone"); }',
};

for (const [what, listener] of Object.entries(LISTENERS)) {
  test(`a listener that ${what} is warned of, and no failure`, () =>
    withService(() => ({}), async ({ url }) => {
      const flags = ['--input-type=module', '--eval', program(url, `{ onAttempt: ${listener}, onCreated: ${listener} }`)];
      const { stdout, stderr } = await run(process.execPath, flags, { cwd });
      assert.equal(stdout, THREE);
      for (const name of ['onAttempt', 'onCreated']) assert.match(stderr, new RegExp(`VoiceCallingWarning: ${name} failed: `));
    }));
}

test('an attempt is reported as it was', () => {
  const entries = [];
  const onAttempt = (entry) => entries.push(entry);
  return withBoth(() => ({ status: 404 }), { onAttempt }, async (client) => {
    await failure(client.dockets.get(DOCKET));
    await new Promise(setImmediate);
    assert.equal(entries.length, 1);
    const [{ function: name, method, attempt, status }] = entries;
    assert.deepEqual([name, method, attempt, status], ['dockets.get-docket', 'GET', 1, 404]);
    assert.ok(Object.isFrozen(entries[0]));
  });
});

test('what was created is reported before its call returns, with what finds its row', () => {
  const ids = { docket_id: DOCKET, task_id: 'task-1', agent_id: 7 };
  const log = [];
  const onCreated = (entry) => log.push(entry);
  return withBoth((_, body) => (body.includes('crm-2') ? { status: 422 } : { body: ids }), { onCreated }, async (client) => {
    const row = (i) => ({ ...REQUEST, externalId: `crm-${i}` });
    const called = async (call) => log.push((await call) && 'returned');
    await called(client.dockets.create(row(1)));
    await called(client.dockets.createV1(REQUEST));
    await called(client.calls.make({ fromAgentName: 'renewals', toPhoneNumber: '919876543210' }));
    await called(client.agents.create({ agentName: 'renewals' }));
    await client.dockets.get(DOCKET);
    const error = await failure(client.dockets.create(row(2)));
    const [first, second] = await client.dockets.createMany([row(3), row(2)], { timeoutMs: 5000 });
    assert.equal(first.ok, true);
    assert.deepEqual(log, [
      { function: 'dockets.create-docket-v2', id: DOCKET, externalId: 'crm-1' },
      'returned',
      { function: 'dockets.create-docket', id: DOCKET },
      'returned',
      { function: 'calls.make-call', id: 'task-1' },
      'returned',
      { function: 'agents.create-agent', id: 7 },
      'returned',
      { function: 'bulk.create-dockets-v2', id: DOCKET, index: 0, externalId: 'crm-3' },
    ]);
    assert.deepEqual([error.externalId, error.index], ['crm-2', undefined]);
    assert.deepEqual([second.error.externalId, second.error.index], ['crm-2', 1]);
    assert.match(JSON.stringify(second.error), /"index":1,"externalId":"crm-2"/);
  });
});
