/** The tools that ring no one: what an agent reads of them and by them; the requests on the wire too. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DOCKET, TOKEN, lines } from '../../javascript/test/service.mjs';
import { readArguments } from '../arguments.js';
import { TOOLS } from '../tools.js';
import { PROTOCOLS } from './agent.js';
import { CREATE, withServer } from './server.js';

const usual = () => ({});
const ringing = TOOLS.filter(({ rings }) => rings).map(({ name }) => name);

for (const protocol of PROTOCOLS) {
  test(`${protocol}: an agent reads in few bytes what each tool does, which ring, and how to go on`, () =>
    withServer(usual, { protocol }, async ({ client }, { requests }) => {
      const list = await client.listTools();
      const bytes = Buffer.byteLength(JSON.stringify(list));
      assert.ok(bytes < 6_000, `${bytes} bytes`);
      assert.deepEqual(list.tools.map(({ name }) => name), TOOLS.map(({ name }) => name));
      for (const { name, title, description, annotations, inputSchema } of list.tools) {
        const rings = ringing.includes(name);
        assert.ok(title.length > 5, name);
        assert.equal(description.startsWith("RINGS A PERSON'S TELEPHONE"), rings, name);
        assert.equal(inputSchema.required.includes('key'), rings, name);
        assert.deepEqual(annotations, { readOnlyHint: !rings, destructiveHint: rings, idempotentHint: true, openWorldHint: true });
      }
      assert.match(client.getInstructions(), /the same key whenever you repeat it/);
      assert.deepEqual(requests, []);
    }));

  test(`${protocol}: without the tools that ring, nothing can be created, and there is no ledger`, () =>
    withServer(usual, { protocol, args: ['--read-only'] }, async ({ client, call }, { requests }, folder) => {
      const { tools } = await client.listTools();
      assert.deepEqual(tools.filter(({ name }) => ringing.includes(name)), []);
      for (const name of ringing) {
        const { message } = await call(name, CREATE).then(({ text }) => ({ message: text }), (error) => error);
        assert.match(message, new RegExp(`Tool ${name} not found`));
      }
      assert.equal(JSON.parse((await call('get-docket', { 'docket-id': DOCKET, raw: null })).text).docket_id, DOCKET);
      assert.deepEqual(lines(requests), [`GET /api/v1/dockets/${DOCKET}`]);
      assert.equal(existsSync(join(folder, 'voice-calling')), false);
    }));

  test(`${protocol}: a wait outlasts the time that its program gives a silent server`, ({ mock: { timers } }) => {
    const progress = new EventEmitter();
    // The answer that ends the wait comes after three reports, and so after that time.
    const third = once(progress, '3');
    const answer = async (_, __, nth) => {
      if (nth > 1) await third;
      return { body: { docket_id: DOCKET, status: nth > 1 ? 'COMPLETED' : 'IN_PROGRESS', outbound_call_count: 2 } };
    };
    return withServer(answer, { protocol }, async ({ call }, { requests }) => {
      const onprogress = (it) => {
        // The time of the program passes with each report, however late that is.
        timers.tick(2_000);
        progress.emit(`${it.progress}`);
      };
      timers.enable({ apis: ['setTimeout'] });
      const options = { timeout: 2_500, resetTimeoutOnProgress: true, onprogress };
      const { text } = await call('wait-for-docket', { 'docket-id': DOCKET, 'timeout-s': '600' }, options);
      timers.reset();
      assert.deepEqual(JSON.parse(text), { outcome: 'completed', docket_id: DOCKET, status: 'COMPLETED', calls: 2 });
      assert.equal(requests.length, 2);
    });
  });
}

test('agents are listed in short, by a part of their name, and as the service says it on request', () => {
  const body = '[{"agent_id": 7, "agent_name": "Renewals", "prompt": "a long text"}, {"agent_id": 8, "agent_name": "other"}]';
  return withServer(() => ({ body }), {}, async ({ call }, { requests }) => {
    const given = { 'organization-id': 'org 1' };
    const { text } = await call('list-agents', { ...given, 'name-part': 'renew' });
    assert.equal(text, '{"agents":[{"agent_id":7,"agent_name":"Renewals"}]}');
    assert.equal((await call('list-agents', { ...given, raw: true })).text, body);
    assert.deepEqual(lines(requests), Array(2).fill('GET /api/v1/agents?organizationId=org%201'));
    assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
  });
});

test('where no organization is named, nothing is sent, and the agent learns to ask for it', () =>
  withServer(() => ({ body: [] }), {}, async ({ call }, { requests }) => {
    assert.match((await call('list-agents', {})).text, /^organization-id: found nothing; allowed: .* ask the user for it/);
    assert.deepEqual(requests, []);
  }));

test('of 9,000 agents an agent reads a hundred, and how many there are beside them; a long answer is cut', () => {
  const agents = Array.from({ length: 9_000 }, (_, id) => ({ agent_id: id, agent_name: `agent ${id}` }));
  return withServer(() => ({ body: agents }), {}, async ({ call }) => {
    const { text } = await call('list-agents', { 'organization-id': 'org-1' });
    const { agents: listed, not_listed: rest } = JSON.parse(text);
    assert.deepEqual([listed.length, rest], [100, 8_900]);
    const { text: whole } = await call('list-agents', { 'organization-id': 'org-1', raw: true });
    const [, left] = /… and (\d+) more characters that are left out$/.exec(whole);
    assert.equal(40_000 + Number(left), JSON.stringify(agents).length);
  });
});

test('a call is waited for, and read', () => {
  const details = [{ call_status: 'NO_ANSWER', call_duration: 0 }];
  const answer = (_, __, nth) => (nth < 2 ? { status: 404, body: {} } : { body: details });
  return withServer(answer, {}, async ({ call }, { requests }) => {
    const waited = JSON.parse((await call('wait-for-call', { 'task-id': 'task/1' })).text);
    assert.deepEqual(waited, { outcome: 'completed', calls: [{ status: 'NO_ANSWER', seconds: 0 }] });
    assert.deepEqual(lines(requests), Array(2).fill('GET /call_details/task%2F1'));
  });
});

test('what is not over in time is pending', () => {
  // The second look would come after that time.
  const settings = { VOICE_CALLING_BACKOFF_MS: '60000', VOICE_CALLING_MAX_BACKOFF_MS: '60000' };
  return withServer(() => ({ body: { docket_id: DOCKET, status: 'OPEN' } }), { settings }, async ({ call }) => {
    const { isError, text } = await call('wait-for-docket', { 'docket-id': DOCKET, 'timeout-s': 60 });
    assert.deepEqual([isError, JSON.parse(text)], [false, { outcome: 'pending', docket_id: DOCKET, status: 'OPEN' }]);
  });
});

/** JSON whose numbers JavaScript would change. */
const DIGITS = '{"policy":12345678901234567890,"due":0.10,"text":"1.50 and \\"2.50\\"","e":[1e+2,-0.0]}';

