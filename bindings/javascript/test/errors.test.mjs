/** Errors, the options of a client, its log, and its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as package_ from 'voice-calling';
import { DOCKET, REQUEST, TOKEN, failure, keeping, withBoth, withService } from './service.mjs';

const { VoiceCallingError, VoiceClient, OutcomeUnknownError } = package_;

test('a failure is an error of its class, with all that is known, and without the token', () => {
  const answer = { status: 429, headers: { 'retry-after': '7', 'x-request-id': 'r-1' }, body: TOKEN };
  return withBoth(() => answer, { maxRetries: 0 }, async ({ dockets }) => {
    const error = await failure(dockets.create({ ...REQUEST, externalId: 'crm-1' }));
    assert.ok(error instanceof package_.RateLimitedError && error instanceof VoiceCallingError && error instanceof Error, error.stack);
    const { code, nextStep, isPermanent, externalId, retryAfterMs, requestId, response } = error;
    assert.deepEqual([code, nextStep, isPermanent, externalId], ['VOICE_CALLING_RATE_LIMITED', 'retry-later', false, 'crm-1']);
    assert.deepEqual([retryAfterMs, requestId, response.status], [7000, 'r-1', 429]);
    const { message, kind, name } = JSON.parse(JSON.stringify(error));
    assert.deepEqual([message, kind, name], [error.message, 'rate-limited', 'RateLimitedError']);
    assert.ok(!inspect(error, { depth: 9 }).includes(TOKEN));
  });
});

test('errors can be made by hand, as tests of users do', () => {
  for (const [name, Class] of Object.entries(package_)) {
    if (!name.endsWith('Error') || Class === VoiceCallingError) continue;
    const error = new Class('why', { externalId: 'crm-1' });
    assert.deepEqual([error.name, error.message, error.externalId], [name, 'why', 'crm-1']);
    assert.ok(error.kind && error.nextStep && typeof error.isPermanent === 'boolean', name);
  }
  assert.equal(new OutcomeUnknownError('no answer').mayHaveCreated, true);
});

test('settings are checked when the client is made, and named as the user named them', () => {
  const env = { VOICE_CALLING_BASE_URL: 'https://a.example', VOICE_CALLING_API_TOKEN: TOKEN };
  const refused = [
    [{ env: {} }, 'VOICE_CALLING_BASE_URL'],
    [{ env: { VOICE_CALLING_BASE_URL: 'https://a.example' } }, 'VOICE_CALLING_API_TOKEN'],
    [{ env: { ...env, VOICE_CALLING_DEADLINE_MS: '0' } }, 'VOICE_CALLING_DEADLINE_MS'],
    [{ env: { ...env, VOICE_CALLING_CREATE_RETRIES: 'x' } }, 'VOICE_CALLING_CREATE_RETRIES'],
    [{ env, baseURL: 'x' }, 'baseURL'],
    [{ env, timeoutMs: 0 }, 'timeoutMs'],
    [{ env, maxRetries: 100 }, 'maxRetries'],
    [{ env, maxRetries: '2' }, 'maxRetries'],
    [{ env, createRetry: 'sometimes' }, 'createRetry'],
    [{ env, createRetry: true }, 'createRetry'],
    [{ env, token: 'sécret-1234' }, 'token'],
    [{ env, token: 1234 }, 'token'],
    [{ env, accounts: [] , proxy: 5 }, 'proxy'],
    [{ env, accounts: { alpha: { token: TOKEN, timeoutMs: 0 } } }, 'accounts.alpha.timeoutMs'],
    [{ env, accounts: { alpha: { token: TOKEN, proxy: 'http://p:1' } } }, 'accounts.alpha.proxy'],
    [{ env, accounts: { alpha: 'secret-1234' } }, 'accounts.alpha'],
    [{ env, headers: { host: 'x' } }, 'the header "host"'],
    [{ env, headers: new Headers({ a: 'b' }) }, 'headers'],
    [{ env, authorities: 'no PEM' }, 'certificates'],
    [{ env, proxy: 'socks5://p' }, 'proxy'],
    [{ env, ledger: 5 }, 'ledger'],
    [{ env, ledger: '/nowhere/calls.db' }, 'ledger'],
    [{ env, logger: {} }, 'logger'],
    [{ env, onAttempt: 'log' }, 'onAttempt'],
    [{ env, mayCall: true }, 'mayCall'],
    [{ env: 'x' }, 'env'],
    ['secret-1234', 'options'],
  ];
  for (const [options, subject] of refused) {
    assert.throws(() => new VoiceClient(options), (error) => {
      assert.deepEqual([error.name, error.problem?.subject], ['ConfigurationError', subject], error.stack);
      return !inspect(error, { depth: 9 }).split('\n    at ')[0].includes('1234');
    });
  }
});

test('an option goes before its variable, and accounts are added to those of the variables', () =>
  withService(() => ({ body: [] }), async ({ url, requests }) => {
    const env = { HOME: '/', VOICE_CALLING_BASE_URL: 'https://a.example', VOICE_CALLING_API_TOKEN: 'x', VOICE_CALLING_ACCOUNTS: 'gamma,alpha', VOICE_CALLING_ALPHA_API_TOKEN: 'a', VOICE_CALLING_GAMMA_API_TOKEN: 'g' };
    const client = new VoiceClient({ env, baseUrl: url, accounts: { 'beta-2': { token: 'b' } }, token: undefined });
    for (const account of ['gamma', 'alpha', 'beta-2', undefined]) await client.agents.list('o', { account });
    assert.deepEqual(requests.map(({ headers }) => headers.auth_token), ['Bearer g', 'Bearer a', 'Bearer b', 'Bearer x']);
    await client.close();
  }));

test('each attempt is reported to the hook, and what a listener throws fails no call', async () => {
  const attempts = [];
  const warnings = [];
  const onWarning = ({ message }) => warnings.push(message);
  process.on('warning', onWarning);
  const onAttempt = (attempt) => {
    attempts.push(attempt);
    throw new Error('a broken hook');
  };
  await withBoth((_, __, n) => (n === 1 ? { status: 503 } : {}), { onAttempt }, (client) => client.dockets.create(REQUEST));
  await new Promise(setImmediate);
  process.off('warning', onWarning);
  assert.deepEqual(attempts.map(({ method, path, status }) => [method, path, status]), [['POST', '/api/v2/dockets', 503], ['POST', '/api/v2/dockets', 200]]);
  assert.match(warnings.join(), /a broken hook/);
});

test('the log has the external id of what may have been created, and no phone number', async () => {
  const logger = keeping();
  await withBoth(() => ({ status: 503 }), { logger, maxRetries: 0 }, async (client, { arrived }) => {
    const batch = client.dockets.createEach([{ ...REQUEST, externalId: 'crm-1' }], { timeoutMs: 60_000 });
    batch.start();
    await arrived(1);
    await batch.close();
  });
  assert.match(logger.lines.join('\n'), /^warn: .*crm-1/m);
  assert.ok(!logger.lines.join().includes(REQUEST.toPhoneNumber));
});

test('a client that is closed finishes what runs, and refuses anything else', () =>
  withBoth(() => ({ afterMs: 50 }), {}, async (client, { requests }) => {
    const created = client.dockets.create(REQUEST);
    const closed = [client.close(), client[Symbol.asyncDispose]()];
    assert.match((await failure(client.dockets.create(REQUEST))).message, /closed/);
    assert.match((await failure(client.dockets.createEach([REQUEST], { timeoutMs: 9 }).next())).message, /closed/);
    await Promise.all(closed);
    assert.equal((await created).docketId, DOCKET);
    assert.equal(requests.length, 1);
  }));
