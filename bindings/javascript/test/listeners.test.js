/** The listeners of a user, and the log: what goes wrong there never touches a call. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { DOCKET, REQUEST, TOKEN, endOf, failure, logged, scripted, started, withBoth, withService } from './service.js';

test('a stderr that is read gets a line for each attempt, one that is closed or throws ends no call and no process', () =>
  withService(() => ({}), async ({ url, requests }) => {
    const program = `
      import { VoiceClient } from 'voice-calling';
      const env = { VOICE_CALLING_LOG: 'attempts' };
      const client = new VoiceClient({ baseUrl: '${url}', token: '${TOKEN}', env });
      await new Promise((begin) => process.stdin.once('data', begin));
      for (let i = 0; i < 3; i++) {
        console.log((await client.dockets.create(${JSON.stringify(REQUEST)})).docketId);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      process.stderr.write = () => { throw new Error('the disk is full'); };
      console.log((await client.dockets.create(${JSON.stringify(REQUEST)})).docketId);
      await client.close();
      process.exit();`;
    for (const isRead of [true, false]) {
      const child = started(program);
      const ended = endOf(child);
      if (!isRead) {
        child.stderr.destroy();
        await once(child.stderr, 'close');
      }
      child.stdin.end('begin');
      const { code, stdout, stderr } = await ended;
      assert.equal(code, 0, stderr);
      assert.equal(stdout, `${DOCKET}\n`.repeat(4));
      const lines = stderr.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
      assert.deepEqual(lines.map(({ status }) => status), isRead ? [200, 200, 200] : []);
    }
    assert.equal(requests.length, 8);
  }));

/** Listeners that fail, each in its way. */
const LISTENERS = {
  throws: () => { throw new Error('the database is gone'); },
  rejects: async () => { throw new Error('the database is gone'); },
  'throws a symbol': () => { throw Symbol('gone'); },
};

for (const [what, listener] of Object.entries(LISTENERS)) {
  test(`a listener that ${what} becomes a warning, and no failure`, async () => {
    const { client } = scripted([], { onAttempt: listener, onCreated: listener });
    const lines = await logged(async () => {
      await client.dockets.create(REQUEST);
    });
    for (const name of ['onAttempt', 'onCreated']) {
      assert.ok(lines.some((line) => line.startsWith(`${name} failed: `)), lines.join('\n'));
    }
  });
}

test('onAttempt is called for every attempt', async () => {
  const entries = [];
  const { client } = scripted([{ status: 503 }], { onAttempt: (entry) => entries.push(entry) });
  await client.dockets.create(REQUEST);
  await new Promise(setImmediate);
  assert.deepEqual(entries.map(({ attempt, status }) => [attempt, status]), [[1, 503], [2, 200]]);
  assert.equal(entries[0].function, 'dockets.create-docket-v2');
  const names = ['function', 'method', 'path', 'attempt', 'status', 'startedMs', 'durationMs'];
  assert.deepEqual(entries.map(Object.keys), [[...names, 'pauseMs'], names]);
  assert.ok(Object.isFrozen(entries[0]));
});

test('onCreated is called before the call returns, with the id and what finds its row', () => {
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
    const [, second] = await client.dockets.createMany([row(3), row(2)], { timeoutMs: 5000 });
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
