/** A recorded history, for a report of a bug. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VoiceClient } from 'voice-calling';
import { Steps, compiledOnce } from '../src/steps.js';
import { DOCKET, REQUEST, TOKEN, failure, withBoth } from './service.js';

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

const RECORDERS = {
  throws: () => {
    throw new Error('the disk is full');
  },
  rejects: async () => {
    throw new Error('the disk is full');
  },
  'never ends': () => new Promise(() => {}),
};

for (const [what, history] of Object.entries(RECORDERS)) {
  test(`a recorder that ${what} costs its lines and one warning`, async () => {
    const warnings = [];
    const hear = (warning) => warnings.push(warning.message);
    process.on('warning', hear);
    await withBoth(() => ({}), { history }, async (client) => {
      await client.dockets.create(REQUEST);
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    });
    process.off('warning', hear);
    assert.equal(warnings.length, what === 'never ends' ? 0 : 1);
    for (const warning of warnings) assert.match(warning, /^history failed: Error: the disk is full/);
  });
}

test('a line that cannot be masked is left out, and no id with it', async () => {
  const { mask } = Steps.prototype;
  Steps.prototype.mask = () => {
    throw new Error('it cannot be masked');
  };
  try {
    const lines = [];
    await withBoth(() => ({}), { history: (line) => lines.push(line) }, async (client) => {
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
    });
    assert.deepEqual(lines, []);
  } finally {
    Steps.prototype.mask = mask;
  }
});
