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
import { DOCKET, REQUEST, TOKEN, scripted, skipLedger, withService } from './service.js';

const run = promisify(execFile);
const page = readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8');
const [remind, reminders, , unknown] = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);

const folder = mkdtempSync(join(tmpdir(), 'voice-calling-recipes-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(folder, 'node_modules/voice-calling'));
after(() => rmSync(folder, { recursive: true }));

test('tests without a phone pass', async () => {
  writeFileSync(join(folder, 'reminders.mjs'), remind);
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
  const missing = DOCKET.replace('0', '1');
  await withService(({ url }) => (url.endsWith(missing) ? { status: 404 } : {}), async ({ url }) => {
    const env = { ...process.env, VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN };
    const program = run(process.execPath, ['unknown.mjs'], { cwd: folder, env, timeout: 30_000 });
    const answers = ['-', 'a typing error', missing, DOCKET, 'n', DOCKET, 'y'];
    program.child.stdout.on('data', (piece) => /(later:|\(y\/n\)) $/.test(piece) && program.child.stdin.write(`${answers.shift()}\n`));
    await program;
  });
  const ledger = new Ledger(join(folder, 'calls.db'));
  const states = await Promise.all(keys.map(async (key) => (await ledger.get(key)).state));
  await ledger.close();
  assert.deepEqual(states, ['free', 'done']);
});
