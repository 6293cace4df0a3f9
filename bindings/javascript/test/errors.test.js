import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as package_ from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, failure, withBoth, withClient } from './service.js';

const { RequestError, VoiceClient } = package_;

/** A status, or what else happens, and the class that tells of it. */
const BY_STATUS = [
  [401, 'Unauthorized', 'permanent-unauthorized'],
  [403, 'Unauthorized', 'permanent-unauthorized'],
  [404, 'NotFound', 'permanent-not-found'],
  [410, 'NotFound', 'permanent-not-found'],
  [302, 'Rejected', 'permanent-rejected'],
  [422, 'Rejected', 'permanent-rejected'],
  [429, 'RateLimited', 'rate-limited'],
  [503, 'Unavailable', 'unavailable'],
  [200, 'UnexpectedResponse', 'permanent-unexpected-response'],
];

for (const [status, name, kind] of BY_STATUS) {
  test(`an answer of ${status} that is no docket is ${name}, with all that is known of it`, () => {
    const headers = { 'x-request-id': 'request-1', 'retry-after': '0', location: '/elsewhere' };
    const answer = () => ({ status, headers, body: { detail: 'no' } });
    return withBoth(answer, { maxAttempts: 2 }, async (client, { requests }) => {
      const error = await failure(client.dockets.get(DOCKET));
      assert.ok(error instanceof RequestError);
      assert.ok(error instanceof package_[name], error.stack);
      assert.equal(error.name, name);
      assert.equal(error.kind, kind);
      assert.equal(error.isPermanent, kind.startsWith('permanent-'));
      assert.equal(error.status, status);
      assert.equal(error.body, '{"detail":"no"}');
      assert.equal(error.bodyCut, false);
      assert.equal(error.requestId, 'request-1');
      assert.equal(error.retryAfterMs, 0);
      assert.equal(error.attempts.length, requests.length);
      assert.equal(error.attempts[0].status, status);
      assert.ok(error.message.includes(String(status)), error.message);
      assert.match(error.stack, /errors\.test\.js/);
      assert.ok(inspect(error).startsWith(`${name}: `));
    });
  });
}

test('what does not apply to an error is undefined, and attempts are an empty array', async () => {
  const error = await failure(new VoiceClient({ env: {} }).dockets.get(DOCKET));
  assert.ok(error instanceof package_.ConfigurationProblem, error.stack);
  assert.equal(error.variable, 'VOICE_CALLING_BASE_URL');
  assert.equal(error.status, undefined);
  assert.equal(error.retryAfterMs, undefined);
  assert.deepEqual(error.attempts, []);
  assert.ok(!inspect(error).includes('undefined'));
});

test('the error of an operation in a batch has the same class', () =>
  withBoth(() => ({ status: 401 }), {}, async (client) => {
    const [{ error }] = await client.dockets.createMany([REQUEST], { timeoutMs: 1000 });
    assert.ok(error instanceof package_.Unauthorized);
  }));

test('the classes are those of the component, and all have names of their own', async () => {
  const { errors } = await import('../generated/errors.js');
  const { types } = await import('../generated/wit.js');
  assert.deepEqual(Object.keys(errors), Object.keys(types['request-error'].variant));
  for (const [kind, type] of Object.entries(errors)) {
    assert.equal(type.prototype.name, type.name);
    assert.equal(package_[type.name], type, `${type.name} is exported`);
    assert.equal(type.prototype.kind, kind);
  }
});

test('nothing shows the token: not the client, not an error, not what is logged', () =>
  withBoth(
    () => ({ status: 401, body: `{"detail":"${TOKEN} is unknown"}` }),
    {},
    async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      const options = { depth: Infinity, showHidden: true, getters: true };
      for (const shown of [client, error, client.dockets, error.attempts]) {
        assert.ok(!inspect(shown, options).includes(TOKEN));
        assert.ok(!JSON.stringify(shown).includes(TOKEN));
      }
      assert.ok(!`${client}${error}${error.stack}`.includes(TOKEN));
      assert.match(inspect(client), /VoiceClient \{.*running: 0/);
    },
  ));

test('a token that is not allowed is not told', async () => {
  for (const token of ['Bearer secret-1234', 'sécret-1234', ' secret-1234']) {
    await withClient('http://127.0.0.1:1', { token }, async (client) => {
      const error = await failure(client.dockets.get(DOCKET));
      assert.equal(error.variable, 'VOICE_CALLING_API_TOKEN');
      assert.ok(!inspect(error).includes('1234'), inspect(error));
    });
  }
  assert.throws(() => new VoiceClient({ token: 123456789 }), (error) => {
    assert.equal(error.variable, 'token');
    return !inspect(error).includes('123456789');
  });
});

/** What breaks the component is seldom seen: here the clock stops when the service has a request. */
async function withStoppingClock(options, answer, test) {
  const { bigint } = process.hrtime;
  const stop = () => {
    process.hrtime.bigint = () => {
      throw new Error('the clock stopped');
    };
  };
  try {
    await withBoth((...request) => answer(stop, ...request), options, (client, service) =>
      test(client, service, () => (process.hrtime.bigint = bigint)),
    );
  } finally {
    process.hrtime.bigint = bigint;
  }
}

test('a component that fails after a create says that the call may exist, and is permanent', () =>
  withStoppingClock({}, (stop) => stop(), async (client, _, restart) => {
    const created = await failure(client.dockets.create(REQUEST));
    restart();
    const read = await failure(client.dockets.get(DOCKET));
    restart();
    for (const error of [created, read]) {
      assert.ok(error instanceof package_.ExecutionFailed, error.stack);
      assert.equal(error.kind, 'execution-failed');
      assert.equal(error.cause.message, 'the clock stopped');
      assert.equal(error.attempts.length, 1);
    }
    assert.match(created.message, /may exist/);
    assert.equal(created.isPermanent, true);
    assert.equal(read.isPermanent, false);
    assert.match(inspect(client), /instances: 0/);
  }));

test('a create of which it is certain that it did nothing is not permanent, if the component fails', () =>
  withStoppingClock({}, (stop) => (stop(), { status: 429 }), async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.ok(error instanceof package_.ExecutionFailed, error.stack);
    assert.match(error.message, /nothing was created/);
    assert.equal(error.isPermanent, false);
  }));

test('a batch whose component fails sends nothing more, and nobody is said to have aborted it', () => {
  const answer = (stop, _, __, nth) => {
    if (nth < 3) return new Promise(() => {});
    return stop();
  };
  return withStoppingClock({ maxInFlight: 3 }, answer, async (client, { requests, server }) => {
    const batch = client.dockets.createMany(Array(10).fill(REQUEST), { timeoutMs: 60_000 });
    const error = await failure(batch);
    assert.ok(error instanceof package_.ExecutionFailed, error.stack);
    assert.equal(error.isPermanent, true);
    const told = error.attempts.map(({ status, transportError }) => status ?? transportError);
    const givenUp = 'given up, since the component failed';
    assert.deepEqual(told.sort(), [200, givenUp, givenUp].sort());
    while ((await connections(server)) > 1) await new Promise(setImmediate);
    assert.equal(requests.length, 3);
  });
});

function connections(server) {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}
