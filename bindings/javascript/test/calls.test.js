import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CREATED, DOCKET, DRIVERS, REQUEST, TOKEN, failure, withBoth, withClient, withService } from './service.js';

test('a docket is created with the token in its header, and comes back as a plain frozen object', () =>
  withBoth(() => ({ headers: { 'x-request-id': 'request-1' } }), {}, async (client, { requests }) => {
    const docket = await client.dockets.create({ ...REQUEST, externalId: 'crm-1001' });
    const { attempts, ...others } = docket;
    assert.deepEqual(attempts.map(({ status }) => status), [200]);
    assert.deepEqual(others, {
      docketId: DOCKET,
      status: 'OPEN',
      created: true,
      rawJson: JSON.stringify(CREATED),
      requestId: 'request-1',
      mayBeDuplicate: false,
    });
    assert.deepEqual(docket.raw, CREATED);
    assert.equal(Object.getPrototypeOf(docket), Object.prototype);
    assert.ok(Object.isFrozen(docket));
    const [{ method, url, headers, body }] = requests;
    assert.equal(`${method} ${url}`, 'POST /api/v2/dockets');
    assert.equal(headers.auth_token, `Bearer ${TOKEN}`);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers.host, new URL(`http://${headers.host}`).host);
    assert.deepEqual(JSON.parse(body), {
      agent_id: 7,
      to_phone_number: '919876543210',
      extra_config: { call_context: { reference: 'crm-1001' } },
      external_id: 'crm-1001',
    });
  }));

test('what the service leaves out is an absent key', () =>
  withBoth(() => ({ body: { docket_id: DOCKET } }), {}, async (client) => {
    const docket = await client.dockets.get(DOCKET);
    assert.deepEqual(Object.keys(docket), ['docketId', 'rawJson', 'attempts']);
  }));

test('a status that nobody knows is kept as it came', () =>
  withBoth(() => ({ body: { docket_id: DOCKET, status: 'PAUSED' } }), {}, async (client) => {
    assert.equal((await client.dockets.get(DOCKET)).status, 'PAUSED');
  }));

test('integers are numbers, and beyond 2^53 bigints, of which JSON has all digits', () => {
  const ids = ['7', '-9007199254740991', '9007199254740992', '9007199254740993', '-9223372036854775808'];
  const body = `[${ids.map((id) => `{"agent_id": ${id}}`)}]`;
  return withBoth(() => ({ body }), {}, async (client) => {
    const { agents } = await client.agents.list('org-1');
    const [small, least, ...others] = agents.map(({ agentId }) => agentId);
    assert.deepEqual([small, least], [7, -9007199254740991]);
    assert.deepEqual(others, ids.slice(2).map(BigInt));
    assert.deepEqual(
      JSON.parse(JSON.stringify(agents)).map(({ agentId }) => String(agentId)),
      ids,
    );
  });
});

test('an agent id may be given as a number, as a bigint, or as it came', () =>
  withBoth(created, {}, async (client, { requests }) => {
    const ids = [7, 7n, 9007199254740993n, '9007199254740993', '-9223372036854775808'];
    for (const agentId of ids) await client.dockets.create({ ...REQUEST, agentId });
    assert.deepEqual(
      requests.map(({ body }) => /"agent_id":(-?\d+)/.exec(body)[1]),
      ids.map(String),
    );
  }));

test('free-form JSON is sent without loss', () =>
  withBoth(created, {}, async (client, { requests }) => {
    const callContext = {
      text: 'ü😀\ud800"\\\u2028',
      big: 123456789012345678901234567890n,
      small: -0,
      fraction: 1e-7,
      nothing: null,
      left: undefined,
      list: [true, [], {}],
      when: new Date(0),
      ['__proto__']: 1,
    };
    await client.dockets.create({ ...REQUEST, callContext });
    assert.ok(
      requests[0].body.includes(
        '{"text":"ü😀\\ud800\\"\\\\\u2028","big":123456789012345678901234567890,"small":-0,' +
          '"fraction":1e-7,"nothing":null,"list":[true,[],{}],"when":"1970-01-01T00:00:00.000Z",' +
          '"__proto__":1}',
      ),
      requests[0].body,
    );
  }));

test('free-form JSON given as text is passed on digit for digit', () =>
  withBoth(created, {}, async (client, { requests }) => {
    const callContext = '{"z": 1.00000000000000000001, "a": 1e400, "z": "\\ud800"}';
    await client.dockets.create({ ...REQUEST, callContext });
    assert.ok(requests[0].body.includes(callContext), requests[0].body);
  }));

test('free-form JSON comes back as values, with the exact text beside', () => {
  const context = '{"n":1.10,"deep":' + '['.repeat(90) + ']'.repeat(90) + '}';
  const body = `{"docket_id":"${DOCKET}","call_context":${context}}`;
  return withBoth(() => ({ body }), {}, async (client) => {
    const docket = await client.dockets.get(DOCKET);
    assert.equal(docket.callContext.n, 1.1);
    assert.equal(docket.rawJson, body);
  });
});

test('no JSON of the service, however odd, costs the docket id', async () => {
  const odd = [
    '9'.repeat(5000),
    '"\\ud800"',
    '1e999999',
    '{"a":1,"a":2}',
    '['.repeat(5000) + ']'.repeat(5000),
    '"\ufeff\u0000"'.replace('\u0000', '\\u0000'),
  ];
  for (const value of odd) {
    const body = `{"docket_id":"${DOCKET}","status":"OPEN","surprise":${value}}`;
    await withBoth(() => ({ body }), {}, async (client) => {
      const docket = await client.dockets.create(REQUEST);
      assert.equal(docket.docketId, DOCKET);
      assert.equal(docket.rawJson, body);
      assert.equal(JSON.parse(JSON.stringify(docket)).rawJson, body);
      assert.equal(docket.raw.status, 'OPEN');
    });
  }
});

