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
const NOTHING = [[], [undefined], [{}], [{ account: undefined, timeoutMs: null, maxRetries: undefined, signal: null }]];

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

test('maxRetries of a call goes before maxAttempts of the client', () =>
  withBoth(() => ({ status: 503 }), { maxAttempts: 3 }, async (client, { requests }) => {
    await failure(client.dockets.get(DOCKET, { maxRetries: 1 }));
    assert.equal(requests.length, 2);
    const [{ ok }] = await client.dockets.createMany([REQUEST], { timeoutMs: 5000, maxRetries: 0 });
    assert.equal(ok, false);
    assert.equal(requests.length, 3);
  }));

test('timeoutMs of a call goes before deadlineMs of the client', () =>
  withBoth(() => new Promise(() => {}), { maxAttempts: 1 }, async (client) => {
    const begin = performance.now();
    const error = await failure(client.dockets.get(DOCKET, { timeoutMs: 100 }));
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
      assert.deepEqual(await sent({ account: 'beta-2', maxRetries: 1 }), Array(2).fill('Bearer token-of-beta'));
      assert.deepEqual(await sent(), Array(3).fill(`Bearer ${TOKEN}`));
      requests.length = 0;
      await Promise.all([
        failure(client.dockets.waitFor(DOCKET, { account: 'alpha', maxRetries: 0, timeoutMs: 20 })),
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

test('an unknown account is reported by its option, and nothing is sent', () =>
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

test('withOptions makes a client with other defaults, which a call goes before', () =>
  withBoth(
    () => ({ status: 503 }),
    { accounts: { alpha: { token: 'token-of-alpha' } } },
    async (client, { requests }) => {
      const sent = async (of, options) => {
        requests.length = 0;
        await failure(of.dockets.get(DOCKET, options));
        return requests.map(({ headers }) => headers.auth_token);
      };
      const alpha = client.withOptions({ account: 'alpha', maxRetries: 1 });
      assert.ok(alpha instanceof VoiceClient);
      assert.deepEqual(await sent(alpha), Array(2).fill('Bearer token-of-alpha'));
      assert.deepEqual(await sent(alpha.withOptions({ maxRetries: 0 })), ['Bearer token-of-alpha']);
      assert.deepEqual(await sent(alpha, { maxRetries: 2 }), Array(3).fill('Bearer token-of-alpha'));
      assert.deepEqual(await sent(client), Array(4).fill(`Bearer ${TOKEN}`));
      requests.length = 0;
      const [{ ok }] = await alpha.dockets.createMany([REQUEST], { timeoutMs: 5000 });
      assert.equal(ok, false);
      assert.equal(requests.length, 2);
      assert.throws(() => client.withOptions({ deadlineMs: 1 }), /options.deadlineMs: found an unknown option/);
      await alpha.close();
      assert.match((await failure(client.dockets.get(DOCKET))).message, /closed/);
    },
  ));

test('the time of a client made by withOptions holds for each poll and each request of a batch', () =>
  withBoth(() => new Promise(() => {}), { maxAttempts: 1 }, async (client) => {
    const quick = client.withOptions({ timeoutMs: 50 });
    const begin = performance.now();
    const [{ error }] = await quick.dockets.createMany([REQUEST], { timeoutMs: 60_000 });
    assert.equal(error.name, 'OutcomeUnknown', error.stack);
    assert.equal((await failure(quick.dockets.waitFor(DOCKET, { timeoutMs: 100 }))).name, 'TimedOut');
    assert.ok(performance.now() - begin < 3000);
  }));

test('a wait reports each answer to its listener', () => {
  const statuses = ['OPEN', 'IN_PROGRESS', 'COMPLETED'];
  const seen = [];
  const onProgress = (progress) => {
    seen.push([progress.answers, progress.status, progress.raw.status]);
    if (seen.length === 1) throw new Error('a listener that fails');
  };
  return withBoth(() => ({ body: { docket_id: DOCKET, status: statuses.shift() } }), {}, async (client) => {
    const warned = new Promise((resolve) => process.once('warning', resolve));
    await client.dockets.waitFor(DOCKET, { timeoutMs: 5000, onProgress });
    assert.deepEqual(seen, [[1, 200, 'OPEN'], [2, 200, 'IN_PROGRESS'], [3, 200, 'COMPLETED']]);
    assert.match((await warned).message, /onProgress failed: .*a listener that fails/);
  });
});

test('calls beyond maxInFlight wait for each other', () => {
  let open = 0;
  let most = 0;
  const answer = async () => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 5));
    open--;
    return {};
  };
  return withBoth(answer, { maxInFlight: 3 }, async (client, { requests }) => {
    await Promise.all(Array.from({ length: 20 }, () => client.dockets.create(REQUEST)));
    assert.equal(most, 3);
    assert.equal(requests.length, 20);
  });
});
