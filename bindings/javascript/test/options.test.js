/** What the options of calls and the accounts of a client do on the wire. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationProblem, NotFound, VoiceClient } from 'voice-calling';
import { CREATED, DOCKET, REQUEST, TOKEN, failure, withBoth, withClient, withService } from './service.js';

const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };

/** Each call that sends, and the one request that it makes where nothing more is said. */
const REQUESTS = [
  [(c, ...options) => c.agents.create({ agentName: 'a' }, ...options), 'POST /agents/', '{"agent_name":"a","tools":null}'],
  [(c, ...options) => c.agents.list('org-1', ...options), 'GET /api/v1/agents?organizationId=org-1', ''],
  [
    (c, ...options) => c.calls.make(CALL, ...options),
    'POST /make_call',
    '{"from_agent_name":"renewals","to_phone_number":"919876543210"}',
  ],
  [(c, ...options) => c.calls.getDetails('task-1', ...options), 'GET /call_details/task-1', ''],
  [
    (c, ...options) => c.dockets.createV1(REQUEST, ...options),
    'POST /api/v1/dockets',
    '{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{"reference":"crm-1001"}}}',
  ],
  [
    (c, ...options) => c.dockets.create(REQUEST, ...options),
    'POST /api/v2/dockets',
    '{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{"reference":"crm-1001"}}}',
  ],
  [(c, ...options) => c.dockets.get(DOCKET, ...options), `GET /api/v1/dockets/${DOCKET}`, ''],
  [
    (c, ...options) => c.webhooks.verify(`{"docket_id":"${DOCKET}","attempts":[1]}`, ...options),
    `GET /api/v1/dockets/${DOCKET}`,
    '',
  ],
];

/** Ways to say nothing. */
const NOTHING = [[], [undefined], [{}], [{ account: undefined, deadlineMs: null, maxAttempts: undefined }]];

test('without options a call sends what the component sends by default', async () => {
  for (const [call, line, body] of REQUESTS) {
    for (const options of NOTHING) {
      await withBoth(() => ({ status: 404 }), {}, async (client, { requests }) => {
        await failure(call(client, ...options));
        assert.equal(requests.length, 1);
        const [sent] = requests;
        assert.equal(`${sent.method} ${sent.url}`, line);
        assert.deepEqual(sent.body === '' ? '' : JSON.parse(sent.body), body === '' ? '' : JSON.parse(body));
        assert.equal(sent.headers.auth_token, `Bearer ${TOKEN}`);
      });
    }
  }
});

test('by default there are four attempts, and a create is retried after a 5xx', () =>
  withBoth(() => ({ status: 503 }), {}, async (client, { requests }) => {
    await failure(client.dockets.get(DOCKET));
    assert.equal(requests.length, 4);
    await failure(client.dockets.create(REQUEST));
    assert.equal(requests.length, 8);
  }));

test('by default the pause before a retry is between one and two seconds', () =>
  withService(
    (_, __, nth) => (nth === 1 ? { status: 503 } : {}),
    async ({ url }) => {
      const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {} });
      const { attempts } = await client.dockets.create(REQUEST);
      const pauseMs = attempts[1].startedMs - attempts[0].durationMs;
      assert.ok(pauseMs >= 990 && pauseMs < 2500, `${pauseMs} ms`);
      await client.close();
    },
  ));

test('by default a wait for details takes 404 for "not yet", and a wait for a docket does not', () => {
  const answer = (_, __, nth) =>
    nth === 1 ? { status: 404 } : { body: [{ call_status: 'BUSY', ...CREATED, status: 'COMPLETED' }] };
  return withBoth(answer, {}, async (client, { requests }) => {
    const { outcome } = await client.calls.waitForDetails('task-1', { timeoutMs: 5000 });
    assert.equal(outcome.kind, 'completed');
    assert.equal(requests.length, 2);
  }).then(() =>
    withBoth(answer, {}, async (client, { requests }) => {
      assert.ok((await failure(client.dockets.waitFor(DOCKET, { timeoutMs: 5000 }))) instanceof NotFound);
      assert.equal(requests.length, 1);
    }),
  );
});

test('notFoundIsPending says otherwise', async () => {
  await withBoth(() => ({ status: 404 }), {}, async (client, { requests }) => {
    const options = { timeoutMs: 5000, notFoundIsPending: false };
    assert.ok((await failure(client.calls.waitForDetails('task-1', options))) instanceof NotFound);
    assert.equal(requests.length, 1);
  });
  const answer = (_, __, nth) => (nth === 1 ? { status: 404 } : { body: { ...CREATED, status: 'COMPLETED' } });
  await withBoth(answer, {}, async (client, { requests }) => {
    const options = { timeoutMs: 5000, notFoundIsPending: true };
    assert.equal((await client.dockets.waitFor(DOCKET, options)).outcome.kind, 'completed');
    assert.equal(requests.length, 2);
  });
});

