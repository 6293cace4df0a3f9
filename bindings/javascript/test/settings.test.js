import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigurationProblem, VoiceClient } from 'voice-calling';
import { ScriptedService } from 'voice-calling/testing';
import { settings } from '../generated/settings.js';
import { environment } from '../src/settings.js';
import { DOCKET, TOKEN, failure, withService } from './service.js';

const CERTIFICATE = readFileSync(new URL('certificates/ca.pem', import.meta.url), 'utf8');

test('every option becomes its variable, in its spelling', () => {
  const options = {};
  for (const [name, { kind, words }] of Object.entries(settings)) {
    options[name] = { integer: 5, flag: true, choice: words?.[1] }[kind] ?? 'text';
  }
  const variables = Object.fromEntries(environment(options, {}, true));
  assert.equal(variables.VOICE_CALLING_API_TOKEN, 'text');
  assert.equal(variables.VOICE_CALLING_DEADLINE_MS, '5');
  assert.equal(variables.VOICE_CALLING_ALLOW_INSECURE_HTTP, 'true');
  assert.equal(variables.VOICE_CALLING_CREATE_RETRY, 'not-sent');
  assert.equal(variables.VOICE_CALLING_LOG, 'attempts');
  assert.equal(Object.keys(variables).length, Object.keys(settings).length + 1);
});

test('an option goes before the variable, and an undefined one is absent', () => {
  const variables = { VOICE_CALLING_DEADLINE_MS: '1', VOICE_CALLING_BASE_URL: 'b', HOME: '/' };
  const merged = environment({ deadlineMs: 2, baseUrl: undefined }, variables, false);
  assert.deepEqual(Object.fromEntries(merged), {
    VOICE_CALLING_DEADLINE_MS: '2',
    VOICE_CALLING_BASE_URL: 'b',
  });
});

test('accounts become variables with their names, and are added to those of the environment', () => {
  const variables = {
    VOICE_CALLING_ACCOUNTS: 'gamma,alpha',
    VOICE_CALLING_ALPHA_API_TOKEN: 'a',
    VOICE_CALLING_GAMMA_API_TOKEN: 'c',
  };
  const accounts = { alpha: { maxAttempts: 2 }, 'beta-2': { token: 'b', createRetry: 'never' } };
  const merged = environment({ accounts }, variables, false);
  assert.deepEqual(Object.fromEntries(merged), {
    VOICE_CALLING_ACCOUNTS: 'gamma,alpha,beta-2',
    VOICE_CALLING_ALPHA_API_TOKEN: 'a',
    VOICE_CALLING_GAMMA_API_TOKEN: 'c',
    VOICE_CALLING_ALPHA_MAX_ATTEMPTS: '2',
    VOICE_CALLING_BETA_2_API_TOKEN: 'b',
    VOICE_CALLING_BETA_2_CREATE_RETRY: 'never',
  });
});

test('a client may be configured by the environment alone', () =>
  withService(
    () => ({ body: { docket_id: DOCKET } }),
    async ({ url }) => {
      const env = { VOICE_CALLING_BASE_URL: url, VOICE_CALLING_API_TOKEN: TOKEN };
      await using_(new VoiceClient({ env }), (client) => client.dockets.get(DOCKET));
      const { env: own } = process;
      process.env = { PATH: own.PATH, ...env };
      try {
        await using_(new VoiceClient(), (client) => client.dockets.get(DOCKET));
      } finally {
        process.env = own;
      }
    },
  ));

test('a variable that may be a setting misspelt is refused', async () => {
  const env = { VOICE_CALLING_CREATE_RETRYS: 'not-sent' };
  const error = await failure(new VoiceClient({ env }).dockets.get(DOCKET));
  assert.ok(error instanceof ConfigurationProblem);
  assert.equal(error.problem.subject, 'VOICE_CALLING_CREATE_RETRYS');
});

test('a value out of range is reported by its option and its variable', async () => {
  const client = new VoiceClient({ baseUrl: 'https://a.example', token: TOKEN, env: {}, maxAttempts: 0 });
  const error = await failure(client.dockets.get(DOCKET));
  assert.equal(error.problem.subject, 'maxAttempts (VOICE_CALLING_MAX_ATTEMPTS)');
  assert.equal(error.problem.allowed, 'a whole number from 1 to 100');
  assert.equal(error.message, 'maxAttempts (VOICE_CALLING_MAX_ATTEMPTS): found "0"; allowed: a whole number from 1 to 100');
});

