/** The programs of the project's recipes. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ledger } from 'voice-calling';
import { REQUEST, scripted, skipLedger } from './service.js';

const run = promisify(execFile);
const page = readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8');
const [reminders, , unknown] = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);

const folder = mkdtempSync(join(tmpdir(), 'voice-calling-recipes-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(folder, 'node_modules/voice-calling'));
after(() => rmSync(folder, { recursive: true }));

const REMIND = `
import { OutcomeUnknown } from 'voice-calling';
export const remind = (client, toPhoneNumber) =>
  client.dockets.create({ agentId: 7, toPhoneNumber, callContext: {} }).catch((error) => {
    if (error instanceof OutcomeUnknown) return 'a person has to look';
    throw error;
  });`;

test('tests without a phone pass', async () => {
  writeFileSync(join(folder, 'reminders.mjs'), REMIND);
  writeFileSync(join(folder, 'reminders.test.mjs'), reminders);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', 'reminders.test.mjs'], { cwd: folder, env });
  assert.match(stdout, /^# fail 0$/m);
  assert.match(stdout, /^# pass [12]$/m);
});

test('a person resolves what is unknown', { skip: skipLedger }, async () => {
  const keys = ['crm-1', 'crm-2'];
  const { client } = scripted([{ lost: 'reset' }, { lost: 'reset' }], { ledger: join(folder, 'calls.db') });
  for (const once of keys) await assert.rejects(client.dockets.create(REQUEST, { once }));
  await client.close();
  writeFileSync(join(folder, 'unknown.mjs'), unknown);
  const program = run(process.execPath, ['unknown.mjs'], { cwd: folder });
  const answers = ['-\n', '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11\n'];
  program.child.stdout.on('data', (piece) => String(piece).endsWith('later: ') && program.child.stdin.write(answers.shift()));
  await program;
  const ledger = new Ledger(join(folder, 'calls.db'));
  const states = await Promise.all(keys.map(async (key) => (await ledger.get(key)).state));
  await ledger.close();
  assert.deepEqual(states, ['free', 'done']);
});
