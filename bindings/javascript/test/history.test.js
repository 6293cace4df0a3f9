/** A recorded history, for a report of a bug. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { Steps } from '../src/steps.js';
import { compiledOnce } from '../src/wasm.js';
import { REQUEST, TOKEN, failure, withBoth } from './service.js';

test('a history has all that happened without the token, and can be played again', async () => {
  const lines = [];
  const history = (line) => lines.push(line);
  await withBoth(
    (_, __, nth) => (nth === 1 ? { status: 503, body: `"${TOKEN} is unknown"` } : {}),
    { history },
    (client) => client.dockets.create(REQUEST),
  );
  assert.ok(!lines.join('').includes(TOKEN));
  assert.ok(lines.join('').includes('masked-token'));
  const [{ configure }, ...steps] = lines.map((line) => JSON.parse(line));
  const again = new Steps(await compiledOnce());
  assert.equal(again.configure(configure.environment, configure.random), undefined);
  assert.ok(steps.length >= 3);
  for (const { step, stepped } of steps) {
    assert.deepEqual({ Ok: again.step(step.events, step.now_ms, step.unix_s) }, stepped);
  }
});

test('settings that are refused are not recorded: they may be the token', async () => {
  const lines = [];
  const client = new VoiceClient({ baseUrl: 'x', token: TOKEN, env: {}, history: (line) => lines.push(line) });
  await failure(client.agents.list('org-1'));
  assert.deepEqual(lines, []);
});

test('a recorder that fails costs its line', () =>
  withBoth(() => ({}), { history: () => { throw new Error('the disk is full'); } }, async (client) => {
    const warned = new Promise((resolve) => process.once('warning', resolve));
    await client.dockets.create(REQUEST);
    assert.match((await warned).message, /history failed/);
  }));