test('an option of an account is named with the account, a variable by its own name', async () => {
  const env = { VOICE_CALLING_BASE_URL: 'https://a.example', VOICE_CALLING_API_TOKEN: TOKEN };
  const accounts = { alpha: { token: TOKEN, deadlineMs: 0 } };
  const error = await failure(new VoiceClient({ env, accounts }).dockets.get(DOCKET));
  assert.equal(error.problem.subject, 'accounts.alpha.deadlineMs (VOICE_CALLING_ALPHA_DEADLINE_MS)');
  const inVariables = { ...env, VOICE_CALLING_DEADLINE_MS: '0' };
  const other = await failure(new VoiceClient({ env: inVariables }).dockets.get(DOCKET));
  assert.equal(other.problem.subject, 'VOICE_CALLING_DEADLINE_MS');
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
    [{ accounts: { alpha: { Token: 'x' } } }, 'accounts.alpha.Token'],
    [{ accounts: { alpha: { ca: CERTIFICATE } } }, 'accounts.alpha.ca'],
    [{ accounts: { alpha: { maxAttempts: '2' } } }, 'accounts.alpha.maxAttempts'],
    [{ baseUrl: new URL('http://a') }, 'baseUrl'],
    [{ maxInstances: 5 }, 'maxInstances'],
    [{ transport: {} }, 'transport'],
    [{ wasm: new Uint8Array() }, 'wasm'],
    [{ agent: new http.Agent(), transport: new ScriptedService() }, 'transport'],
    [{ fetch }, 'fetch'],
    [{ onAttempt: 'log' }, 'onAttempt'],
    [{ env: 'x' }, 'env'],
    [{ env: { VOICE_CALLING_LOG: 1 } }, 'VOICE_CALLING_LOG'],
    [{ agent: 'x' }, 'agent'],
    [{ agent: {} }, 'agent'],
    [{ ca: 'no certificate' }, 'ca'],
    [{ ca: 5 }, 'ca'],
    [{ ca: [] }, 'ca'],
    [{ ca: [CERTIFICATE, 'no certificate'] }, 'ca'],
    [{ agent: new https.Agent(), baseUrl: 'http://127.0.0.1:1' }, 'agent'],
    [{ agent: new http.Agent(), env: { VOICE_CALLING_BASE_URL: 'https://127.0.0.1:1' } }, 'agent'],
    [{ agent: new https.Agent(), accounts: { alpha: { baseUrl: 'http://127.0.0.1:1' } } }, 'agent'],
    [{ env: [] }, 'env'],
    [{ env: new Map() }, 'env'],
    [5, 'options'],
    [[], 'options'],
    [new Map(), 'options'],
    [new Date(), 'options'],
    [new AbortController().signal, 'options'],
  ];
  for (const [options, subject] of refused) {
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.ok(error instanceof ConfigurationProblem, error.stack);
      assert.equal(error.problem.subject, subject);
      return error.message.startsWith(`${subject}: found `);
    });
  }
});

test('an authority may be given as text or bytes, and an agent without a protocol of its own', () => {
  new VoiceClient({ env: {}, ca: CERTIFICATE });
  new VoiceClient({ env: process.env, ca: [CERTIFICATE, Buffer.from(CERTIFICATE)] });
  new VoiceClient({ env: Object.create(null), agent: { addRequest() {} }, baseUrl: 'https://a.example' });
  new VoiceClient({ agent: new https.Agent(), baseUrl: 'HTTPS://a.example' });
});

test('what may be a token in the wrong place is not shown', () => {
  const misplaced = [
    () => new VoiceClient('secret-1234'),
    () => new VoiceClient({ env: 'secret-1234' }),
    () => new VoiceClient({ env: { VOICE_CALLING_API_TOKEN: 1234 } }),
    () => new VoiceClient({ token: 1234n }),
    () => new VoiceClient({ accounts: { alpha: 'secret-1234' } }),
    () => new VoiceClient({ accounts: { alpha: { token: 1234 } } }),
  ];
  for (const make of misplaced) {
    assert.throws(make, (error) => {
      assert.ok(error instanceof ConfigurationProblem, error.stack);
      assert.match(error.problem.found, /^a (string|number|bigint)$/);
      return !inspect(error, { depth: 9 }).split('\n    at ')[0].includes('1234');
    });
  }
});

test('a client that is closed takes no calls, and finishes those that run', () =>
  withService(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { body: { docket_id: DOCKET } };
    },
    async ({ url, requests }) => {
      const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {} });
      const running = client.dockets.get(DOCKET);
      const closing = client[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
      assert.match((await failure(client.dockets.get(DOCKET))).message, /closed/);
      await closing;
      assert.equal((await running).docketId, DOCKET);
      await client.close();
      assert.equal(requests.length, 1);
    },
  ));

async function using_(client, use) {
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