test('a batch has a result for each request, in their order', () =>
  withBoth(
    (_, body) => (body.includes('"n":1') ? { status: 422, body: { detail: 'no' } } : {}),
    {},
    async (client, { requests }) => {
      const batch = [0, 1, 2].map((n) => ({ ...REQUEST, callContext: { n } }));
      batch.push({ ...REQUEST, toPhoneNumber: '1' });
      const results = await client.dockets.createMany(batch, { timeoutMs: 5000 });
      assert.deepEqual(results.map(({ index }) => index), [0, 1, 2, 3]);
      assert.deepEqual(results.map(({ ok }) => ok), [true, false, true, false]);
      assert.equal(results[0].value.docketId, DOCKET);
      assert.equal(results[1].error.name, 'Rejected');
      assert.equal(results[1].error.response.status, 422);
      assert.equal(results[3].error.problem.subject, 'toPhoneNumber');
      assert.equal(requests.length, 3);
      assert.deepEqual(await client.dockets.createMany([], { timeoutMs: 1 }), []);
    },
  ));

test('a wait says whether its docket was completed', () => {
  const statuses = ['OPEN', 'IN_PROGRESS', 'COMPLETED'];
  const answer = () => ({ body: { docket_id: DOCKET, status: statuses.shift() ?? 'OPEN' } });
  return withBoth(answer, {}, async (client) => {
    const { outcome, polls } = await client.dockets.waitFor(DOCKET, { timeoutMs: 5000 });
    assert.equal(outcome.kind, 'completed');
    assert.equal(polls, 3);
    assert.equal(outcome.value.status, 'COMPLETED');
    const open = await client.dockets.waitFor(DOCKET, { timeoutMs: 20 });
    assert.equal(open.outcome.kind, 'pending');
    assert.equal(open.outcome.value.status, 'OPEN');
    assert.equal(open.heldBackMs, 0);
  });
});

test('a wait that has seen nothing has no value', () =>
  withBoth(() => ({ status: 404 }), {}, async (client) => {
    const { outcome, polls, failedPolls } = await client.calls.waitForDetails('task-1', { timeoutMs: 20 });
    assert.deepEqual(outcome, { kind: 'pending' });
    assert.ok(polls > 0);
    assert.equal(failedPolls, 0);
  }));

test('a direct call is made and its details are waited for', () => {
  const details = [{ agent_name: 'renewals', call_status: 'BUSY', call_duration: 1.5 }];
  let polls = 0;
  const answer = ({ method }) => {
    if (method === 'POST') return { body: { task_id: 'task-1' } };
    return polls++ === 0 ? { status: 404, body: {} } : { body: details };
  };
  return withBoth(answer, {}, async (client) => {
    const { taskId } = await client.calls.make({
      fromAgentName: 'renewals',
      toPhoneNumber: '919876543210',
    });
    const { outcome } = await client.calls.waitForDetails(taskId, { timeoutMs: 5000 });
    assert.equal(outcome.kind, 'completed');
    const { calls, rawJson } = outcome.value;
    assert.deepEqual(calls, [{ agentName: 'renewals', callStatus: 'BUSY', callDurationS: 1.5 }]);
    assert.deepEqual((await client.calls.getDetails(taskId)).calls, calls);
    assert.deepEqual(JSON.parse(rawJson), details);
  });
});

test('onAttempt is called for every attempt, and its own failure has no effect', () => {
  const entries = [];
  return withBoth(
    (_, __, nth) => (nth === 1 ? { status: 503 } : {}),
    {
      onAttempt(entry) {
        entries.push(entry);
        throw new Error('a listener that fails');
      },
    },
    async (client) => {
      const warned = new Promise((resolve) => process.once('warning', resolve));
      assert.equal((await client.dockets.create(REQUEST)).docketId, DOCKET);
      await new Promise(setImmediate);
      assert.deepEqual(entries.map(({ attempt, status }) => [attempt, status]), [
        [1, 503],
        [2, 200],
      ]);
      assert.equal(entries[0].function, 'dockets.create-docket-v2');
      const names = ['function', 'method', 'path', 'attempt', 'status', 'startedMs', 'durationMs'];
      assert.deepEqual(Object.keys(entries[0]), [...names, 'pauseMs']);
      assert.deepEqual(Object.keys(entries[1]), names);
      assert.ok(!JSON.stringify(entries).includes(TOKEN));
      assert.match((await warned).message, /a listener that fails/);
    },
  );
});

function created() {
  return {};
}

for (const [driver, Client] of Object.entries(DRIVERS)) {
  test(`${driver}: a client that is closed while its first call is prepared finishes it, and refuses others`, () =>
    withService(() => ({}), ({ url, requests }) =>
      withClient(url, {}, async (client) => {
        const created = client.dockets.create(REQUEST);
        const closed = [client.close(), client.close()];
        assert.match((await failure(client.dockets.create(REQUEST))).message, /closed/);
        await Promise.all(closed);
        assert.equal(requests.length, 1);
        assert.equal((await created).docketId, DOCKET);
      }, Client)));
}
