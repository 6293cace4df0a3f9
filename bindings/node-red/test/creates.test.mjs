import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { after, before, test } from 'node:test';
import { DOCKET, TOKEN, withService, withSockets } from '../../javascript/test/service.js';
import { NodeRed, WATCHERS, account, around, func } from './node_red.mjs';

const REQUEST = { agentId: 7, toPhoneNumber: '919876543210', callContext: { reference: 'crm-1001' }, externalId: 'crm-1001' };
const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };

let nodeRed;
before(async () => {
  nodeRed = await NodeRed.start();
});
after(() => nodeRed.stop());

/** Runs `test` with a service and one node in a flow. */
function withNode(node, answer, test) {
  return withService(answer, async (service) => {
    await nodeRed.deploy([account(service.url), ...around(node)]);
    return test(service);
  });
}

const docket = { type: 'voice-calling-docket' };
const call = { type: 'voice-calling-call' };
const methods = (requests) => requests.map(({ method, url }) => `${method} ${url}`);

test('a docket is created from the payload, and comes out of the first output', () =>
  withNode({ ...docket, agentId: '7' }, () => ({}), async ({ requests }) => {
    const { agentId, ...payload } = REQUEST;
    const msg = await nodeRed.send({ payload, topic: 'lead' });
    assert.equal(msg.output, 1);
    assert.equal(msg.topic, 'lead');
    assert.equal(msg.docketId, DOCKET);
    assert.equal(msg.payload.status, 'OPEN');
    assert.equal(msg.error, undefined);
    assert.deepEqual(methods(requests), ['POST /api/v2/dockets']);
    assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
    assert.deepEqual(JSON.parse(requests[0].body), {
      agent_id: agentId,
      to_phone_number: '919876543210',
      extra_config: { call_context: { reference: 'crm-1001' } },
      external_id: 'crm-1001',
    });
  }));

test('msg.docket is taken before the payload, and its fields before those of the node', () =>
  withNode({ ...docket, agentId: '8' }, () => ({}), async ({ requests }) => {
    const msg = await nodeRed.send({ payload: 'a lead', docket: REQUEST });
    assert.equal(msg.output, 1);
    assert.equal(JSON.parse(requests[0].body).agent_id, 7);
  }));

test('a docket is waited for until it is completed', () =>
  withNode(
    { ...docket, wait: true },
    ({ method }, _body, count) => (method === 'POST' ? {} : { body: docketIn(count < 4 ? 'IN_PROGRESS' : 'COMPLETED') }),
    async ({ requests }) => {
      const msg = await nodeRed.send({ payload: REQUEST });
      assert.equal(msg.output, 1);
      assert.equal(msg.payload.status, 'COMPLETED');
      const polls = Array(3).fill(`GET /api/v1/dockets/${DOCKET}`);
      assert.deepEqual(methods(requests), ['POST /api/v2/dockets', ...polls]);
    },
  ));

test('a docket that is not completed in time comes out of the third output with its id', () =>
  withNode(
    { ...docket, wait: true, timeout: 0.1 },
    ({ method }) => (method === 'POST' ? {} : { body: docketIn('IN_PROGRESS') }),
    async () => {
      const msg = await nodeRed.send({ payload: REQUEST });
      assert.equal(msg.output, 3);
      assert.equal(msg.docketId, DOCKET);
      assert.equal(msg.error.kind, 'not-completed');
      assert.match(msg.error.message, /not completed after 0\.1 s; last seen: IN_PROGRESS/);
      assert.equal(msg.error.mayHaveCreated, true);
      assert.deepEqual(msg.request, REQUEST);
    },
  ));

test('a wait that fails is not an error where nothing was created', () =>
  withNode(
    { ...docket, wait: true },
    ({ method }) => (method === 'POST' ? {} : { status: 401 }),
    async () => {
      const msg = await nodeRed.send({ payload: REQUEST });
      assert.equal(msg.output, 3);
      assert.equal(msg.docketId, DOCKET);
      assert.equal(msg.error.kind, 'permanent-unauthorized');
      assert.equal(msg.error.mayHaveCreated, true);
    },
  ));