test('maxAttempts of a call goes before that of the client', () =>
  withBoth(() => ({ status: 503 }), { maxAttempts: 3 }, async (client, { requests }) => {
    await failure(client.dockets.get(DOCKET, { maxAttempts: 2 }));
    assert.equal(requests.length, 2);
    const [{ ok }] = await client.dockets.createMany([REQUEST], { timeoutMs: 5000, maxAttempts: 1 });
    assert.equal(ok, false);
    assert.equal(requests.length, 3);
  }));

test('deadlineMs of a call goes before that of the client', () =>
  withBoth(() => new Promise(() => {}), { maxAttempts: 1 }, async (client) => {
    const begin = performance.now();
    const error = await failure(client.dockets.get(DOCKET, { deadlineMs: 100 }));
    assert.equal(error.name, 'TimedOut', error.stack);
    assert.ok(performance.now() - begin < 3000);
  }));

test('createRetry: never makes of a create one request, whatever came', async () => {
  for (const status of [503, 429]) {
    await withBoth(() => ({ status }), { createRetry: 'never' }, async (client, { requests }) => {
      await failure(client.dockets.create(REQUEST));
      assert.equal(requests.length, 1);
    });
  }
});

test('each account has its token and its settings, and the client\'s where it has none', () =>
  withBoth(
    () => ({ status: 503 }),
    {
      maxAttempts: 3,
      accounts: { alpha: { token: 'token-of-alpha' }, 'beta-2': { token: 'token-of-beta', maxAttempts: 1 } },
    },
    async (client, { requests }) => {
      const sent = async (options) => {
        requests.length = 0;
        await failure(client.dockets.create(REQUEST, options));
        return requests.map(({ headers }) => headers.auth_token);
      };
      assert.deepEqual(await sent({ account: 'alpha' }), Array(3).fill('Bearer token-of-alpha'));
      assert.deepEqual(await sent({ account: 'beta-2' }), ['Bearer token-of-beta']);
      assert.deepEqual(await sent({ account: 'beta-2', maxAttempts: 2 }), Array(2).fill('Bearer token-of-beta'));
      assert.deepEqual(await sent(), Array(3).fill(`Bearer ${TOKEN}`));
      requests.length = 0;
      await Promise.all([
        failure(client.dockets.waitFor(DOCKET, { account: 'alpha', maxAttempts: 1, timeoutMs: 20 })),
        client.dockets.createMany([REQUEST], { account: 'beta-2', timeoutMs: 5000 }),
      ]);
      const tokens = new Set(requests.map(({ method, headers }) => `${method} ${headers.auth_token}`));
      assert.deepEqual([...tokens].sort(), ['GET Bearer token-of-alpha', 'POST Bearer token-of-beta']);
    },
  ));

test('accounts of the environment and of the options go together', () =>
  withService(
    () => ({}),
    async ({ url, requests }) => {
      const env = {
        VOICE_CALLING_ACCOUNTS: 'alpha',
        VOICE_CALLING_ALPHA_API_TOKEN: 'token-of-alpha',
      };
      const accounts = { alpha: { baseUrl: url }, beta: { baseUrl: url, token: 'token-of-beta' } };
      const client = new VoiceClient({ env, accounts });
      for (const account of ['alpha', 'beta']) await client.dockets.create(REQUEST, { account });
      const tokens = requests.map(({ headers }) => headers.auth_token);
      assert.deepEqual(tokens, ['Bearer token-of-alpha', 'Bearer token-of-beta']);
      const error = await failure(client.dockets.create(REQUEST));
      assert.ok(error instanceof ConfigurationProblem, error.stack);
      assert.match(error.problem.subject, /^VOICE_CALLING_/);
      await client.close();
    },
  ));

test('an unknown account is told by its option, and nothing is sent', () =>
  withService(
    () => ({}),
    ({ url, requests }) =>
      withClient(url, { accounts: { alpha: { token: 'token-of-alpha' } } }, async (client) => {
        const error = await failure(client.dockets.create(REQUEST, { account: 'beta' }));
        assert.ok(error instanceof ConfigurationProblem, error.stack);
        assert.equal(error.problem.subject, 'options.account');
        assert.equal(requests.length, 0);
      }),
  ));

test('a service that answers after 3.5 seconds, longer than a connection may take, gets one POST', () =>
  withBoth(
    () => new Promise((resolve) => setTimeout(resolve, 3500, {})),
    {},
    async (client, { requests }) => {
      const docket = await client.dockets.create(REQUEST);
      assert.equal(docket.docketId, DOCKET);
      assert.equal(docket.mayBeDuplicate, false);
      assert.equal(requests.length, 1);
    },
  ));
