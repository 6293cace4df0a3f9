import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from 'voice-calling';
import { REQUEST, failure, withBoth } from './service.js';

/** What is given to which function, and what is said of it. */
const REFUSED = [
  [(c) => c.dockets.create(), 'the argument', 'nothing'],
  [(c) => c.dockets.create([]), 'the argument', 'an array'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: 'seven' }), 'agentId', '"seven"'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: '007' }), 'agentId', '"007"'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: '9223372036854775808' }), 'agentId', '"9223372036854775808"'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: true }), 'agentId', 'true'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: 7.5 }), 'agentId', '7.5'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: 2 ** 53 }), 'agentId', '9007199254740992'],
  [(c) => c.dockets.create({ ...REQUEST, agentId: 2n ** 63n }), 'agentId', '9223372036854775808n'],
  [(c) => c.dockets.create({ ...REQUEST, toPhoneNumber: 919876543210 }), 'toPhoneNumber', '919876543210'],
  [(c) => c.dockets.create({ ...REQUEST, toPhoneNumber: undefined }), 'toPhoneNumber', 'nothing'],
  [(c) => c.dockets.create({ ...REQUEST, externalID: 'x' }), 'externalID', 'an unknown field'],
  [(c) => c.dockets.create({ ...REQUEST, externalId: '\ud800' }), 'externalId', 'a lone surrogate'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: undefined }), 'callContext', 'nothing'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: null }), 'callContext', 'null'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: [1, NaN] } }), 'callContext.a.1', 'NaN'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: [undefined] } }), 'callContext.a.0', 'nothing'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: () => 1 } }), 'callContext.a', 'a function'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: new Map() } }), 'callContext.a', 'an object (Map)'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: Buffer.from('x') } }), 'callContext.a', 'an object (Uint8Array)'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: new Float64Array(1) } }), 'callContext.a', 'an object (Float64Array)'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: Buffer.from('{}') }), 'callContext', 'an object (Uint8Array)'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: [new Date(NaN)] } }), 'callContext.a.0', 'an invalid Date'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: throwing() } }), 'callContext.a', 'a value that cannot be read'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { get a() { throw 1; } } }), 'callContext', 'a value that cannot be read'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: itself() } }), 'callContext.a.toJSON', 'a function'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: { a: endless() } }), 'callContext.a', 'more than 1000 levels'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: circle() }), 'callContext.self', 'a circle'],
  [(c) => c.dockets.create({ ...REQUEST, callContext: '{"a":' }), 'callContext'],
  [(c) => c.calls.make({ ...CALL, callContext: { 'to-phone-number': 1 } }), 'callContext.to-phone-number', '1'],
  [(c) => c.calls.make({ ...CALL, callContext: { name: undefined } }), 'callContext.name', 'nothing'],
  [(c) => c.calls.make({ ...CALL, callContext: '{"name": "Asha"}' }), 'callContext', '"{\\"name\\": \\"Asha\\"}"'],
  [(c) => c.calls.make({ ...CALL, callContext: new Map() }), 'callContext', 'an object (Map)'],
  [(c) => c.calls.make({ ...CALL, callContext: [] }), 'callContext', 'an array'],
  [(c) => c.calls.make({ ...CALL, callContext: { '\ud800': '' } }), 'callContext', 'a lone surrogate'],
  [(c) => c.calls.make({ ...CALL, fromAgentName: undefined }), 'fromAgentName'],
  [(c) => c.agents.create({ agentName: 'a', prompt: { text: 'x' } }), 'prompt.text', 'an unknown field'],
  [(c) => c.agents.create({ agentName: 'a', prompt: {} }), 'prompt.defaultText', 'nothing'],
  [(c) => c.agents.create({ agentName: 'a', enabled: 'yes' }), 'enabled', '"yes"'],
  [(c) => c.agents.list(''), 'organizationId'],
  [(c) => c.agents.list(7), 'organizationId', '7'],
  [(c) => c.dockets.get('7'), 'docketId'],
  [(c) => c.dockets.createMany(REQUEST, { timeoutMs: 1 }), 'requests', 'an object (Object)'],
  [(c) => c.dockets.createMany([REQUEST, { ...REQUEST, agentId: '' }], { timeoutMs: 1 }), 'requests[1].agentId', '""'],
  [(c) => c.dockets.createMany([REQUEST]), 'options.timeoutMs', 'nothing'],
  [(c) => c.dockets.createMany([REQUEST], { timeoutMs: 0 }), 'options.timeoutMs', '0'],
  [(c) => c.dockets.createMany(Array(1001).fill(REQUEST), { timeoutMs: 1 }), 'requests', '1001 requests'],
  [(c) => c.dockets.waitFor(ID), 'options.timeoutMs', 'nothing'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: -1 }), 'options.timeoutMs', '-1'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: 0 }), 'options.timeoutMs', '0'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: 1, notFoundIsPending: 1 }), 'options.notFoundIsPending', '1'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: 1, notfound: true }), 'options.notfound', 'an unknown option'],
  [(c) => c.dockets.get(ID, { timeout: 1 }), 'options.timeout', 'an unknown option'],
  [(c) => c.dockets.get(ID, { deadlineMs: 1 }), 'options.deadlineMs', 'an unknown option'],
  [(c) => c.dockets.get(ID, { timeoutMs: 1.5 }), 'options.timeoutMs', '1.5'],
  [(c) => c.dockets.get(ID, { timeoutMs: 0 }), 'options.timeoutMs', '0'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: 1, pollTimeoutMs: 86_400_001 }), 'options.pollTimeoutMs', '86400001'],
  [(c) => c.dockets.waitFor(ID, { timeoutMs: 1, onProgress: 1 }), 'options.onProgress', '1'],
  [(c) => c.dockets.createMany([REQUEST], { timeoutMs: 1, requestTimeoutMs: 0 }), 'options.requestTimeoutMs', '0'],
  [(c) => c.dockets.createMany([REQUEST], { timeoutMs: 1, pollTimeoutMs: 1 }), 'options.pollTimeoutMs', 'an unknown option'],
  [(c) => c.dockets.createMany([REQUEST], { timeoutMs: 1, maxRetries: 100 }), 'options.maxRetries', '100'],
  [(c) => c.dockets.get(ID, { maxRetries: '1' }), 'options.maxRetries', '"1"'],
  [(c) => c.webhooks.verify(`{"docket_id": "${ID}", "attempts": [1]}`, { maxRetries: -1 }), 'options.maxRetries', '-1'],
  [(c) => c.dockets.get(ID, { account: 7 }), 'options.account', '7'],
  [(c) => c.dockets.get(ID, { signal: {} }), 'options.signal', 'an object (Object)'],
  [(c) => c.dockets.get(ID, 5), 'options', '5'],
  [(c) => c.dockets.get(ID, []), 'options', 'an array'],
  [(c) => c.dockets.get(ID, new Date()), 'options', 'an object (Date)'],
  [(c) => c.dockets.get(ID, new Map()), 'options', 'an object (Map)'],
  [(c) => c.dockets.create(REQUEST, new AbortController().signal), 'options', 'an object (AbortSignal)'],
  [(c) => c.dockets.waitFor(ID, new AbortController().signal), 'options', 'an object (AbortSignal)'],
  [(c) => c.webhooks.parse({}), 'body', 'an object (Object)'],
  [(c) => c.webhooks.parse('not JSON'), 'body'],
  [(c) => c.webhooks.parse(Uint8Array.of(0x22, 0xff, 0x22)), 'body', 'bytes that are not UTF-8'],
  [(c) => c.webhooks.verify(5), 'body', '5'],
  [(c) => c.webhooks.verify('{"docket_id": "7", "attempts": [1]}')],
  [(c) => c.webhooks.parse(Buffer.alloc(1024 * 1024 + 1)), 'body', '1048577 bytes'],
  [(c) => c.webhooks.parse('ü'.repeat(4 * 1024 * 1024 + 1)), 'body', '8388610 bytes'],
];