test('after a 503 the outcome is unknown: the third output, exactly one POST, and a line in the log', () =>
  withNode(docket, () => ({ status: 503 }), async ({ requests }) => {
    const from = nodeRed.lines.length;
    const msg = await nodeRed.send({ payload: REQUEST, topic: 'lead' });
    assert.equal(msg.output, 3);
    assert.equal(msg.topic, 'lead');
    assert.equal(msg.error.kind, 'permanent-outcome-unknown');
    assert.equal(msg.error.mayHaveCreated, true);
    assert.equal(msg.error.attempts.length, 1);
    assert.deepEqual(msg.payload, REQUEST);
    assert.deepEqual(msg.request, REQUEST);
    assert.deepEqual(methods(requests), ['POST /api/v2/dockets']);
    await nodeRed.logged(/\[error\].*do not retry: .*"externalId":"crm-1001","to":"\*{8}3210"/, from);
  }));

test('a create whose connection is closed without an answer is of unknown outcome, and sent once', () =>
  withSockets(
    (socket) => socket.destroy(),
    async (service) => {
      await nodeRed.deploy([account(service.url), ...around(docket)]);
      const msg = await nodeRed.send({ payload: REQUEST });
      assert.equal(msg.output, 3);
      assert.equal(msg.error.kind, 'permanent-outcome-unknown');
      assert.equal(service.posts, 1);
    },
  ));

test('a service that cannot be reached has created nothing', async () => {
  const gone = await withService(() => ({}), ({ url }) => url);
  await nodeRed.deploy([account(gone), ...around(docket)]);
  const msg = await nodeRed.send({ payload: REQUEST });
  assert.equal(msg.output, 2);
  assert.equal(msg.error.kind, 'unreachable');
  assert.equal(msg.error.mayHaveCreated, false);
});

test('after a 429 nothing was created: it is retried, and then comes out of the second output', () =>
  withNode(docket, () => ({ status: 429, headers: { 'retry-after': '0' } }), async ({ requests }) => {
    const msg = await nodeRed.send({ payload: REQUEST });
    assert.equal(msg.output, 2);
    assert.equal(msg.error.kind, 'rate-limited');
    assert.equal(msg.error.mayHaveCreated, false);
    assert.equal(msg.error.attempts.length, 4);
    assert.equal(requests.length, 4);
  }));

for (const [what, node, answer, payload, output, caught] of [
  ['that succeeds', docket, () => ({}), REQUEST, 1],
  ['that is refused', docket, () => ({}), { ...REQUEST, phone: '1' }, 2, /phone: .* undefined$/],
  ['that the service refuses', call, () => ({ status: 401 }), CALL, 2, /401.* undefined$/],
  ['of unknown outcome', docket, () => ({ status: 503 }), REQUEST, 3, /do not retry: .* true$/],
  [
    'whose wait fails',
    { ...docket, wait: true },
    ({ method }) => (method === 'POST' ? {} : { status: 401 }),
    REQUEST,
    3,
    /do not retry: .* true$/,
  ],
]) {
  const reaches = caught ? '`catch` nodes, and no `complete` node' : '`complete` nodes, and no `catch` node';
  test(`a create ${what} reaches ${reaches}`, () =>
    withService(answer, async ({ url }) => {
      await nodeRed.deploy([account(url), ...around(node), ...WATCHERS]);
      const from = nodeRed.lines.length;
      assert.equal((await nodeRed.send({ payload, topic: 'lead' })).output, output);
      const [, ended] = await nodeRed.logged(/\] ((complete|catch): lead.*)/, from);
      assert.match(ended, caught ? new RegExp(`^catch: lead: .*${caught.source}`) : /^complete: lead$/);
      // Whatever else it led to would have been logged before the next message is answered.
      await nodeRed.send({ payload: 'another', topic: 'another' });
      const ends = nodeRed.lines.slice(from).filter((line) => /(complete|catch): lead/.test(line));
      assert.equal(ends.length, 1, ends.join('\n'));
    }));
}

for (const node of [docket, call]) {
  test(`a message of unknown outcome that a wire or a \`catch\` node leads back to a ${node.type} is sent once`, () =>
    withService(() => ({ status: 503 }), async ({ url, requests }) => {
      const flow = around(node);
      flow.find(({ id }) => id === 'answer-3').wires = [['again']];
      const again = { ...func('again', 'delete msg.req; delete msg.res; return { ...msg, ...msg.payload };'), wires: [['node']] };
      const back = { id: 'catch', type: 'catch', z: 'flow', scope: ['node'], wires: [['node']] };
      await nodeRed.deploy([account(url), ...flow, again, back]);
      const from = nodeRed.lines.length;
      nodeRed.send({ payload: node === docket ? REQUEST : CALL }).catch(() => {});
      await nodeRed.logged(/Message exceeded maximum number of catches/, from);
      assert.equal(requests.length, 1);
    }));
}

