/** The scripted service: what tests of users are made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotFoundError, OutcomeUnknownError, UnreachableError, VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { REQUEST, failure, withLedger } from './service.mjs';

test('answers are played in their order, and pauses take no time', async () => {
  const service = new ScriptedService([{ status: 503 }, { status: 429, headers: { 'retry-after': '600' } }]);
  const began = performance.now();
  const docket = await service.client({ timeoutMs: 3_600_000 }).dockets.create(REQUEST);
  assert.deepEqual(docket.attempts.map(({ status }) => status), [503, 429, 200]);
  assert.ok(service.elapsedMs >= 600_000 && performance.now() - began < 60_000);
  assert.deepEqual(service.requests.map(({ method, path, json }) => [method, path, json.agent_id]), Array(3).fill(['POST', '/api/v2/dockets', 7]));
  assert.equal(service.requests[0].headers.auth_token, 'Bearer test-token');
});

test('what is lost, silent or unreachable is an error of its kind', async () => {
  const service = new ScriptedService([{ lost: true }, { silence: true }, { unreachable: true, repeated: true }]);
  const client = service.client();
  for (let i = 0; i < 2; i++) assert.ok((await failure(client.dockets.create(REQUEST))) instanceof OutcomeUnknownError);
  assert.ok((await failure(client.dockets.create(REQUEST))) instanceof UnreachableError);
});

test('a wait of an hour, a batch and a ledger run on its time', () =>
  withLedger(async (ledger) => {
    const service = new ScriptedService().completeAfter(3_600_000);
    const client = service.client({ ledger, createRetry: 'not-sent' });
    const { docketId } = await client.dockets.create(REQUEST, { key: 'crm-1' });
    assert.equal((await client.dockets.wait(docketId, { timeoutMs: 7_200_000 })).status, 'COMPLETED');
    assert.ok(service.elapsedMs >= 3_600_000);
    service.answerTo('POST /api/v2/dockets', { status: 422, json: { detail: 'no' } });
    const results = await client.dockets.createEach([{ ...REQUEST, key: 'crm-1' }, REQUEST, REQUEST], { timeoutMs: 1000 });
    assert.deepEqual(results.map(({ ok }) => ok).toSorted(), [false, true, true]);
    await client.close();
  }));

test('operations that begin together are at the same time', async () => {
  const service = new ScriptedService();
  const client = service.client({ maxInFlight: 100 });
  await Promise.all(Array.from({ length: 50 }, () => client.dockets.create(REQUEST)));
  assert.deepEqual(new Set(service.requests.map(({ atMs }) => atMs)).size, 1);
});

test('an answer that cannot be played, a time that cannot pass, and a service that is none, are refused', async () => {
  const service = new ScriptedService();
  for (const ms of [-1, 0.5, Number.NaN, 2 ** 32]) {
    assert.throws(() => service.completeAfter(ms), { name: 'InvalidInputError' });
    await assert.rejects(service.advance(ms), { name: 'InvalidInputError' });
  }
  for (const answer of [{ status: 100 }, { headers: { 'a b': 'c' } }, { code: 200 }, 5]) {
    assert.throws(() => new ScriptedService([answer]), { name: 'InvalidInputError' });
  }
  assert.throws(() => new VoiceClient({ env: {}, service: {} }), ({ problem }) => problem.subject === 'service');
});

test('a request without a body has no json', async () => {
  const service = new ScriptedService().answerWith(({ json }) => (json === null ? { status: 404 } : undefined));
  const { docketId } = await service.client().dockets.create(REQUEST);
  assert.ok((await failure(service.client().dockets.get(docketId))) instanceof NotFoundError);
  assert.equal(service.requests[1].json, null);
});

test('a function answers what the script does not, and what it throws ends the operation with it', async () => {
  const service = new ScriptedService([{ status: 429 }]).answerWith(async ({ json, path }) => {
    await new Promise(setImmediate);
    if (json.to_phone_number === '910000000001') return { status: 422, json: { detail: path } };
    if (json.to_phone_number === '910000000002') throw new RangeError('not in the test');
    if (json.to_phone_number === '910000000003') return { status: 5 };
    return undefined;
  });
  const client = service.client();
  const create = (digit) => client.dockets.create({ ...REQUEST, toPhoneNumber: `91000000000${digit}` });
  assert.deepEqual((await create(0)).attempts.map(({ status }) => status), [429, 200]);
  assert.match((await failure(create(1))).response.body, /"detail":"\/api\/v2\/dockets"/);
  assert.ok((await failure(create(2))) instanceof RangeError);
  assert.equal((await failure(create(3))).problem.subject, 'answer.status');
  assert.equal((await failure(Promise.resolve(client.dockets.createEach([{ ...REQUEST, toPhoneNumber: '910000000002' }], { timeoutMs: 99 })))).name, 'RangeError');
  assert.ok((await create(0)).docketId);
});
