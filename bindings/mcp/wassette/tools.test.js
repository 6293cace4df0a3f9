/** The components with tools for AI agents, in Wassette itself; the requests on the wire too. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DOCKET, TOKEN, lines, withService } from '../../javascript/test/service.js';
import { CREATE as GIVEN, call, withAgent } from '../test/agent.js';
import { TOOLS } from '../tools.js';

/** Set by `cargo xtask tools test`: the program, and the folder of the components. */
const { WASSETTE, VOICE_CALLING_TARGET } = process.env;
const ALL = 'voice-calling-tools';
const READ_ONLY = 'voice-calling-tools-read-only';
/** It serves before it has loaded its components. */
const LOADED = 'Background component loading completed';
const RINGING = TOOLS.filter(({ rings }) => rings).map(({ name }) => name);
const READING = TOOLS.filter(({ rings }) => !rings).map(({ name }) => name);
/** Wassette asks for every argument. */
const CREATE = { ...GIVEN, 'external-id': null };

/** Runs `test` with a client of Wassette, which has `component` with `grants`, on a service. */
function withWassette({ component = ALL, grants = [], answer = () => ({}) }, test) {
  return withService(answer, async (service) => {
    const folder = mkdtempSync(join(tmpdir(), 'wassette-'));
    const run = (...words) =>
      execFileSync(WASSETTE, [...words, '--component-dir', folder], { encoding: 'utf8', stdio: 'pipe' });
    try {
      run('component', 'load', `file://${join(VOICE_CALLING_TARGET, `${component}.wasm`)}`);
      for (const [kind, what] of grants) run('permission', 'grant', kind, component, what);
      const settings = { VOICE_CALLING_BASE_URL: service.url, VOICE_CALLING_API_TOKEN: TOKEN };
      const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      const args = ['run', '--component-dir', folder, '--disable-builtin-tools', ...env];
      return await withAgent({ command: WASSETTE, args, ready: LOADED }, (client) => test(client, service));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

const ENVIRONMENT = [
  ['environment-variable', 'VOICE_CALLING_BASE_URL'],
  ['environment-variable', 'VOICE_CALLING_API_TOKEN'],
];
const GRANTS = [...ENVIRONMENT, ['network', '127.0.0.1']];

/** What a tool returned: `{ ok }` or `{ err }`. */
async function result(client, name, given) {
  const { text } = await call(client, name, given);
  return JSON.parse(text);
}

test('an agent reads in few bytes what each tool does, and which ring a telephone', () =>
  withWassette({}, async (client) => {
    const list = await client.listTools();
    const bytes = Buffer.byteLength(JSON.stringify(list));
    console.log(`tools/list: ${bytes} bytes`);
    assert.ok(bytes < 10_000, `${bytes} bytes`);
    assert.deepEqual(list.tools.map(({ name }) => name).sort(), TOOLS.map(({ name }) => name).sort());
    for (const { name, description } of list.tools) {
      const { description: expected, parameters } = TOOLS.find((tool) => tool.name === name);
      assert.ok(description.startsWith(expected), description);
      for (const parameter of parameters) assert.ok(description.includes(`${parameter.name}: ${parameter.description}`));
    }
  }));

test('the read-only component has no tool that rings', () =>
  withWassette({ component: READ_ONLY, grants: GRANTS }, async (client, { requests }) => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), [...READING].sort());
    for (const name of RINGING) assert.ok((await call(client, name, CREATE)).isError, name);
    const { ok } = await result(client, 'get-docket', { 'docket-id': DOCKET, raw: null });
    assert.equal(JSON.parse(ok).docket_id, DOCKET);
    assert.deepEqual(requests.map(({ method }) => method), ['GET']);
  }));

test('agents are listed in short, and as the service says it on request', () => {
  const body = '[{"agent_id": 7, "agent_name": "renewals", "prompt": "a long text"}]';
  return withWassette({ grants: GRANTS, answer: () => ({ body }) }, async (client, { requests }) => {
    const given = { 'organization-id': 'org 1' };
    assert.deepEqual(await result(client, 'list-agents', { ...given, raw: null }), {
      ok: '{"agents":[{"agent_id":7,"agent_name":"renewals"}]}',
    });
    assert.deepEqual(await result(client, 'list-agents', { ...given, raw: true }), { ok: body });
    assert.equal(requests[0].url, '/api/v1/agents?organizationId=org%201');
    assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
  });
});

test('a delivery is verified by the docket that it names, by the read-only component too', () => {
  const docket = { docket_id: DOCKET, status: 'COMPLETED', to_phone_number: '919876543210' };
  const answer = () => ({ body: docket });
  return withWassette({ component: READ_ONLY, grants: GRANTS, answer }, async (client, { requests }) => {
    const verify = (delivery) => result(client, 'verify-docket-completed', { body: JSON.stringify(delivery) });
    const { ok } = await verify({ ...docket, attempts: [{}] });
    assert.deepEqual(JSON.parse(ok), { verdict: 'confirmed', contradicted: [], unverified: ['attempts'], ...docket });
    const forged = JSON.parse((await verify({ ...docket, to_phone_number: '919876543211' })).ok);
    assert.deepEqual([forged.verdict, forged.contradicted], ['contradicted', ['to_phone_number']]);
    assert.equal(JSON.parse((await verify({ event: 'call' })).ok).verdict, 'not-a-completion');
    assert.deepEqual(requests.map(({ method }) => method), ['GET', 'GET']);
  });
});

test('a docket is created once, digits kept', () =>
  withWassette({ grants: GRANTS }, async (client, { requests }) => {
    const { ok } = await result(client, 'create-docket-and-call', { ...CREATE, 'external-id': 'crm-1001' });
    assert.deepEqual(JSON.parse(ok), { docket_id: DOCKET, status: 'OPEN', may_be_duplicate: false });
    assert.deepEqual(lines(requests), ['POST /api/v2/dockets']);
    assert.match(requests[0].body, /"call_context":\{"reference": "crm-1001", "amount": 0.10\}/);
  }));

test('a call is placed with its context', () =>
  withWassette({ grants: GRANTS, answer: () => ({ body: { task_id: 'task-1' } }) }, async (client, { requests }) => {
    const given = { 'agent-name': 'renewals', 'to-phone-number': '919876543210', 'call-context': '{"name": "Asha"}' };
    const { ok } = await result(client, 'place-call', given);
    assert.deepEqual(JSON.parse(ok), { task_id: 'task-1', may_be_duplicate: false });
    assert.deepEqual(JSON.parse(requests[0].body).extra_config.call_context, { name: 'Asha' });
    const refused = await result(client, 'place-call', { ...given, 'call-context': '{"a": 1}' });
    assert.match(refused.err, /^call-context: found .*; allowed: a JSON object whose values are strings/);
    const twice = await result(client, 'place-call', { ...given, 'call-context': '{"name": "Asha", "name": "Ravi"}' });
    assert.match(twice.err, /^call-context\.name: found a duplicate name; allowed: each name once/);
    assert.equal(requests.length, 1);
  }));

test('without a grant for the settings nothing is sent, and the variable is named', () =>
  withWassette({ grants: [['network', '127.0.0.1']] }, async (client, { requests }) => {
    const { err } = await result(client, 'create-docket-and-call', CREATE);
    assert.match(err, /VOICE_CALLING_BASE_URL.*the same call will fail again/);
    assert.deepEqual(requests, []);
  }));

test('without a grant for the service nothing is sent, and the agent reads that it was denied', () =>
  withWassette({ grants: ENVIRONMENT }, async (client, { requests }) => {
    const { err } = await result(client, 'create-docket-and-call', CREATE);
    assert.match(err, /denied.*Nothing was created/i);
    assert.deepEqual(requests, []);
  }));

/** Services that leave the outcome of a create unknown. */
const UNKNOWN = {
  'is answered 503': () => ({ status: 503 }),
  'gets no answer': (server) => {
    server.closeAllConnections();
    return new Promise(() => {});
  },
};

for (const [what, answer] of Object.entries(UNKNOWN)) {
  test(`a create that ${what} is sent once, and a person is to be asked`, async () => {
    let server;
    await withWassette({ grants: GRANTS, answer: () => answer(server) }, async (client, service) => {
      ({ server } = service);
      const { err } = await result(client, 'create-docket-and-call', CREATE);
      assert.match(err, /^OUTCOME UNKNOWN: .*Do not repeat this call; ask a person\.$/);
      assert.equal(service.requests.length, 1);
    });
  });
}