for (const [what, node, request] of [
  ['docket', docket, REQUEST],
  ['call', call, CALL],
]) {
  test(`a ${what} takes a phone number that is a number if it has 12 digits, and refuses any other number`, () =>
    withNode(node, () => ({ body: { docket_id: DOCKET, status: 'OPEN', task_id: 'task-1' } }), async ({ requests }) => {
      const msg = await nodeRed.send({ payload: { ...request, toPhoneNumber: 919876543210 } });
      assert.equal(msg.output, 1, JSON.stringify(msg.error));
      assert.match(requests[0].body, /"to_phone_number":"919876543210"/);
      for (const toPhoneNumber of [9876543210, 9198765432101, 91987654321.5, -91987654321, 9.19876543211e25]) {
        const msg = await nodeRed.send({ payload: { ...request, toPhoneNumber } });
        assert.equal(msg.output, 2);
        assert.equal(msg.error.problem.subject, 'toPhoneNumber');
        assert.match(msg.error.message, /allowed: a string/);
      }
      assert.equal(requests.length, 1);
    }));
}

test('bad input is refused before anything is sent, and the error says what is wrong with it', () =>
  withNode(docket, () => ({}), async ({ requests }) => {
    for (const [payload, subject] of [
      [{ ...REQUEST, toPhoneNumber: '98765' }, 'toPhoneNumber'],
      [{ ...REQUEST, phone: '1' }, 'phone'],
      ['call them all', 'the argument'],
      [undefined, 'the argument'],
    ]) {
      const msg = await nodeRed.send({ payload });
      assert.equal(msg.output, 2);
      assert.equal(msg.error.kind, 'permanent-invalid-input');
      assert.equal(msg.error.problem.subject, subject);
      assert.deepEqual(msg.error.attempts, []);
    }
    assert.equal(requests.length, 0);
  }));

test('a token that the service refuses', () =>
  withNode(docket, () => ({ status: 401 }), async ({ requests }) => {
    const msg = await nodeRed.send({ payload: REQUEST });
    assert.equal(msg.output, 2);
    assert.equal(msg.error.kind, 'permanent-unauthorized');
    assert.equal(requests.length, 1);
  }));

test('a call is made, and its details are waited for', () =>
  withNode(
    { ...call, fromAgentName: 'renewals', wait: true },
    ({ method }, _body, count) => {
      if (method === 'POST') return { body: { task_id: 'task-1' } };
      if (count < 3) return { status: 404 };
      return { body: [{ call_status: 'ANSWERED', call_insights: { metadata: { amount: 1 } } }] };
    },
    async ({ requests }) => {
      const msg = await nodeRed.send({ call: { toPhoneNumber: '919876543210' } });
      assert.equal(msg.output, 1);
      assert.equal(msg.taskId, 'task-1');
      assert.equal(msg.payload.calls[0].callStatus, 'ANSWERED');
      assert.deepEqual(methods(requests), ['POST /make_call', 'GET /call_details/task-1', 'GET /call_details/task-1']);
      assert.equal(JSON.parse(requests[0].body).from_agent_name, 'renewals');
    },
  ));

test('a call that ends in a 503 comes out of the third output', () =>
  withNode(call, () => ({ status: 503 }), async ({ requests }) => {
    const msg = await nodeRed.send({ payload: CALL });
    assert.equal(msg.output, 3);
    assert.equal(msg.error.kind, 'permanent-outcome-unknown');
    assert.equal(requests.length, 1);
  }));

