/** What a user gives: values of JavaScript, checked before anything is sent, and written without loss. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from 'voice-calling';
import { DOCKET, REQUEST, failure, scripted, withBoth } from './service.js';

const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };
const IN_TIME = { timeoutMs: 1 };

const docket = (fields) => (c) => c.dockets.create({ ...REQUEST, ...fields });
const context = (callContext) => docket({ callContext });
const call = (callContext) => (c) => c.calls.make({ ...CALL, callContext });
const create = (options) => (c) => c.dockets.create(REQUEST, options);
const get = (options) => (c) => c.dockets.get(DOCKET, options);
const wait = (options) => (c) => c.dockets.waitFor(DOCKET, options);
const batch = (requests, options) => (c) => c.dockets.createMany(requests, options);

/** What is called, which argument is refused, and what is found there. */
const REFUSED = [
  [(c) => c.dockets.create([]), 'the argument', 'an array'],
  [docket({ agentId: '007' }), 'agentId', '"007"'],
  [docket({ agentId: 2 ** 53 }), 'agentId', '9007199254740992'],
  [docket({ agentId: 2n ** 63n }), 'agentId', '9223372036854775808n'],
  [docket({ toPhoneNumber: 919876543210 }), 'toPhoneNumber', '919876543210'],
  [docket({ externalID: 'x' }), 'externalID', 'an unknown field'],
  [docket({ externalId: '\ud800' }), 'externalId', 'a lone surrogate'],
  [context(undefined), 'callContext', 'nothing'],
  [context({ a: [1, NaN] }), 'callContext.a.1', 'NaN'],
  [context({ a: [undefined] }), 'callContext.a.0', 'nothing'],
  [context({ a: () => 1 }), 'callContext.a', 'a function'],
  [context({ a: new Map() }), 'callContext.a', 'an object (Map)'],
  [context({ a: [new Date(NaN)] }), 'callContext.a.0', 'an invalid Date'],
  [context({ a: throwing() }), 'callContext', 'a value that cannot be read'],
  [context(circle()), 'callContext', 'a value that cannot be read'],
  [call({ 'to-phone-number': 1 }), 'callContext.to-phone-number', '1'],
  [(c) => c.agents.create({ agentName: 'a', prompt: { text: 'x' } }), 'prompt.text', 'an unknown field'],
  [(c) => c.agents.create({ agentName: 'a', enabled: 'yes' }), 'enabled', '"yes"'],
  [(c) => c.webhooks.parse({}), 'body', 'an object (Object)'],
  [(c) => c.webhooks.parse(Uint8Array.of(0x22, 0xff, 0x22)), 'body', 'bytes that are not UTF-8'],
  [batch(REQUEST, IN_TIME), 'requests', 'an object (Object)'],
  [batch([REQUEST, { ...REQUEST, agentId: '' }], IN_TIME), 'requests[1].agentId', '""'],
  [batch([REQUEST]), 'options.timeoutMs', 'nothing'],
  [wait(), 'options.timeoutMs', 'nothing'],
  [wait({ ...IN_TIME, notFoundIsPending: 1 }), 'options.notFoundIsPending', '1'],
  [get({ timeout: 1 }), 'options.timeout', 'an unknown option'],
  [get({ timeoutMs: 1.5 }), 'options.timeoutMs', '1.5'],
  [get({ maxRetries: -1 }), 'options.maxRetries', '-1'],
  [create({ once: 'a' }), 'options.once', '"a" for a client without a ledger'],
  [batch([], { ...IN_TIME, once: 'externalId' }), 'options.once', '"externalId" for a client without a ledger'],
  [batch([REQUEST], { ...IN_TIME, once: 'a' }), 'options.once', '"a"'],
  [get({ account: 7 }), 'options.account', '7'],
  [get({ signal: {} }), 'options.signal', 'an object (Object)'],
  [(c) => c.dockets.create(REQUEST, new AbortController().signal), 'options', 'an object (AbortSignal)'],
];

test('a value that is not allowed is refused by its name, and nothing is sent', async () => {
  const { client, service } = scripted();
  for (const [refused, subject, found] of REFUSED) {
    const error = await failure(Promise.resolve(client).then(refused));
    assert.ok(error instanceof InvalidInput, `${subject}: ${error.stack}`);
    assert.deepEqual([error.problem.subject, error.problem.found], [subject, found]);
    assert.equal(error.message, `${subject}: found ${found}; allowed: ${error.problem.allowed}`);
    assert.equal(error.mayHaveCreated, false);
  }
  assert.deepEqual(service.requests, []);
});

test('the stack of a refusal begins at the call; what a value throws when it is read is its cause', async () => {
  const { client } = scripted();
  const error = await failure(client.dockets.create({ ...REQUEST, callContext: { a: throwing() } }));
  assert.match(error.stack.split('\n').slice(0, 6).join('\n'), /arguments\.test\.js/);
  assert.equal(error.cause.message, 'the database is gone');
  assert.equal(await failure(client.dockets.create({ ...REQUEST, get externalId() { throw 'gone'; } })), 'gone');
});

test('null and undefined leave an optional field or option out', async () => {
  const { client, service } = scripted();
  await client.dockets.create({ ...REQUEST, externalId: null, extra: undefined }, { account: null, signal: undefined });
  await client.dockets.create(REQUEST, Object.create(null));
  for (const { json } of service.requests) assert.ok(!('external_id' in json));
});

test('an agent id may be a number, a bigint, or a string of digits', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const ids = [7, 7n, 9007199254740993n, '9007199254740993', '-9223372036854775808'];
    for (const agentId of ids) await client.dockets.create({ ...REQUEST, agentId });
    assert.deepEqual(requests.map(({ body }) => /"agent_id":(-?\d+)/.exec(body)[1]), ids.map(String));
  }));

test('free-form JSON is written without loss, and toJSON is called once, with the key', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const at = { toJSON: (key) => `at ${key}` };
    const callContext = {
      text: 'ü😀\ud800"\\\u2028',
      big: 123456789012345678901234567890n,
      fraction: 1e-7,
      nothing: null,
      left: undefined,
      list: [true, [], {}, at],
      when: new Date(0),
      own: at,
      ['__proto__']: 1,
    };
    await client.dockets.create({ ...REQUEST, callContext });
    const expected =
      '{"text":"ü😀\\ud800\\"\\\\\u2028","big":123456789012345678901234567890,"fraction":1e-7,' +
      '"nothing":null,"list":[true,[],{},"at 3"],"when":"1970-01-01T00:00:00.000Z","own":"at own","__proto__":1}';
    assert.ok(requests[0].body.includes(expected), requests[0].body);
  }));

function throwing() {
  return {
    toJSON() {
      throw new Error('the database is gone');
    },
  };
}

function circle() {
  const value = {};
  value.self = value;
  return value;
}
