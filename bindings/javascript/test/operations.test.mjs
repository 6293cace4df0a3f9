/** What operations send, and what they return. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breaker, UnauthorizedError, VoiceClient, WaitTimedOutError, nextCallingTime, normalizeNumber, parseDocketCompleted } from 'voice-calling';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, pem, withBoth, withService } from './service.mjs';

const COMPLETED = {
  docket_id: DOCKET,
  agent_name: 'renewals',
  status: 'COMPLETED',
  call_context: { due: 0.1, nested: [null, { a: '\ud800' }] },
  outbound_call_count: 9007199254740993n,
  closed_at: '2026-11-28T18:00:00.5',
};
/** JSON with all digits of a `bigint`. */
const json = (value) => JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? `#${it}#` : it)).replaceAll(/"#(-?\d+)#"/g, '$1');

test('each operation sends its request, and returns a plain record', () => {
  const answers = {
    '/agents/': { agent_id: 9 },
    '/api/v1/agents?organizationId=org%201': [{ agent_id: 7, agent_name: 'renewals' }, 5],
    '/make_call': { task_id: 'task/1' },
    '/call_details/task%2F1': [
      { call_status: 'NO_ANSWER', call_duration: 1.5 },
      { call_status: 'VOICEMAIL', call_insights: { metadata: { a: 1 }, user_interest: { status: 'Open', confidence_score: 0.5 } } },
    ],
    '/api/v1/dockets': { docket_id: DOCKET, status: 'IN_PROGRESS' },
    [`/api/v1/dockets/${DOCKET}`]: json(COMPLETED),
  };
  return withBoth(({ url }) => ({ body: answers[url] ?? CREATED }), {}, async (client, { requests }) => {
    const agent = await client.agents.create({ agentName: 'a', prompt: { defaultText: 'hi', extra: { x: 1 } }, version: 2n, tools: [] });
    assert.deepEqual([agent.agentId, agent.mayBeDuplicate, agent.fromLedger], [9, false, false]);
    const { agents, rawJson, attempts } = await client.agents.list('org 1');
    assert.deepEqual(agents, [{ agentId: 7, agentName: 'renewals' }, {}]);
    assert.equal(rawJson, JSON.stringify(answers['/api/v1/agents?organizationId=org%201']));
    assert.equal(attempts[0].status, 200);
    const { taskId } = await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '9198', callContext: { name: 'Ü' }, extra: { y: 2 } });
    const [unanswered, other] = (await client.calls.wait(taskId, { timeoutMs: 1000 })).calls;
    assert.deepEqual(unanswered, { callStatus: 'NO_ANSWER', callDurationS: 1.5 });
    assert.deepEqual(other.callInsights, { metadata: { a: 1 }, userInterest: { status: 'Open', confidenceScore: 0.5 } });
    assert.equal(other.callStatus, 'VOICEMAIL');
    assert.equal((await client.calls.get(taskId)).calls.length, 2);
    assert.equal((await client.dockets.createV1(REQUEST)).status, 'IN_PROGRESS');
    const created = await client.dockets.create({ ...REQUEST, agentId: '9007199254740993', externalId: 'crm-1', extra: '{"z":1.0}' });
    assert.deepEqual([created.docketId, created.status, created.created], [DOCKET, 'OPEN', true]);
    const docket = await client.dockets.wait(DOCKET, { timeoutMs: 1000 });
    assert.deepEqual([docket.status, docket.outboundCallCount, docket.closedAt], ['COMPLETED', '9007199254740993', COMPLETED.closed_at]);
    assert.deepEqual(docket.callContext, COMPLETED.call_context);
    assert.ok(!('externalId' in docket));
    assert.equal(JSON.parse(JSON.stringify(docket)).rawJson, json(COMPLETED));

    const sent = requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
    const context = '"extra_config":{"call_context":{"reference":"crm-1001"}}';
    for (const part of ['"agent_name":"a"', '"prompt":{"default":"hi","x":1}', '"version":2', '"tools":[]']) assert.ok(sent[0].includes(part), sent[0]);
    assert.equal(sent[1], '{"from_agent_name":"a","to_phone_number":"9198","extra_config":{"call_context":{"name":"Ü"}},"y":2}');
    assert.ok(sent[2].includes(context), sent[2]);
    assert.ok(sent[3].includes('"agent_id":9007199254740993') && sent[3].includes('"z":1.0') && sent[3].includes(context), sent[3]);
    assert.ok(requests.every(({ headers }) => headers.auth_token === `Bearer ${TOKEN}` && headers['accept-encoding'] === 'identity'));
  });
});