for (const [what, wrong, pattern] of [
  ['base URL', account('ftp://api.example'), /baseUrl \(VOICE_CALLING_BASE_URL\): found the scheme "ftp"; allowed: http/],
  ['token', account('https://api.example', ''), /VOICE_CALLING_API_TOKEN: found no value/],
]) {
  test(`an account with a wrong ${what} is reported when it is deployed, and to each message`, async () => {
    const from = nodeRed.lines.length;
    const status = { id: 'status', type: 'status', z: 'flow', scope: ['node'], wires: [['shown']] };
    const shown = func('shown', "node.log(`${msg.status.fill} status: ${msg.status.text}`);");
    await nodeRed.deploy([wrong, status, shown, ...around(docket)]);
    await nodeRed.logged(new RegExp(`\\[error\\] \\[voice-calling-account:.*${pattern.source}`), from);
    const msg = await nodeRed.send({ payload: REQUEST });
    assert.equal(msg.output, 2);
    assert.equal(msg.error.kind, 'permanent-configuration');
    assert.match(msg.error.message, pattern);
    await nodeRed.logged(new RegExp(`red status: ${pattern.source}`), from);
  });
}

test('a node without an account', async () => {
  await nodeRed.deploy(around(docket));
  const msg = await nodeRed.send({ payload: REQUEST });
  assert.equal(msg.output, 2);
  assert.equal(msg.error.problem.subject, 'account');
});

/** Sends a message, and runs `test` when the service has its request, which `answer()` answers. */
async function inMidCreation(test) {
  const events = new EventEmitter();
  const answer = async () => {
    events.emit('received');
    await once(events, 'answer');
  };
  await withNode(docket, answer, async (service) => {
    const received = once(events, 'received');
    const from = nodeRed.lines.length;
    const sent = nodeRed.send({ payload: REQUEST });
    // A flow that is gone answers nothing.
    sent.catch(() => {});
    await received;
    const deploy = (type, name) => nodeRed.deploy([account(service.url), ...around({ ...docket, name })], type);
    await test({ deploy, from, sent, answer: () => events.emit('answer') });
    assert.equal(service.requests.length, 1);
    events.emit('answer');
  });
}

test('a create that is answered while its node is deployed again is waited for', () =>
  inMidCreation(async ({ deploy, from, sent, answer }) => {
    const deployed = deploy('nodes', 'renamed');
    await nodeRed.logged(/Stopping modified nodes/, from);
    answer();
    await deployed;
    await nodeRed.logged(new RegExp(`was created while the flow was stopped.*${DOCKET}.*"externalId":"crm-1001"`), from);
    const msg = await sent;
    assert.equal(msg.output, 1);
    assert.equal(msg.docketId, DOCKET);
  }));

test('a create that is answered while all flows are deployed again is in the log', () =>
  inMidCreation(async ({ deploy, from, answer }) => {
    const deployed = deploy('full');
    await nodeRed.logged(/Stopping flows/, from);
    answer();
    await deployed;
    await nodeRed.logged(new RegExp(`was created while the flow was stopped.*${DOCKET}.*"externalId":"crm-1001"`), from);
  }));

test('a create that is not answered while its node is deployed again is of unknown outcome', () =>
  inMidCreation(async ({ deploy, from, sent }) => {
    await deploy('nodes', 'renamed');
    await nodeRed.logged(/\[error\].*do not retry: .*"externalId":"crm-1001"/, from);
    const msg = await sent;
    assert.equal(msg.output, 3);
    assert.equal(msg.error.kind, 'permanent-outcome-unknown');
  }));

test('a create that is not answered while all flows are deployed again is in the log', () =>
  inMidCreation(async ({ deploy, from }) => {
    await deploy('full');
    await nodeRed.logged(/\[error\].*do not retry: .*"externalId":"crm-1001"/, from);
  }));

test('a wait ends when the flow is deployed again, and the log has the docket', async () => {
  const events = new EventEmitter();
  const answer = ({ method }) => {
    if (method === 'POST') return {};
    events.emit('asked');
    return { body: docketIn('IN_PROGRESS') };
  };
  await withNode({ ...docket, wait: true }, answer, async (service) => {
    const from = nodeRed.lines.length;
    const asked = once(events, 'asked');
    nodeRed.send({ payload: REQUEST }).catch(() => {});
    await asked;
    await nodeRed.deploy([account(service.url), ...around(docket)]);
    await nodeRed.logged(new RegExp(`do not retry: the flow was stopped.*"id":"${DOCKET}"`), from);
  });
});

function docketIn(status) {
  return { docket_id: DOCKET, status, call_context: REQUEST.callContext };
}
