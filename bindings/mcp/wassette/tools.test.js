/** The components with tools for AI agents, in Wassette itself; the requests on the wire too. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { TOKEN, withService } from '../../javascript/test/service.mjs';
import { CREATE, call, testBehaviour, withAgent } from '../test/agent.js';
import { TOOLS } from '../tools.js';

/** Set by `cargo xtask tools test`: the program, and the folder of the components. */
const { WASSETTE, VOICE_CALLING_TARGET } = process.env;
const ALL = 'voice-calling-tools';
const READ_ONLY = 'voice-calling-tools-read-only';
/** It serves before it has loaded its components. */
const LOADED = 'Background component loading completed';

/** What a component needs. */
const GRANTS = [
  ['environment-variable', 'VOICE_CALLING_BASE_URL'],
  ['environment-variable', 'VOICE_CALLING_API_TOKEN'],
  ['network', '127.0.0.1'],
];

/** Runs `test` with a client of Wassette, which has `component` with its grants, on a service. */
function withWassette({ component = ALL, answer = () => ({}) }, test) {
  return withService(answer, async (service) => {
    const folder = mkdtempSync(join(tmpdir(), 'wassette-'));
    const run = (...words) =>
      execFileSync(WASSETTE, [...words, '--component-dir', folder], { encoding: 'utf8', stdio: 'pipe' });
    try {
      run('component', 'load', `file://${join(VOICE_CALLING_TARGET, `${component}.wasm`)}`);
      for (const [kind, what] of GRANTS) run('permission', 'grant', kind, component, what);
      const settings = { VOICE_CALLING_BASE_URL: service.url, VOICE_CALLING_API_TOKEN: TOKEN };
      const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      const args = ['run', '--component-dir', folder, '--disable-builtin-tools', ...env];
      return await withAgent({ command: WASSETTE, args, ready: LOADED }, (client) => test(client, service));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

/** What a tool returned. Wassette asks for every argument. */
async function result(client, name, given) {
  const { parameters } = TOOLS[name];
  const all = Object.fromEntries(Object.keys(parameters).map((it) => [it, null]));
  const { isError, text } = await call(client, name, { ...all, ...given });
  if (isError) return { isError, text };
  const { ok, err } = JSON.parse(text);
  return { isError: ok === undefined, text: ok ?? err };
}

testBehaviour(({ readOnly, answer }, test) =>
  withWassette({ component: readOnly ? READ_ONLY : ALL, answer }, (client, { requests }) =>
    test({ client, requests, call: (name, given) => result(client, name, given) })));

test('the description of a tool has those of its parameters', () =>
  withWassette({}, async (client) => {
    for (const { name, description } of (await client.listTools()).tools) {
      const { parameters } = TOOLS[name];
      for (const [parameter, type] of Object.entries(parameters)) assert.ok(description.includes(`${parameter}: ${type.description}`));
    }
  }));

test('a create of unknown outcome is sent once, and a person is to be asked', () =>
  withWassette({ answer: () => ({ status: 503 }) }, async (client, { requests }) => {
    const { text } = await result(client, 'create-docket-and-call', CREATE);
    assert.match(text, /^OUTCOME UNKNOWN: .*Do not repeat this call; ask a person\.$/);
    assert.equal(requests.length, 1);
  }));