const ID = '0ad33a9b-593b-4f55-b577-13349e14a5dd';
const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };

test('what is not allowed is refused by its name, and nothing is sent', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    for (const [call, subject, found] of REFUSED) {
      const error = await failure(call(client));
      assert.ok(error instanceof InvalidInput, `${call}: ${error.stack}`);
      if (subject) assert.equal(error.problem.subject, subject, String(call));
      if (found) assert.equal(error.problem.found, found, String(call));
      assert.ok(error.problem.allowed.length > 0);
      assert.ok(error.message.startsWith(`${error.problem.subject}: found `), error.message);
      assert.equal(error.isPermanent, true);
      assert.equal(error.mayHaveCreated, false);
      assert.deepEqual(error.attempts, []);
    }
    assert.equal(requests.length, 0);
  }));

test('the stack of a refusal begins at the call', () =>
  withBoth(() => ({}), {}, async (client) => {
    const error = await failure(client.dockets.create({}));
    assert.match(error.stack.split('\n').slice(0, 6).join('\n'), /arguments\.test\.js/);
  }));

test('null and undefined leave an optional field out', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    await client.dockets.create({ ...REQUEST, externalId: null, extra: undefined });
    assert.ok(!requests[0].body.includes('external_id'));
  }));

test('a signal that is null or undefined is none', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    for (const signal of [null, undefined]) {
      await client.dockets.create(REQUEST, { signal });
      await client.dockets.createMany([REQUEST], { timeoutMs: 60_000, signal });
    }
    await client.dockets.create(REQUEST, Object.create(null));
    assert.equal(requests.length, 5);
  }));

test('what a value throws when it is read is the cause of the refusal', () =>
  withBoth(() => ({}), {}, async (client) => {
    const error = await failure(client.dockets.create({ ...REQUEST, callContext: { a: throwing() } }));
    assert.equal(error.cause.message, 'the database is gone');
  }));

test('toJSON is asked once, with the key, as JSON.stringify does', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const value = { toJSON: (key) => `at ${key}` };
    await client.dockets.create({ ...REQUEST, callContext: { name: value, list: [value] } });
    assert.match(requests[0].body, /\{"name":"at name","list":\["at 0"\]\}/);
  }));

test('a body of a webhook may have a mebibyte', () =>
  withBoth(() => ({}), {}, async (client) => {
    const text = `{"docket_id": "${ID}", "attempts": [1]}`;
    const completed = await client.webhooks.parse(text.padEnd(1024 * 1024));
    assert.equal(completed.docketId, ID);
  }));

function throwing() {
  return {
    toJSON() {
      throw new Error('the database is gone');
    },
  };
}

function itself() {
  const value = { toJSON: () => value };
  return value;
}

function endless() {
  return { toJSON: () => ({ inner: endless() }) };
}

function circle() {
  const value = {};
  value.self = value;
  return value;
}
