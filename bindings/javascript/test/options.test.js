/** The options of a client: what becomes of them, which are refused, and how a client ends. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigurationProblem, VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { environment } from '../src/settings.js';
import { DOCKET, REQUEST, TOKEN, failure, pem, withBoth } from './service.js';

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
    [{ accounts: [] }, 'accounts'],
    [{ accounts: { Alpha: {} } }, 'accounts'],
    [{ accounts: { alpha: { ca: CERTIFICATE } } }, 'accounts.alpha.ca'],
    [{ accounts: { alpha: { maxAttempts: [2] } } }, 'accounts.alpha.maxAttempts'],
    [{ ledger: { claim() {}, record() {} } }, 'ledger'],
    [{ agent: new http.Agent(), transport: new ScriptedService() }, 'transport'],
    [{ onAttempt: 'log' }, 'onAttempt'],
    [{ env: 'x' }, 'env'],
    [{ agent: {} }, 'agent'],
    [{ ca: 5 }, 'ca'],
    [[], 'options'],
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
    { env: { VOICE_CALLING_API_TOKEN: 1234 } },
    { token: 1234n },
    { accounts: { alpha: 'secret-1234' } },
  ];
  for (const options of misplaced) {
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.match(error.problem.found, /^a (string|number|bigint)$/);
      return !inspect(error, { depth: 9 }).split('\n    at ')[0].includes('1234');
    });
  }
});

test('a client that is closed while its first call is prepared finishes it, and refuses others', () =>
  withBoth(() => ({}), {}, async (client, { requests }) => {
    const created = client.dockets.create(REQUEST);
    const dispose = client[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')];
    const closed = [client.close(), dispose.call(client)];
    assert.match((await failure(client.dockets.create(REQUEST))).message, /closed/);
    await Promise.all(closed);
    assert.equal(requests.length, 1);
    assert.equal((await created).docketId, DOCKET);
  }));
