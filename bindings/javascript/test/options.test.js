/** The options of a client: what becomes of them, which are refused, and how a client ends. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigurationProblem, VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { environment } from '../src/settings.js';
import { DOCKET, DRIVERS, REQUEST, TOKEN, failure, pem, scripted, withBoth, withClient, withService } from './service.js';

const CERTIFICATE = pem('ca.pem');

test('an option goes before its variable, and accounts are added to those of the environment', () => {
  const variables = {
    HOME: '/',
    VOICE_CALLING_DEADLINE_MS: '1',
    VOICE_CALLING_BASE_URL: 'b',
    VOICE_CALLING_ACCOUNTS: 'gamma,alpha',
    VOICE_CALLING_ALPHA_API_TOKEN: 'a',
  };
  const accounts = { alpha: { maxAttempts: 2, allowInsecureHttp: true }, 'beta-2': { token: 'b', createRetry: 'never' } };
  const merged = environment({ deadlineMs: 2, baseUrl: undefined, accounts }, variables, false).variables;
  assert.deepEqual(Object.fromEntries(merged), {
    VOICE_CALLING_DEADLINE_MS: '2',
    VOICE_CALLING_BASE_URL: 'b',
    VOICE_CALLING_ACCOUNTS: 'gamma,alpha,beta-2',
    VOICE_CALLING_ALPHA_API_TOKEN: 'a',
    VOICE_CALLING_ALPHA_MAX_ATTEMPTS: '2',
    VOICE_CALLING_ALPHA_ALLOW_INSECURE_HTTP: 'true',
    VOICE_CALLING_BETA_2_API_TOKEN: 'b',
    VOICE_CALLING_BETA_2_CREATE_RETRY: 'never',
  });
});

test('a wrong value is reported by its option and its variable, in the account that has it', async () => {
  const env = { VOICE_CALLING_BASE_URL: 'https://a.example', VOICE_CALLING_API_TOKEN: TOKEN };
  const wrong = [
    [{ env, maxAttempts: 0 }, 'maxAttempts (VOICE_CALLING_MAX_ATTEMPTS)'],
    [{ env, accounts: { alpha: { token: TOKEN, deadlineMs: 0 } } }, 'accounts.alpha.deadlineMs (VOICE_CALLING_ALPHA_DEADLINE_MS)'],
    [{ env: { ...env, VOICE_CALLING_DEADLINE_MS: '0' } }, 'VOICE_CALLING_DEADLINE_MS'],
    [{ env, token: 'sécret-1234' }, 'token (VOICE_CALLING_API_TOKEN)'],
  ];
  for (const [options, subject] of wrong) {
    const error = await failure(new VoiceClient(options).dockets.get(DOCKET));
    assert.ok(error instanceof ConfigurationProblem, error.stack);
    assert.equal(error.problem.subject, subject);
    assert.ok(error.message.startsWith(`${subject}: found `), error.message);
    assert.ok(!inspect(error).includes('1234'), inspect(error));
  }
});

test('an option that does not exist, or is of another type, is refused at once', () => {
  const refused = [
    [{ baseURL: 'x' }, 'baseURL'],
    [{ deadlineMs: '5' }, 'deadlineMs'],
    [{ deadlineMs: -1 }, 'deadlineMs'],
    [{ maxAttempts: 1.5 }, 'maxAttempts'],
    [{ allowInsecureHttp: 'true' }, 'allowInsecureHttp'],
    [{ createRetry: 'always' }, 'createRetry'],
    [{ accounts: [] }, 'accounts'],
    [{ accounts: { 'a,b': {} } }, 'accounts'],
    [{ accounts: { Alpha: {} } }, 'accounts'],
    [{ accounts: { alpha: 'token' } }, 'accounts.alpha'],
    [{ accounts: { alpha: { ca: CERTIFICATE } } }, 'accounts.alpha.ca'],
    [{ accounts: { alpha: { maxAttempts: '2' } } }, 'accounts.alpha.maxAttempts'],
    [{ baseUrl: new URL('http://a') }, 'baseUrl'],
    [{ transport: {} }, 'transport'],
    [{ wasm: new Uint8Array() }, 'wasm'],
    [{ ledger: 7 }, 'ledger'],
    [{ ledger: { claim() {}, record() {} } }, 'ledger'],
    [{ agent: new http.Agent(), transport: new ScriptedService() }, 'transport'],
    [{ fetch }, 'fetch'],
    [{ onAttempt: 'log' }, 'onAttempt'],
    [{ env: 'x' }, 'env'],
    [{ env: new Map() }, 'env'],
    [{ env: { VOICE_CALLING_LOG: 1 } }, 'VOICE_CALLING_LOG'],
    [{ agent: {} }, 'agent'],
    [{ ca: 5 }, 'ca'],
    [{ ca: [] }, 'ca'],
    [{ ca: [CERTIFICATE, 'no certificate'] }, 'ca'],
    [{ agent: new https.Agent(), baseUrl: 'http://127.0.0.1:1' }, 'agent'],
    [{ agent: new http.Agent(), env: { VOICE_CALLING_BASE_URL: 'https://127.0.0.1:1' } }, 'agent'],
    [{ agent: new https.Agent(), accounts: { alpha: { baseUrl: 'http://127.0.0.1:1' } } }, 'agent'],
    [[], 'options'],
    [new Map(), 'options'],
    [new AbortController().signal, 'options'],
  ];
  for (const [options, subject] of refused) {
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.ok(error instanceof ConfigurationProblem, error.stack);
      assert.equal(error.problem.subject, subject);
      return error.message.startsWith(`${subject}: found `);
    });
  }
  const any = { env: Object.create(null), ca: [CERTIFICATE, Buffer.from(CERTIFICATE)], baseUrl: 'https://a.example' };
  for (const agent of [{ addRequest() {} }, new https.Agent()]) new VoiceClient({ ...any, agent });
});

test('what may be a token in the wrong place is not shown', () => {
  const misplaced = [
    'secret-1234',
    { env: 'secret-1234' },
    { env: { VOICE_CALLING_API_TOKEN: 1234 } },
    { token: 1234n },
    { accounts: { alpha: 'secret-1234' } },
    { accounts: { alpha: { token: 1234 } } },
  ];
  for (const options of misplaced) {
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.match(error.problem.found, /^a (string|number|bigint)$/);
      return !inspect(error, { depth: 9 }).split('\n    at ')[0].includes('1234');
    });
  }
});

test('withOptions makes a client with other defaults, which the options of a call go before', () =>
  withBoth(() => ({ status: 503 }), { accounts: { alpha: { token: 'token-of-alpha' } } }, async (client, { requests }) => {
    const tokens = async (of, options) => {
      requests.length = 0;
      await failure(of.dockets.get(DOCKET, options));
      return requests.map(({ headers }) => headers.auth_token);
    };
    const alpha = client.withOptions({ account: 'alpha', maxRetries: 1 });
    assert.ok(alpha instanceof VoiceClient);
    assert.deepEqual(await tokens(alpha), Array(2).fill('Bearer token-of-alpha'));
    assert.deepEqual(await tokens(alpha.withOptions({ maxRetries: 0 })), ['Bearer token-of-alpha']);
    assert.deepEqual(await tokens(alpha, { maxRetries: 2 }), Array(3).fill('Bearer token-of-alpha'));
    assert.deepEqual(await tokens(client), Array(4).fill(`Bearer ${TOKEN}`));
    requests.length = 0;
    await alpha.dockets.createMany([REQUEST], { timeoutMs: 5000 });
    assert.equal(requests.length, 2);
    assert.throws(() => client.withOptions({ deadlineMs: 1 }), /options.deadlineMs: found an unknown option/);
    await alpha.close();
    assert.match((await failure(client.dockets.get(DOCKET))).message, /closed/);
  }));

test('the time of a client made by withOptions holds for each poll and each request of a batch', async () => {
  const { client, service } = scripted(() => ({ afterMs: Infinity }), { maxAttempts: 1 });
  const quick = client.withOptions({ timeoutMs: 50 });
  const [{ error }] = await quick.dockets.createMany([REQUEST], { timeoutMs: 60_000 });
  assert.equal(error.name, 'OutcomeUnknown', error.stack);
  assert.equal((await failure(quick.dockets.waitFor(DOCKET, { timeoutMs: 100 }))).name, 'TimedOut');
  assert.ok(service.elapsedMs <= 200, `${service.elapsedMs}`);
});

for (const [driver, Client] of Object.entries(DRIVERS)) {
  test(`${driver}: a client that is closed while its first call is prepared finishes it, and refuses others`, () =>
    withService(() => ({}), ({ url, requests }) =>
      withClient(url, {}, async (client) => {
        const created = client.dockets.create(REQUEST);
        const dispose = client[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')];
        const closed = [client.close(), dispose.call(client)];
        assert.match((await failure(client.dockets.create(REQUEST))).message, /closed/);
        await Promise.all(closed);
        assert.equal(requests.length, 1);
        assert.equal((await created).docketId, DOCKET);
      }, Client)));
}
