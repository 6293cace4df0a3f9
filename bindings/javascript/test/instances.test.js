import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Instances } from '../src/instances.js';
import { DOCKET, REQUEST, answerText, withBoth, withClient, withSockets } from './service.js';

const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('1000 calls at once are all answered, in no more instances than are allowed', () => {
  let inFlight = 0;
  let most = 0;
  const answer = async (_, body) => {
    most = Math.max(most, ++inFlight);
    await later(50);
    inFlight--;
    return { body: { docket_id: DOCKET, status: /"n":(\d+)/.exec(body)[1] } };
  };
  return withBoth(answer, { maxInstances: 100 }, async (client, { requests }) => {
    const calls = Array.from({ length: 1000 }, (_, n) =>
      client.dockets.create({ ...REQUEST, callContext: { n } }),
    );
    const dockets = await Promise.all(calls);
    dockets.forEach(({ status }, n) => assert.equal(status, String(n)));
    assert.equal(requests.length, 1000);
    assert.ok(most <= 100, `${most} at once`);
    assert.match(inspect(client), /running: 0, queued: 0, instances: \d+/);
  });
});

test('the event loop is free while calls wait', () =>
  withBoth(() => later(60).then(() => ({})), {}, async (client) => {
    let turns = 0;
    const interval = setInterval(() => turns++, 2);
    await Promise.all(Array.from({ length: 20 }, () => client.dockets.create(REQUEST)));
    clearInterval(interval);
    assert.ok(turns > 5, `${turns} turns`);
  }));

test('an instance is used for call after call, and keeps nothing of them', () =>
  withBoth(() => ({}), {}, async (client) => {
    for (let i = 0; i < 2000; i++) await client.dockets.create(REQUEST);
    assert.match(inspect(client), /running: 0, queued: 0, instances: 1/);
  }));

test('instances that nobody needs any more are given up, and those that are used stay', async () => {
  const host = { environment: [], connections: undefined, stderr: () => {} };
  const instances = new Instances(host, 10, 5);
  const taken = await Promise.all(Array.from({ length: 6 }, () => instances.take(() => {})));
  assert.equal(instances.count, 6);
  for (const instance of taken.slice(1)) instances.give(instance);
  while (instances.count > 1) await later(1);
  assert.equal(instances.busy, 1);
  instances.give(taken[0]);
  assert.equal(await instances.take(() => {}), taken[0]);
  instances.give(taken[0]);
  while (instances.count > 0) await later(1);
  assert.equal(instances.busy, 0);
});

test('a batch of 1000 is answered in one call', () =>
  withBoth(() => ({}), { maxInFlight: 200 }, async (client, { requests }) => {
    const results = await client.dockets.createMany(Array(1000).fill(REQUEST), { timeoutMs: 60_000 });
    assert.ok(results.every(({ ok }) => ok));
    assert.equal(requests.length, 1000);
  }));

test('a time of more than 2^31 milliseconds is not over at once', () =>
  withSockets(
    (socket, _, service) => socket.write(answerText({ docket_id: DOCKET, status: service.received < 3 ? 'OPEN' : 'COMPLETED' })),
    (service) =>
      withClient(service.url, {}, async (client) => {
        const wait = await client.dockets.waitFor(DOCKET, { timeoutMs: 4_294_967_295 });
        assert.equal(wait.outcome.kind, 'completed');
        assert.equal(wait.polls, 3);
      }),
  ));
