/** What a user gets: plain frozen results, which `JSON.stringify` writes to the last digit, and classes of errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as package_ from 'voice-calling';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, scripted } from './service.js';

const { NoAnswerError, ServiceError } = package_;

const BIG = '9007199254740993';
const CONTEXT = `{"reference":"crm-1001","big":${BIG}}`;
const COMPLETED = `{"docket_id":"${DOCKET}","status":"COMPLETED","call_context":${CONTEXT},"outbound_call_count":${BIG}}`;
const DETAILS = `[{"call_status":"ANSWERED","call_context":${CONTEXT},"call_insights":{"metadata":{"n":${BIG}}}}]`;
const DELIVERY = `{"docket_id":"${DOCKET}","call_context":${CONTEXT},"attempts":[${BIG}]}`;

test('a docket is a plain frozen object with the whole answer beside it; what the service left out is an absent key', async () => {
  const { client } = scripted([{ json: CREATED, headers: { 'x-request-id': 'request-1' } }, { json: { docket_id: DOCKET } }]);
  const docket = await client.dockets.create(REQUEST);
  const { attempts, ...others } = docket;
  assert.deepEqual(attempts.map(({ status }) => status), [200]);
  assert.deepEqual(others, {
    docketId: DOCKET,
    status: 'OPEN',
    created: true,
    rawJson: JSON.stringify(CREATED),
    requestId: 'request-1',
    mayBeDuplicate: false,
    fromLedger: false,
  });
  assert.equal(Object.getPrototypeOf(docket), Object.prototype);
  assert.ok(Object.isFrozen(docket));
  assert.deepEqual(Object.keys(await client.dockets.get(DOCKET)), ['docketId', 'rawJson', 'attempts']);
});

/** A call of a function for each shape of a result, and what the service answers to it. */
const CALLS = [
  [(c) => c.agents.list('org-1'), `[{"agent_id":${BIG}}]`],
  [(c) => c.calls.waitForDetails('task-1', { timeoutMs: 1000 }), DETAILS],
  [(c) => c.dockets.get(DOCKET), COMPLETED],
  [(c) => c.dockets.createMany([REQUEST], { timeoutMs: 1000 }), COMPLETED],
  [(c) => c.webhooks.parse(Buffer.from(DELIVERY)), ''],
  [(c) => c.webhooks.verify(DELIVERY), COMPLETED],
];

test('integers beyond 2^53 are bigints, and every result is written as JSON, to the last digit', async () => {
  for (const [call, text] of CALLS) {
    const result = await call(scripted([{ text }]).client);
    const written = JSON.stringify(result);
    assert.deepEqual(JSON.parse(written), withDigits(result), String(call));
    assert.ok(written.includes(BIG), written);
  }
  const ids = ['7', '-9007199254740991', '9007199254740992', '-9223372036854775808'];
  const { client } = scripted([{ text: `[${ids.map((id) => `{"agent_id": ${id}}`)}]` }]);
  const { agents } = await client.agents.list('org-1');
  assert.deepEqual(agents.map(({ agentId }) => agentId), [7, -9007199254740991, 2n ** 53n, -(2n ** 63n)]);
});

/** As JSON has it: a `bigint` as text. */
function withDigits(value) {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(withDigits);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, withDigits(it)]));
}

test('an error has its class, the stack of its call, and is written as JSON', async () => {
  const { client } = scripted([{ status: 401, text: 'no' }]);
  const error = await failure(client.dockets.create({ ...REQUEST, externalId: 'crm-1' }));
  assert.ok(error instanceof package_.Unauthorized && error instanceof ServiceError && !(error instanceof NoAnswerError));
  assert.match(error.stack, /results\.test\.js/);
  const { attempts, ...written } = JSON.parse(JSON.stringify(error));
  assert.equal(attempts.length, 1);
  assert.deepEqual(written, {
    name: 'Unauthorized',
    kind: 'unauthorized',
    nextStep: 'fix-setting',
    message: error.message,
    externalId: 'crm-1',
    isPermanent: true,
    mayHaveCreated: false,
    response: { status: 401, body: 'no', bodyCut: false },
  });
});

test('nothing shows the token: not the client, not an error', async () => {
  const { client } = scripted([{ status: 401, json: { detail: `${TOKEN} is unknown` } }], { token: TOKEN });
  const error = await failure(client.dockets.create(REQUEST));
  const options = { depth: Infinity, showHidden: true, getters: true };
  for (const shown of [client, error, client.dockets, error.attempts]) {
    assert.ok(!inspect(shown, options).includes(TOKEN));
    assert.ok(!JSON.stringify(shown).includes(TOKEN));
  }
  assert.ok(!`${client}${error}${error.stack}`.includes(TOKEN));
});
