/** Every result is plain: `JSON.stringify` writes it, and nothing of it is lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functions, types } from '../generated/wit.js';
import { camel } from '../src/words.js';
import { DOCKET, REQUEST, withBoth } from './service.js';

const BIG = '9007199254740993';
const CONTEXT = `{"reference":"crm-1001","big":${BIG}}`;
const COMPLETED = `{"docket_id":"${DOCKET}","status":"COMPLETED","call_context":${CONTEXT},"outbound_call_count":${BIG}}`;
const DETAILS = `[{"call_status":"ANSWERED","call_context":${CONTEXT},"call_insights":{"metadata":{"n":${BIG}}}}]`;
const DELIVERY = `{"docket_id":"${DOCKET}","call_context":${CONTEXT},"attempts":[${BIG}]}`;

/** A call of every function, and what the service answers to it. */
const CALLS = {
  'agents.create': [(c) => c.agents.create({ agentName: 'a' }), `{"agent_id":${BIG}}`],
  'agents.list': [(c) => c.agents.list('org-1'), `[{"agent_id":${BIG}}]`],
  'calls.make': [(c) => c.calls.make({ fromAgentName: 'a', toPhoneNumber: '1' }), '{"task_id":"task-1"}'],
  'calls.get-details': [(c) => c.calls.getDetails('task-1'), DETAILS],
  'calls.wait-for-details': [(c) => c.calls.waitForDetails('task-1', { timeoutMs: 1000 }), DETAILS],
  'dockets.create-v1': [(c) => c.dockets.createV1(REQUEST), COMPLETED],
  'dockets.create': [(c) => c.dockets.create(REQUEST), COMPLETED],
  'dockets.get': [(c) => c.dockets.get(DOCKET), COMPLETED],
  'dockets.wait-for': [(c) => c.dockets.waitFor(DOCKET, { timeoutMs: 1000 }), COMPLETED],
  'dockets.create-many': [
    (c) => c.dockets.createMany([REQUEST, { ...REQUEST, toPhoneNumber: '1' }], { timeoutMs: 1000 }),
    COMPLETED,
  ],
  'webhooks.parse': [(c) => c.webhooks.parse(DELIVERY), ''],
  'webhooks.verify': [(c) => c.webhooks.verify(DELIVERY), COMPLETED],
};

test('every function is called here', () => {
  assert.deepEqual(Object.keys(CALLS).sort(), Object.values(functions).map(({ method }) => method).sort());
});

for (const [name, [call, body]] of Object.entries(CALLS)) {
  test(`the result of ${name} is written as JSON, to the last digit`, () => {
    const headers = { 'x-request-id': 'request-1' };
    return withBoth(() => ({ body, headers }), {}, async (client) => {
      const result = await call(client);
      const text = JSON.stringify(result);
      if (name === 'dockets.create-many') assert.match(text, /"toPhoneNumber: found 1 digit/);
      else assert.deepEqual(JSON.parse(text), digits(result));
      if (body.includes(BIG) || name === 'webhooks.parse') assert.ok(text.includes(BIG), text);
      const { ok: type } = Object.values(functions).find(({ method }) => method === name);
      const fields = Object.keys(types[type]?.record ?? {}).map(camel);
      if (fields.includes('requestId')) assert.equal(result.requestId, 'request-1');
      if (fields.includes('attempts') && name !== 'webhooks.parse') assert.equal(result.attempts.length, 1);
      if (fields.includes('mayBeDuplicate')) assert.equal(result.mayBeDuplicate, false);
    });
  });
}

/** As JSON has it: a `bigint` as text. */
function digits(value) {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(digits);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, digits(it)]));
}