test('a call is read with what the person said, and a docket with its context, to the last digit', () => {
  const insights = `{"user_interest":{"status":"INTERESTED"},"next_action":{"value":"SEND_LINK"},"metadata":${DIGITS}}`;
  const details = `[{"call_status":"ANSWERED","call_duration":42.5,"to_number":"919876543210","call_insights":${insights}}]`;
  const docket = `{"docket_id":"${DOCKET}","status":"OPEN","call_context":${DIGITS}}`;
  const answer = ({ url }) => ({ body: url.startsWith('/call_details') ? details : docket });
  return withServer(answer, {}, async ({ call }) => {
    const { text } = await call('get-call', { 'task-id': 'task-1' });
    const brief = '"status":"ANSWERED","seconds":42.5,"to_number":"919876543210","interest":"INTERESTED","next_action":"SEND_LINK"';
    assert.equal(text, `{"calls":[{${brief},"metadata":${DIGITS}}]}`);
    assert.equal((await call('get-docket', { 'docket-id': DOCKET })).text, docket);
  });
});

test('a delivery is verified by its docket; what is no completion is reported without a request', () => {
  const docket = { docket_id: DOCKET, status: 'COMPLETED', to_phone_number: '919876543210' };
  return withServer(() => ({ body: docket }), {}, async ({ call }, { requests }) => {
    const verify = async (body) => (await call('verify-docket-completed', { body })).text;
    const delivery = { ...docket, attempts: [{}] };
    const confirmed = { verdict: 'confirmed', contradicted: [], unverified: ['attempts'], ...docket };
    for (const body of [delivery, JSON.stringify(delivery)]) assert.deepEqual(JSON.parse(await verify(body)), confirmed);
    const forged = JSON.parse(await verify({ ...delivery, to_phone_number: '919876543211' }));
    assert.deepEqual([forged.verdict, forged.contradicted], ['contradicted', ['to_phone_number']]);
    assert.equal(JSON.parse(await verify('{"event": "call"}')).verdict, 'not-a-completion');
    assert.match(await verify('no JSON'), /^body: found not JSON/);
    assert.deepEqual(lines(requests), Array(3).fill(`GET /api/v1/dockets/${DOCKET}`));
  });
});

