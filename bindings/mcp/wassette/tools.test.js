/** The components with tools for AI agents, in Wassette itself; the requests on the wire too. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DOCKET, TOKEN, lines, withService } from '../../javascript/test/service.mjs';
import { withAgent } from '../test/agent.js';

/** Set by `cargo xtask tools test`: the program, and the folder of the components. */
const { WASSETTE, VOICE_CALLING_TARGET } = process.env;
const ALL = 'voice-calling-tools';
const READ_ONLY = 'voice-calling-tools-read-only';

/** The worlds of the WIT: the tools that ring no one, and those that ring, by their names with the documentation. */
const [READING, RINGING] = readFileSync(new URL('../../../wit/tools/tools.wit', import.meta.url), 'utf8')
  .split('world tools')
  .map((world) =>
    [...world.matchAll(/((?: *\/\/\/ .*\n)+) *export (\S+): func\((.*)\) -> /g)].map(([, docs, name, parameters]) => ({
      name,
      docs: docs.replaceAll(/\s*\/\/\/ /g, ' ').trim(),
      parameters: [...parameters.matchAll(/([\w-]+): /g)].map(([, it]) => it),
    })));

/** What a component needs. */
const GRANTS = [
  ['environment-variable', 'VOICE_CALLING_BASE_URL'],
  ['environment-variable', 'VOICE_CALLING_API_TOKEN'],
  ['network', '127.0.0.1'],
];

const CREATE = {
  'agent-id': 7,
  'to-phone-number': '919876543210',
  'call-context': '{"reference": "crm-1001", "amount": 0.10}',
};