test('free-form JSON keeps its digits and its order, and what JSON cannot hold is refused by its name', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const at = { toJSON: (name) => `at ${name}` };
    const callContext = { text: 'ü\ud800"\u2028', big: 123456789012345678901234567890n, small: 1e-7, left: undefined, list: [null, {}, at], when: new Date(0) };
    await client.dockets.create({ ...REQUEST, callContext });
    const expected = '{"text":"ü\\ud800\\"\u2028","big":123456789012345678901234567890,"small":1e-7,"list":[null,{},"at 2"],"when":"1970-01-01T00:00:00.000Z"}';
    assert.ok(requests[0].body.includes(expected), requests[0].body);
    const circle = {};
    circle.self = circle;
    const refused = [
      [{ a: [{ b: NaN }] }, 'callContext.a.0.b'],
      [{ a: new Map() }, 'callContext.a'],
      [{ a: new Uint8Array(2) }, 'callContext.a'],
      [{ a: new Date(NaN) }, 'callContext.a'],
      [{ a: () => 1 }, 'callContext.a'],
      [circle, 'callContext'],
      ['{"a":', 'callContext'],
      [[1], 'callContext'],
    ];
    for (const [callContext, subject] of refused) {
      const error = await failure(client.dockets.create({ ...REQUEST, callContext }));
      assert.deepEqual([error.name, error.problem.subject], ['InvalidInputError', subject]);
      assert.ok(error.message.startsWith(`${subject}: found `), error.message);
    }
    assert.equal(requests.length, 1);
  }));

test('an argument of another type, and one that is unknown, are refused by their names before anything is sent', () =>
  withBoth(() => ({}), {}, async ({ agents, calls, dockets, webhooks }, { requests }) => {
    const refused = [
      [() => dockets.create(), 'request'],
      [() => dockets.create({ ...REQUEST, agentId: 7.5 }), 'agentId'],
      [() => dockets.create({ ...REQUEST, agentId: 2n ** 63n }), 'agentId'],
      [() => dockets.create({ ...REQUEST, agentId: 2 ** 53 }), 'agentId'],
      [() => dockets.create({ ...REQUEST, toPhoneNumber: 919876543210 }), 'toPhoneNumber'],
      [() => dockets.create({ ...REQUEST, toPhoneNumber: '98' }), 'toPhoneNumber'],
      [() => dockets.create({ ...REQUEST, externalID: 'x' }), 'externalID'],
      [() => dockets.create(REQUEST, { timeoutMs: '5' }), 'timeoutMs'],
      [() => dockets.create(REQUEST, { timeoutMs: 0 }), 'timeoutMs'],
      [() => dockets.create(REQUEST, { maxRetries: 100 }), 'maxRetries'],
      [() => dockets.create(REQUEST, { maxRetries: -1 }), 'maxRetries'],
      [() => dockets.create(REQUEST, { deadlineMs: 5 }), 'deadlineMs'],
      [() => dockets.create(REQUEST, { account: 'beta' }), 'account'],
      [() => dockets.get(DOCKET, { key: 'k' }), 'key'],
      [() => dockets.create(REQUEST, { signal: 5 }), 'signal'],
      [() => dockets.get(5), 'docketId'],
      [() => dockets.wait(DOCKET), 'timeoutMs'],
      [() => calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: { n: 1 } }), 'callContext.n'],
      [() => calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: 'text' }), 'callContext'],
      [() => agents.create({ agentName: 'a', enabled: 1 }), 'enabled'],
      [() => agents.create({ agentName: 'a', prompt: { text: 'x' } }), 'prompt.text'],
      [() => webhooks.verify('{'), 'body'],
    ];
    for (const [call, subject] of refused) {
      const error = await failure(call());
      assert.deepEqual([error.problem?.subject, error.mayHaveCreated, error.attempts], [subject, false, []], error.message);
    }
    assert.deepEqual(requests, []);
  }));

test('a wait that is over before the docket is completed rejects with its last state', () =>
  withBoth(() => ({ body: { docket_id: DOCKET, status: 'OPEN' } }), {}, async (client) => {
    const error = await failure(client.dockets.wait(DOCKET, { timeoutMs: 30 }));
    assert.ok(error instanceof WaitTimedOutError);
    assert.deepEqual([error.kind, error.nextStep, error.last.status], ['timed-out', 'retry-later', 'OPEN']);
    assert.ok(error.polls > 1 && error.waitedMs > 0);
  }));

test('options of a call, and of withOptions, go before those of the client', () =>
  withBoth(() => ({ status: 503 }), { accounts: { beta: { token: 'of-beta', maxRetries: 0 } } }, async (client, { requests }) => {
    const attempts = async (of, options) => (await failure(of.dockets.get(DOCKET, options))).attempts.length;
    assert.equal(await attempts(client), 4);
    assert.equal(await attempts(client, { maxRetries: 1 }), 2);
    assert.equal(await attempts(client, { account: 'beta' }), 1);
    const other = client.withOptions({ account: 'beta', maxRetries: 2 });
    assert.equal(await attempts(other), 3);
    assert.equal(await attempts(other, { maxRetries: 0, account: null }), 1);
    assert.deepEqual(requests.slice(-4).map(({ headers }) => headers.auth_token), ['Bearer of-beta', 'Bearer of-beta', 'Bearer of-beta', `Bearer ${TOKEN}`]);
  }));