test('a read that fails says nothing of what was created', () =>
  withServer(({ url }) => ({ status: url.startsWith('/call') ? 404 : 503, body: { detail: 'no such task' } }), {}, async ({ call }) => {
    const { text } = await call('get-call', { 'task-id': 'task-1' });
    assert.match(text, /\(404\); .*no such task.*; the id is unknown, or not known yet\.$/);
    const later = await call('get-docket', { 'docket-id': DOCKET });
    assert.match(later.text, /; try again later\.$/);
    assert.doesNotMatch(text + later.text, /created/);
  }));

/** Arguments as models send them: the tool, the argument, its value, and what is read or said. */
const ARGUMENTS = [
  ['create-docket-and-call', 'agent-id', '9223372036854775807', '9223372036854775807'],
  ['create-docket-and-call', 'agent-id', 7, '7'],
  ['create-docket-and-call', 'agent-id', 2 ** 53, /^agent-id: found the number 9007199254740992; allowed: an integer; beyond 2\^53 its digits as text/],
  ['create-docket-and-call', 'external-id', null, undefined],
  ['create-docket-and-call', 'external-id', 1001, '1001'],
  ['create-docket-and-call', 'to-phone-number', 919876543210, '919876543210'],
  ['create-docket-and-call', 'to-phone-number', 9198.5, /^to-phone-number: found the number 9198\.5; allowed: text, in quotation marks/],
  ['create-docket-and-call', 'key', ' crm-1', /^key: found " crm-1"; allowed: 1 to 200 ASCII letters/],
  ['create-docket-and-call', 'call-context', { due: 0.5, items: [{ a: 1 }] }, '{"due":0.5,"items":[{"a":1}]}'],
  ['create-docket-and-call', 'call-context', '{"due": 0.50}', '{"due": 0.50}'],
  ['create-docket-and-call', 'call-context', [1], /^call-context: found a list; allowed: a JSON object, or its text/],
  ['create-docket-and-call', 'call-context', '{"a": {"b": 1, "\\u0062": 2}}', /^call-context: found a name twice in .*; allowed: each name once/],
  ['create-docket-and-call', 'key', 'крм-1', /^key: found "крм-1"; allowed: 1 to 200 ASCII letters/],
  ['place-call', 'call-context', '{"name": "Asha"}', '{"name": "Asha"}'],
  ['place-call', 'call-context', { due: 5 }, /^call-context\.due: found the number 5; allowed: text/],
  ['get-docket', 'raw', 'true', true],
  ['get-docket', 'raw', 'false', false],
  ['get-docket', 'raw', 1, /^raw: found the number 1; allowed: true, false/],
  ['wait-for-call', 'timeout-s', '30', 30],
  ['wait-for-call', 'timeout-s', 601, /^timeout-s: found the number 601; allowed: an integer, 1 to 600/],
];

for (const [name, argument, value, expected] of ARGUMENTS) {
  test(`${name}: ${argument} ${JSON.stringify(value)} is ${expected instanceof RegExp ? 'refused' : 'read'}`, () => {
    const { parameters } = TOOLS.find((tool) => tool.name === name);
    const read = () => readArguments({ [argument]: parameters[argument] }, { [argument]: value })[argument];
    if (expected instanceof RegExp) assert.throws(read, { message: expected });
    else assert.equal(read(), expected);
  });
}
