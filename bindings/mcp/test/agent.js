/**
 * An agent's program, a client of the protocol with a server that it has started; and what it has of the
 * tools, whatever serves them: the server of this package, or the components.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { DOCKET, TOKEN, lines } from '../../javascript/test/service.mjs';
import { TOOLS } from '../tools.js';

export const CREATE = {
  'agent-id': 7,
  'to-phone-number': '919876543210',
  'call-context': '{"reference": "crm-1001", "amount": 0.10}',
};

/**
 * Runs `test` with a client of the server that `command` starts, once it has written `ready` to its
 * stderr. `person` answers when the server asks one, by a form; `asked` is what it asked; `server` has the server's process id, `wrote(text)`, which resolves once its stderr has the
 * text, and `ended`, which resolves once it is gone.
 */
export async function withAgent({ command, args, env, person, ready = '' }, test) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: person ? { elicitation: {} } : {} });
  const asked = [];
  if (person) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return person;
    });
  }
  const transport = new StdioClientTransport({ command, args, env: { PATH: process.env.PATH, ...env }, stderr: 'pipe' });
  const ended = new Promise((resolve) => (transport.onclose = resolve));
  let text = '';
  transport.stderr.on('data', (piece) => (text += piece));
  const wrote = async (expected) => {
    while (!text.includes(expected)) await once(transport.stderr, 'data');
  };
  try {
    await client.connect(transport);
    await wrote(ready);
    return await test(client, asked, { pid: transport.pid, wrote, ended });
  } catch (error) {
    error.message += text;
    throw error;
  } finally {
    await client.close();
  }
}

/** What a tool returns: one text. */
export async function call(client, name, given) {
  const { isError = false, content } = await client.callTool({ name, arguments: given });
  assert.equal(content.length, 1);
  return { isError, text: content[0].text };
}

const names = (tools) => tools.map(({ name }) => name).sort();
const ringing = Object.keys(TOOLS).filter((name) => TOOLS[name].rings);

/**
 * Tests what `withTools({ readOnly, answer }, test)` serves: it runs `test` with a client, with
 * `call(name, given)`, which returns `{ isError, text }`, and with the requests that a service has
 * received, which answers as `answer` says.
 */
export function testBehaviour(withTools) {
  test('an agent reads in few bytes what each tool does, and which ring a telephone; nothing is sent meanwhile', () =>
    withTools({}, async ({ client, requests }) => {
      const list = await client.listTools();
      const bytes = Buffer.byteLength(JSON.stringify(list));
      assert.ok(bytes < 6_000, `${bytes} bytes`);
      assert.deepEqual(names(list.tools), Object.keys(TOOLS).sort());
      for (const { name, description } of list.tools) {
        const tool = TOOLS[name];
        assert.ok(description.replaceAll('\n', ' ').startsWith(tool.description), description);
        assert.equal(description.includes("RINGS A PERSON'S TELEPHONE"), tool.rings, name);
      }
      assert.deepEqual(requests, []);
    }));

  test('without the tools that ring, nothing can be created', () =>
    withTools({ readOnly: true }, async ({ client, call, requests }) => {
      const { tools } = await client.listTools();
      assert.deepEqual(names(tools), Object.keys(TOOLS).filter((name) => !ringing.includes(name)).sort());
      for (const name of ringing) assert.ok((await call(name, CREATE)).isError, name);
      const { text } = await call('get-docket', { 'docket-id': DOCKET });
      assert.equal(JSON.parse(text).docket_id, DOCKET);
      assert.deepEqual(lines(requests), [`GET /api/v1/dockets/${DOCKET}`]);
    }));

  test('agents are listed in short, and as the service says it on request', () => {
    const body = '[{"agent_id": 7, "agent_name": "renewals", "prompt": "a long text"}]';
    return withTools({ answer: () => ({ body }) }, async ({ call, requests }) => {
      const given = { 'organization-id': 'org 1' };
      const { text } = await call('list-agents', given);
      assert.equal(text, '{"agents":[{"agent_id":7,"agent_name":"renewals"}]}');
      assert.equal((await call('list-agents', { ...given, raw: true })).text, body);
      assert.deepEqual(lines(requests), Array(2).fill('GET /api/v1/agents?organizationId=org%201'));
      assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
    });
  });

  test('a delivery is verified by its docket; what is no completion is reported without a request', () => {
    const docket = { docket_id: DOCKET, status: 'COMPLETED', to_phone_number: '919876543210' };
    return withTools({ readOnly: true, answer: () => ({ body: docket }) }, async ({ call, requests }) => {
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
    withTools({}, async ({ call, requests }) => {
      const { text } = await call('create-docket-and-call', { ...CREATE, 'external-id': 'crm-1001' });
      assert.deepEqual(JSON.parse(text), { docket_id: DOCKET, status: 'OPEN', may_be_duplicate: false });
      assert.deepEqual(lines(requests), ['POST /api/v2/dockets']);
      assert.match(requests[0].body, /"call_context":\{"reference": "crm-1001", "amount": 0.10\}/);
      assert.equal(JSON.parse(requests[0].body).external_id, 'crm-1001');
    }));

  test('a call is placed with its context, which is flat', () =>
    withTools({ answer: () => ({ body: { task_id: 'task-1' } }) }, async ({ call, requests }) => {
      const placed = (context) =>
        call('place-call', { 'agent-name': 'renewals', 'to-phone-number': '919876543210', 'call-context': context });
      const { text } = await placed('{"name": "Asha"}');
      assert.deepEqual(JSON.parse(text), { task_id: 'task-1', may_be_duplicate: false });
      assert.deepEqual(lines(requests), ['POST /make_call']);
      assert.deepEqual(JSON.parse(requests[0].body).extra_config.call_context, { name: 'Asha' });
      for (const context of ['[]', '{"a": 1}', 'null', '{', '{"a": "1", "\\u0061": "2"}', '{"a": "1", "a": "1"}']) {
        const refused = await placed(context);
        assert.ok(refused.isError);
        assert.match(refused.text, /^call-context.*: found .*; allowed: /);
      }
      assert.equal(requests.length, 1);
    }));
}