test('a delivery is parsed without a request, and verified by the docket', () =>
  withBoth(() => ({ body: json(COMPLETED) }), {}, async (client) => {
    const delivery = JSON.stringify({ docket_id: DOCKET, call_insights: { call_disposition: 'INTERESTED' }, attempts: [1] });
    const parsed = parseDocketCompleted(Buffer.from(delivery));
    assert.deepEqual([parsed.callInsights.callDisposition, parsed.attempts, parsed.rawJson], ['INTERESTED', [1], delivery]);
    assert.equal(parseDocketCompleted('{"event":"call"}'), undefined);
    assert.throws(() => parseDocketCompleted('{'), { name: 'InvalidInputError' });
    const { kind, docket, delivered, unverified } = await client.webhooks.verify(delivery);
    assert.deepEqual([kind, docket.status, delivered.docketId], ['confirmed', 'COMPLETED', DOCKET]);
    assert.ok(unverified.includes('call_insights'));
    const contradicted = await client.webhooks.verify(delivery.replace('{', '{"call_context":{},'));
    assert.deepEqual([contradicted.kind, contradicted.contradicted], ['contradicted', ['call_context']]);
    assert.deepEqual(await client.webhooks.verify('[]'), { kind: 'not-a-completion' });
  }));

test('numbers as people write them are normalized, and others are refused without being shown', () => {
  assert.equal(normalizeNumber('+91 98765-43210'), '919876543210');
  assert.equal(normalizeNumber('098765 43210', '91'), '919876543210');
  assert.throws(() => normalizeNumber('12345'), ({ name, message }) => name === 'InvalidInputError' && !message.includes('12345'));
  assert.throws(() => normalizeNumber('98765 43210', '+91'), ({ problem }) => problem.subject === 'countryCode');
});

test('a breaker stops a series, and lets one create find out whether to go on', () =>
  withBoth(() => ({ status: 401 }), { maxRetries: 0 }, async (client) => {
    const breaker = new Breaker();
    for (let count = 0; count < 5; count++) {
      assert.equal(breaker.decide(), 'begin');
      const error = await failure(client.dockets.create(REQUEST));
      assert.ok(error instanceof UnauthorizedError);
      breaker.onFailure(error);
    }
    assert.equal(breaker.decide(), 'stop');
    assert.match(breaker.reason, /^not begun, since 5 requests in a row had failed/);
    breaker.resume();
    assert.deepEqual([breaker.decide(), breaker.decide()], ['begin', 'wait']);
    breaker.onSuccess();
    assert.equal(breaker.decide(), 'begin');
  }));

test('a call begins when it is due, or when the hours do', () => {
  const [hours, zone] = ['mon-fri 09:30-18:00', 'Asia/Kolkata'];
  assert.deepEqual(nextCallingTime(hours, zone, 0), new Date('1970-01-01T04:00:00Z'));
  assert.deepEqual(nextCallingTime(hours, zone, new Date(14_400_250)), new Date(14_400_250));
  for (const [wrong, subject] of [[['always', zone, 0], 'hours'], [[hours, 'Kolkata', 0], 'timeZone'], [[hours, zone, NaN], 'at']]) {
    assert.throws(() => nextCallingTime(...wrong), ({ name, problem }) => name === 'InvalidInputError' && problem.subject === subject);
  }
});

test('the authority of the option is trusted, and the certificate of the client shown', async () => {
  const tls = { requestCert: true, ca: pem('ca.pem') };
  await withService(() => ({}), async ({ url, requests }) => {
    const options = { baseUrl: url, token: TOKEN, env: {}, maxRetries: 0 };
    const stranger = new VoiceClient(options);
    assert.equal((await failure(stranger.dockets.create(REQUEST))).kind, 'unreachable');
    const trusting = new VoiceClient({ ...options, authorities: Buffer.from(pem('ca.pem')), clientCertificate: pem('client.pem'), headers: { 'x-team': 'a' } });
    assert.equal((await trusting.dockets.create(REQUEST)).docketId, DOCKET);
    assert.deepEqual(requests.map(({ headers }) => headers['x-team']), ['a']);
    await Promise.all([stranger.close(), trusting.close()]);
  }, tls);
});

test('64 creates at once are sent, and each gets its own answer', () =>
  withBoth(({ body }) => ({ body: { docket_id: DOCKET.replace(/^\w{8}/, JSON.parse(body).external_id), status: 'OPEN' } }), { maxInFlight: 64 }, async (client) => {
    const ids = Array.from({ length: 64 }, (_, i) => String(10_000_000 + i));
    const created = await Promise.all(ids.map((externalId) => client.dockets.create({ ...REQUEST, externalId })));
    assert.deepEqual(created.map(({ docketId }) => docketId.slice(0, 8)), ids);
  }));