/** Runs `test` with an agent of Wassette, which has `component` with its grants, on a service. */
function withWassette({ component = ALL, answer = () => ({}) }, test) {
  return withService(answer, async ({ url, requests }) => {
    const folder = mkdtempSync(join(tmpdir(), 'wassette-'));
    const run = (...words) =>
      execFileSync(WASSETTE, [...words, '--component-dir', folder], { encoding: 'utf8', stdio: 'pipe' });
    try {
      run('component', 'load', `file://${join(VOICE_CALLING_TARGET, `${component}.wasm`)}`);
      for (const [kind, what] of GRANTS) run('permission', 'grant', kind, component, what);
      const settings = { VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN };
      const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      const args = ['run', '--component-dir', folder, '--disable-builtin-tools', ...env];
      // It serves before it has loaded its components.
      const options = { command: WASSETTE, args, ready: 'Background component loading completed', protocol: '2025-06-18' };
      return await withAgent(options, ({ client, call }) =>
        test({ client, requests, call: (name, given) => result(call, name, given) }));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

/** What a tool returned. Wassette asks for every argument. */
async function result(call, name, given) {
  const { parameters } = [...READING, ...RINGING].find((tool) => tool.name === name);
  const all = Object.fromEntries(parameters.map((it) => [it, null]));
  const { isError, text } = await call(name, { ...all, ...given });
  if (isError) return { isError, text };
  const { ok, err } = JSON.parse(text);
  return { isError: ok === undefined, text: ok ?? err };
}

const names = (tools) => tools.map(({ name }) => name).sort();

test('an agent reads what each tool and its parameters are, and which ring a telephone; nothing is sent meanwhile', () =>
  withWassette({}, async ({ client, requests }) => {
    const { tools } = await client.listTools();
    assert.deepEqual(names(tools), names([...READING, ...RINGING]));
    for (const { name, docs } of [...READING, ...RINGING]) {
      const { description } = tools.find((tool) => tool.name === name);
      assert.ok(description.replaceAll(/\s+/g, ' ').includes(docs), description);
      assert.equal(docs.includes("RINGS A PERSON'S TELEPHONE"), names(RINGING).includes(name), name);
    }
    assert.deepEqual(requests, []);
  }));

test('without the tools that ring, nothing can be created', () =>
  withWassette({ component: READ_ONLY }, async ({ client, call, requests }) => {
    const { tools } = await client.listTools();
    assert.deepEqual(names(tools), names(READING));
    for (const { name } of RINGING) assert.ok((await call(name, CREATE)).isError, name);
    assert.equal(JSON.parse((await call('get-docket', { 'docket-id': DOCKET })).text).docket_id, DOCKET);
    assert.deepEqual(lines(requests), [`GET /api/v1/dockets/${DOCKET}`]);
  }));

test('agents are listed in short, and as the service says it on request', () => {
  const body = '[{"agent_id": 7, "agent_name": "renewals", "prompt": "a long text"}]';
  return withWassette({ answer: () => ({ body }) }, async ({ call, requests }) => {
    const given = { 'organization-id': 'org 1' };
    assert.equal((await call('list-agents', given)).text, '{"agents":[{"agent_id":7,"agent_name":"renewals"}]}');
    assert.equal((await call('list-agents', { ...given, raw: true })).text, body);
    assert.deepEqual(lines(requests), Array(2).fill('GET /api/v1/agents?organizationId=org%201'));
    assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
  });
});

test('a delivery is verified by its docket; what is no completion is reported without a request', () => {
  const docket = { docket_id: DOCKET, status: 'COMPLETED', to_phone_number: '919876543210' };
  return withWassette({ component: READ_ONLY, answer: () => ({ body: docket }) }, async ({ call, requests }) => {
    const verify = async (body) => (await call('verify-docket-completed', { body })).text;
    const delivery = { ...docket, attempts: [{}] };
    const confirmed = JSON.parse(await verify(JSON.stringify(delivery)));
    assert.deepEqual(confirmed, { verdict: 'confirmed', contradicted: [], unverified: ['attempts'], ...docket });
    const forged = JSON.parse(await verify(JSON.stringify({ ...delivery, to_phone_number: '919876543211' })));
    assert.deepEqual([forged.verdict, forged.contradicted], ['contradicted', ['to_phone_number']]);
    assert.equal(JSON.parse(await verify('{"event": "call"}')).verdict, 'not-a-completion');
    assert.match(await verify('no JSON'), /^body: found not JSON/);
    assert.deepEqual(lines(requests), Array(2).fill(`GET /api/v1/dockets/${DOCKET}`));
  });
});

test('a docket is created once, digits kept', () =>
  withWassette({}, async ({ call, requests }) => {
    const { text } = await call('create-docket-and-call', { ...CREATE, 'external-id': 'crm-1001' });
    assert.deepEqual(JSON.parse(text), { docket_id: DOCKET, status: 'OPEN', may_be_duplicate: false });
    assert.deepEqual(lines(requests), ['POST /api/v2/dockets']);
    assert.match(requests[0].body, /"call_context":\{"reference": "crm-1001", "amount": 0.10\}/);
    assert.equal(JSON.parse(requests[0].body).external_id, 'crm-1001');
  }));

test('a call is placed with its context, which is flat', () =>
  withWassette({ answer: () => ({ body: { task_id: 'task-1' } }) }, async ({ call, requests }) => {
    const placed = (context) =>
      call('place-call', { 'agent-name': 'renewals', 'to-phone-number': '919876543210', 'call-context': context });
    const { text } = await placed('{"name": "Asha"}');
    assert.deepEqual(JSON.parse(text), { task_id: 'task-1', may_be_duplicate: false });
    assert.deepEqual(lines(requests), ['POST /make_call']);
    assert.deepEqual(JSON.parse(requests[0].body).extra_config.call_context, { name: 'Asha' });
    for (const context of ['[]', '{"a": 1}', 'null', '{', '{"a": "1", "\\u0061": "2"}', '{"a": "1", "a": "1"}']) {
      const refused = await placed(context);
      assert.ok(refused.isError);
      assert.match(refused.text, /^call-context.*: found .*; allowed: .*Nothing was created/);
    }
    const { text: unnamed } = await call('place-call', { 'agent-name': '', 'to-phone-number': '919876543210', 'call-context': null });
    assert.match(unnamed, /^agent-name: found an empty string/);
    assert.equal(requests.length, 1);
  }));

test('a create of unknown outcome is sent once, and a person is to be asked', () =>
  withWassette({ answer: () => ({ status: 503 }) }, async ({ call, requests }) => {
    const { text } = await call('create-docket-and-call', CREATE);
    assert.match(text, /^OUTCOME UNKNOWN: .*Do not repeat this call; ask a person\.$/);
    assert.equal(requests.length, 1);
  }));
