import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotFound, VoiceClient } from 'voice-calling';
import { DOCKET, TOKEN, failure, withBoth } from './service.js';

const DELIVERY = { docket_id: DOCKET, call_context: { reference: 'crm-1001' }, call_insights: { call_disposition: 'ok' } };
const COMPLETED = { docket_id: DOCKET, status: 'COMPLETED', call_context: { reference: 'crm-1001' } };

test('a delivery is read from text and from bytes, without any settings', async () => {
  const client = new VoiceClient({ env: {} });
  const body = JSON.stringify(DELIVERY);
  const completed = await client.webhooks.parse(body);
  assert.equal(completed.docketId, DOCKET);
  assert.equal(completed.callInsights.callDisposition, 'ok');
  assert.equal(completed.rawJson, body);
  assert.deepEqual(await client.webhooks.parse(Buffer.from(body)), completed);
  assert.equal(await client.webhooks.parse('{"event":"call"}'), undefined);
});

test('a delivery that the docket confirms', () =>
  withBoth(() => ({ body: COMPLETED }), {}, async (client, { requests }) => {
    const { kind, value } = await client.webhooks.verify(Buffer.from(JSON.stringify(DELIVERY)));
    assert.equal(kind, 'confirmed');
    assert.equal(value.docket.status, 'COMPLETED');
    assert.equal(value.delivered.callInsights.callDisposition, 'ok');
    assert.deepEqual(value.contradicted, []);
    assert.deepEqual(value.unverified, ['call_insights']);
    const [{ method, url, headers }] = requests;
    assert.equal(`${method} ${url}`, `GET /api/v1/dockets/${DOCKET}`);
    assert.equal(headers.auth_token, `Bearer ${TOKEN}`);
    assert.equal(headers.accept, 'application/json');
  }));

test('a delivery that the docket contradicts', () =>
  withBoth(
    () => ({ body: { ...COMPLETED, status: 'OPEN', call_context: { reference: 'crm-2' } } }),
    {},
    async (client) => {
      const { kind, value } = await client.webhooks.verify(JSON.stringify(DELIVERY));
      assert.equal(kind, 'contradicted');
      assert.ok(value.contradicted.includes('status'), value.contradicted);
    },
  ));

test('what is not a completion is not asked for', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    assert.deepEqual(await client.webhooks.verify('{"event":"call"}'), { kind: 'not-a-completion' });
    assert.equal(requests.length, 0);
  }));

test('a delivery for a docket that the service does not know is NotFound', () =>
  withBoth(() => ({ status: 404 }), {}, async (client) => {
    const error = await failure(client.webhooks.verify(JSON.stringify(DELIVERY)));
    assert.ok(error instanceof NotFound, error.stack);
  }));
