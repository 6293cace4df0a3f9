/** The scripted service, as users test their programs with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedService } from 'voice-calling/testing';
import { DOCKET, REQUEST, failure, scripted } from './service.js';

/** What the service does, beyond what the examples of the README show, and what becomes of a create. */
const ANSWERS = [
  [{ notSent: 'the name was not found' }, 'Unreachable', 4],
  [{ afterMs: 20_000 }, 'OutcomeUnknown', 1],
  [{ json: { docket_id: 'x' }, cutAfter: 5 }, 'UnexpectedResponse', 1],
];

for (const [answer, name, count] of ANSWERS) {
  test(`a service that does ${JSON.stringify(answer)}: ${name}`, async () => {
    const { service, client } = scripted(() => answer);
    const error = await failure(client.dockets.create(REQUEST));
    assert.equal(error.name, name, error.stack);
    assert.equal(service.requests.length, count);
  });
}

test('without a script it does what it is asked for', async () => {
  const { client } = scripted();
  const { docketId } = await client.dockets.create(REQUEST);
  const { outcome } = await client.dockets.waitFor(docketId, { timeoutMs: 600_000 });
  assert.equal(outcome.kind, 'completed');
  assert.deepEqual(outcome.value.callContext, REQUEST.callContext);
  const delivery = JSON.stringify({ docket_id: docketId, call_context: REQUEST.callContext, attempts: [1] });
  assert.equal((await client.webhooks.verify(delivery)).kind, 'confirmed');
  const { taskId } = await client.calls.make({ fromAgentName: 'a', toPhoneNumber: '1' });
  assert.equal((await client.calls.waitForDetails(taskId, { timeoutMs: 1000 })).outcome.kind, 'completed');
  assert.equal((await client.agents.list('org-1')).agents.length, 1);
  assert.equal((await client.agents.create({ agentName: 'a' })).agentId, 7);
});

test('a script that cannot be played is refused at once', () => {
  for (const [script, message] of [
    [[{}, { stauts: 200 }], /^script\[1\]: unknown member stauts; allowed: status, headers, .*, afterMs$/],
    [[{ status: '503' }], /^script\[0\]\.status: found "503"; allowed: 0 to 65535$/],
  ]) {
    assert.throws(() => new ScriptedService(script), { name: 'TypeError', message });
  }
});

test('a mistake in a script is no answer: every kind of call rejects with it', async () => {
  for (const call of [
    (client) => client.dockets.create(REQUEST),
    (client) => client.dockets.createMany([REQUEST], { timeoutMs: 1000 }),
    (client) => client.dockets.waitFor(DOCKET, { timeoutMs: 1000 }),
  ]) {
    const { service, client } = scripted([() => assert.fail('of the test')]);
    assert.equal((await failure(call(client))).message, 'of the test');
    assert.equal(service.requests.length, 1);
  }
});
