import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as package_ from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, failure, withBoth, withClient, withSockets } from './service.js';

const { NoAnswerError, RequestError, ServiceError, VoiceClient } = package_;

/** What the service answers to a read, and the class of the error. */
const READS = [
  [401, 'Unauthorized', 'permanent-unauthorized'],
  [403, 'Unauthorized', 'permanent-unauthorized'],
  [404, 'NotFound', 'permanent-not-found'],
  [410, 'NotFound', 'permanent-not-found'],
  [302, 'Rejected', 'permanent-rejected'],
  [409, 'Rejected', 'permanent-rejected'],
  [422, 'Rejected', 'permanent-rejected'],
  [429, 'RateLimited', 'rate-limited'],
  [503, 'Unavailable', 'unavailable'],
  [200, 'UnexpectedResponse', 'permanent-unexpected-response'],
];

for (const [status, name, kind] of READS) {
  test(`an answer of ${status} that is not a docket is ${name}, with all that is known of it`, () => {
    const headers = { 'x-request-id': 'request-1', 'retry-after': '0', location: '/elsewhere' };
    const answer = () => ({ status, headers, body: [{ detail: 'no' }] });
    return withBoth(answer, { maxAttempts: 2 }, async (client, { requests }) => {
      const error = await failure(client.dockets.get(DOCKET));
      assert.ok(error instanceof package_[name], error.stack);
      assert.ok(error instanceof ServiceError);
      assert.ok(error instanceof RequestError);
      assert.ok(!(error instanceof NoAnswerError));
      assert.equal(error.name, name);
      assert.equal(error.kind, kind);
      assert.equal(error.isPermanent, kind.startsWith('permanent-'));
      assert.equal(error.mayHaveCreated, false);
      assert.equal(error.problem, undefined);
      const response = { status, body: '[{"detail":"no"}]', bodyCut: false, requestId: 'request-1', retryAfterMs: 0 };
      assert.deepEqual(error.response, response);
      assert.equal(error.attempts.length, requests.length);
      assert.equal(error.attempts[0].status, status);
      assert.ok(status === 200 || error.message.includes(String(status)), error.message);
      assert.match(error.stack, /errors\.test\.js/);
      assert.ok(inspect(error).startsWith(`${name}: `));
    });
  });
}

/** What the service does with a create, the class and base of the error, and what may exist. */
const CREATES = [
  [{ status: 401 }, 'Unauthorized', ServiceError, false],
  [{ status: 404 }, 'NotFound', ServiceError, false],
  [{ status: 422 }, 'Rejected', ServiceError, false],
  [{ status: 409 }, 'Rejected', ServiceError, true],
  [{ status: 302 }, 'Rejected', ServiceError, true],
  [{ status: 429 }, 'RateLimited', ServiceError, false],
  [{ status: 200, body: 'no docket' }, 'UnexpectedResponse', ServiceError, true],
  [{ status: 503 }, 'OutcomeUnknown', RequestError, true],
  [{ status: 408 }, 'OutcomeUnknown', RequestError, true],
];

for (const [answer, name, base, mayHaveCreated] of CREATES) {
  test(`a create that is answered ${answer.status} is ${name}, and may ${mayHaveCreated ? '' : 'not '}have created`, () =>
    withBoth(() => answer, { maxAttempts: 1 }, async (client) => {
      const error = await failure(client.dockets.create(REQUEST));
      assert.equal(error.name, name, error.stack);
      assert.equal(Object.getPrototypeOf(package_[name]), base);
      assert.equal(error.mayHaveCreated, mayHaveCreated);
      assert.equal(error.isPermanent, name !== 'RateLimited');
      assert.equal(error.response.status, answer.status);
    }));
}

test('a create after whose failure another attempt succeeds may be a duplicate', () =>
  withBoth((_, __, nth) => (nth === 1 ? { status: 503 } : {}), {}, async (client) => {
    const docket = await client.dockets.create(REQUEST);
    assert.equal(docket.mayBeDuplicate, true);
    assert.deepEqual(docket.attempts.map(({ status }) => status), [503, 200]);
  }));

test('a create whose refusal follows a failure may have created', () =>
  withBoth((_, __, nth) => ({ status: nth === 1 ? 503 : 401 }), {}, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.equal(error.name, 'Unauthorized', error.stack);
    assert.equal(error.mayHaveCreated, true);
  }));

