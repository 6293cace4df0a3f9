/** What operations send, and what they return. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breaker, UnauthorizedError, VoiceClient, nextCallingTime, parseDocketCompleted } from 'voice-calling';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, pem, withBoth, withService } from './service.mjs';

const COMPLETED = { docket_id: DOCKET, status: 'COMPLETED', call_context: { due: 0.1, nested: [null, { a: '\ud800' }] }, outbound_call_count: 9007199254740993n };
/** JSON with all digits of a `bigint`. */
const json = (value) => JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? `#${it}#` : it)).replaceAll(/"#(-?\d+)#"/g, '$1');

test('requests keep the digits of their integers, and results are plain records without what is absent', () => {
  const calls = [{ call_insights: { metadata: { a: 1 }, user_interest: { status: 'Open' } }, call_status: 'BUSY', call_duration: 1.5 }, 5];
  const answers = { '/agents/': { agent_id: 9 }, '/make_call': { task_id: 'task/1' }, '/call_details/task%2F1': calls, [`/api/v1/dockets/${DOCKET}`]: json(COMPLETED) };
  return withBoth(({ url }) => ({ body: answers[url] ?? CREATED }), {}, async (client, { requests }) => {
    const { agentId } = await client.agents.create({ agentName: 'a', prompt: { defaultText: 'hi', extra: { x: 1 } }, version: 2n, tools: [] });
    const { taskId } = await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '9198', callContext: { name: 'Ü' }, extra: { y: 2 } });
    const details = await client.calls.get(taskId);
    assert.deepEqual([agentId, details.calls], [9, [{ callInsights: { metadata: { a: 1 }, userInterest: { status: 'Open' } }, callStatus: 'BUSY', callDurationS: 1.5 }, {}]]);
    await client.dockets.create({ ...REQUEST, agentId: '9007199254740993', extra: '{"z":1.0}' });
    const docket = await client.dockets.get(DOCKET);
    assert.deepEqual([docket.outboundCallCount, docket.callContext, 'externalId' in docket], ['9007199254740993', COMPLETED.call_context, false]);
    assert.equal(JSON.parse(JSON.stringify(docket)).rawJson, json(COMPLETED));
    const [agent, call, , created] = requests.map(({ body }) => body);
    for (const part of ['"prompt":{"default":"hi","x":1}', '"version":2', '"tools":[]']) assert.ok(agent.includes(part), agent);
    assert.equal(call, '{"from_agent_name":"a","to_phone_number":"9198","extra_config":{"call_context":{"name":"Ü"}},"y":2}');
    assert.ok(created.includes('"agent_id":9007199254740993') && created.includes('"z":1.0'), created);
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
      [() => calls.make({ fromAgentName: 'a', toPhoneNumber: '1', callContext: new Map([['name', 'Asha']]) }), 'callContext'],
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

test('a delivery is read from text or bytes, without a request', () => {
  const delivery = JSON.stringify({ docket_id: DOCKET, call_insights: { call_disposition: 'INTERESTED' }, attempts: [1] });
  const { callInsights, attempts, rawJson } = parseDocketCompleted(Buffer.from(delivery));
  assert.deepEqual([callInsights.callDisposition, attempts, rawJson], ['INTERESTED', [1], delivery]);
  assert.equal(parseDocketCompleted('{"event":"call"}'), undefined);
  for (const wrong of ['{', 5]) assert.throws(() => parseDocketCompleted(wrong), ({ problem }) => problem.subject === 'body');
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