test('without an answer there is no response: nothing was created, or nobody knows', async () => {
  await withSockets((socket) => socket.destroy(), ({ url }) =>
    withClient(url, { maxAttempts: 1 }, async (client) => {
      const created = await failure(client.dockets.create(REQUEST));
      assert.equal(created.name, 'OutcomeUnknown', created.stack);
      assert.ok(!(created instanceof ServiceError) && !(created instanceof NoAnswerError));
      assert.equal(created.mayHaveCreated, true);
      assert.equal(created.response, undefined);
      const read = await failure(client.dockets.get(DOCKET));
      assert.equal(read.name, 'TimedOut', read.stack);
      assert.ok(read instanceof NoAnswerError);
      assert.equal(read.mayHaveCreated, false);
      assert.equal(read.response, undefined);
    }));
  await withClient('http://127.0.0.1:1', { maxAttempts: 1 }, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    assert.equal(error.name, 'Unreachable', error.stack);
    assert.ok(error instanceof NoAnswerError);
    assert.equal(error.mayHaveCreated, false);
    assert.equal(error.isPermanent, false);
  });
});

test('what is wrong before anything is sent is beneath neither base', async () => {
  const refused = [
    [{ token: undefined }, (client) => client.dockets.create(REQUEST), 'ConfigurationProblem'],
    [{}, (client) => client.dockets.create(REQUEST, { account: 'alpha' }), 'ConfigurationProblem'],
    [{}, (client) => client.dockets.create({}), 'InvalidInput'],
    [{}, (client) => client.dockets.create({ ...REQUEST, toPhoneNumber: '1' }), 'InvalidInput'],
  ];
  for (const [options, call, name] of refused) {
    await withClient('http://127.0.0.1:1', options, async (client) => {
      const error = await failure(call(client));
      assert.equal(error.name, name, error.stack);
      assert.equal(Object.getPrototypeOf(package_[name]), RequestError);
      assert.equal(error.mayHaveCreated, false);
      assert.equal(error.isPermanent, true);
      assert.equal(error.response, undefined);
      const { subject, found, allowed } = error.problem;
      assert.equal(error.message, `${subject}: found ${found}; allowed: ${allowed}`);
    });
  }
});

test('an error is written as JSON with its message', () =>
  withBoth(() => ({ status: 401, body: 'no' }), {}, async (client) => {
    const error = await failure(client.dockets.create(REQUEST));
    const { attempts, ...written } = JSON.parse(JSON.stringify(error));
    assert.equal(attempts.length, 1);
    assert.deepEqual(written, {
      name: 'Unauthorized',
      kind: 'permanent-unauthorized',
      message: error.message,
      isPermanent: true,
      mayHaveCreated: false,
      response: { status: 401, body: 'no', bodyCut: false },
    });
  }));

test('what does not apply to an error is undefined, and attempts are an empty array', async () => {
  const error = await failure(new VoiceClient({ env: {} }).dockets.get(DOCKET));
  assert.ok(error instanceof package_.ConfigurationProblem, error.stack);
  assert.equal(error.problem.subject, 'VOICE_CALLING_BASE_URL');
  assert.equal(error.response, undefined);
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

test('a token that is not allowed is not shown', async () => {
  for (const token of ['Bearer secret-1234', 'sécret-1234', ' secret-1234']) {
    await withClient('http://127.0.0.1:1', { token }, async (client) => {
      const error = await failure(client.dockets.get(DOCKET));
      assert.equal(error.problem.subject, 'token (VOICE_CALLING_API_TOKEN)');
      assert.ok(!inspect(error).includes('1234'), inspect(error));
    });
  }
  assert.throws(() => new VoiceClient({ token: 123456789 }), (error) => {
    assert.equal(error.problem.subject, 'token');
    return !inspect(error).includes('123456789');
  });
});

test('classes of a second copy of the package are the same to instanceof', async () => {
  const { createRequire } = await import('node:module');
  const other = createRequire(import.meta.url)('voice-calling');
  const error = await failure(new other.VoiceClient({ env: {} }).dockets.get(DOCKET));
  assert.ok(error instanceof package_.ConfigurationProblem);
  assert.ok(error instanceof RequestError);
  assert.ok(!(error instanceof ServiceError));
  assert.notEqual(other.RequestError, RequestError);
  class Own extends RequestError {}
  assert.ok(!(error instanceof Own));
  assert.ok(new Own('mine') instanceof Own);
  assert.ok(new Own('mine') instanceof RequestError);
});
