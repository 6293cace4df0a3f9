import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { DOCKET, TOKEN, lines, withService } from '../../javascript/test/service.mjs';
import { WATCHERS, account, around, func, nodeRed } from './node_red.mjs';

const REQUEST = { agentId: 7, toPhoneNumber: '919876543210', callContext: { reference: 'crm-1001' }, externalId: 'crm-1001' };
const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };

/** Runs `test` with a service and one node in a flow, with `others` in it. */
function withNode(node, answer, test, others = []) {
  return withService(answer, async (service) => {
    await nodeRed.deploy([account(service.url), ...around(node), ...others]);
    return test(service);
  });
}

const docket = { type: 'voice-calling-docket' };
const call = { type: 'voice-calling-call' };

/** Where a request comes from: the message, and the agent that is asked for where the node has another. */
const TAKEN = [
  ['the payload, with the agent of the node', { payload: { ...REQUEST, agentId: undefined } }, 8],
  ['msg.docket before the payload, and its agent before that of the node', { payload: 'a lead', docket: REQUEST }, 7],
];

for (const [what, msg, agentId] of TAKEN) {
  test(`a docket is created from ${what}, and comes out of the first output`, () =>
    withNode({ ...docket, agentId: '8' }, () => ({}), async ({ requests }) => {
      const { output, topic, docketId, payload, error } = await nodeRed.send({ ...msg, topic: 'lead' });
      assert.deepEqual([output, topic, docketId, payload.status, error], [1, 'lead', DOCKET, 'OPEN', undefined]);
      assert.deepEqual(lines(requests), ['POST /api/v2/dockets']);
      assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
      assert.equal(Number(JSON.parse(requests[0].body).agent_id), agentId);
    }));
}

test('a call is made by the agent of the node', () =>
  withNode({ ...call, fromAgentName: 'renewals' }, () => ({ body: { task_id: 'task-1' } }), async ({ requests }) => {
    const { output, taskId } = await nodeRed.send({ call: { toPhoneNumber: '919876543210' } });
    assert.deepEqual([output, taskId], [1, 'task-1']);
    assert.deepEqual(lines(requests), ['POST /make_call']);
    assert.equal(JSON.parse(requests[0].body).from_agent_name, 'renewals');
  }));

/**
 * How a create ends: the node, what the service answers, the message, the output, the kind of its
 * error, how many creates are sent, and what a `catch` node gets.
 */
const ENDS = {
  succeeds: [docket, () => ({}), REQUEST, 1, undefined, 1],
  'is refused before it is sent': [docket, () => ({}), { ...REQUEST, phone: '1' }, 2, 'invalid-input', 0, /phone: .* undefined$/],
  'the service refuses': [call, () => ({ status: 401 }), CALL, 2, 'unauthorized', 1, /401.* undefined$/],
  'the service has no time for': [docket, () => ({ status: 429, headers: { 'retry-after': '0' } }), REQUEST, 2, 'rate-limited', 4, /429.* undefined$/],
  'may have been processed': [docket, () => ({ status: 503 }), REQUEST, 3, 'outcome-unknown', 1, /do not retry: .* true$/],
};

for (const [what, [node, answer, payload, output, kind, creates, caught]] of Object.entries(ENDS)) {
  const reaches = caught ? '`catch` nodes, and no `complete` node' : '`complete` nodes, and no `catch` node';
  test(`a create that ${what} comes out of output ${output}, and reaches ${reaches}`, () =>
    withNode(node, answer, async ({ requests }) => {
      const from = nodeRed.lines.length;
      const msg = await nodeRed.send({ payload, topic: 'lead' });
      assert.deepEqual([msg.output, msg.topic, msg.error?.kind], [output, 'lead', kind]);
      assert.equal(requests.filter(({ method }) => method === 'POST').length, creates);
      assert.equal(msg.docketId, output === 1 ? DOCKET : undefined);
      if (kind) {
        assert.equal(msg.error.mayHaveCreated, output === 3);
        assert.deepEqual(msg.request, payload);
      }
      if (output === 3) await nodeRed.logged(/\[error\].*do not retry: .*"externalId":"crm-1001","to":"\*{8}3210"/, from);
      const [, ended] = await nodeRed.logged(/\] ((complete|catch): lead.*)/, from);
      assert.match(ended, caught ? new RegExp(`^catch: lead: .*${caught.source}`) : /^complete: lead$/);
      // Whatever else it led to would have been logged before the next message is answered.
      await nodeRed.send({ payload: 'another', topic: 'another' });
      const ends = nodeRed.lines.slice(from).filter((line) => /(complete|catch): lead/.test(line));
      assert.equal(ends.length, 1, ends.join('\n'));
    }, WATCHERS));
}

test('a message of unknown outcome that a wire or a `catch` node leads back is sent once', () =>
  withService(() => ({ status: 503 }), async ({ url, requests }) => {
    const flow = around(docket);
    flow.find(({ id }) => id === 'answer-3').wires = [['again']];
    const again = { ...func('again', 'delete msg.req; delete msg.res; return { ...msg, ...msg.payload };'), wires: [['node']] };
    const back = { id: 'catch', type: 'catch', z: 'flow', scope: ['node'], wires: [['node']] };
    await nodeRed.deploy([account(url), ...flow, again, back]);
    const from = nodeRed.lines.length;
    nodeRed.send({ payload: REQUEST }).catch(() => {});
    await nodeRed.logged(/Message exceeded maximum number of catches/, from);
    assert.equal(requests.length, 1);
  }));

test('a phone number that is a number is taken if it has 12 digits, and refused otherwise', () =>
  withNode(docket, () => ({}), async ({ requests }) => {
    const msg = await nodeRed.send({ payload: { ...REQUEST, toPhoneNumber: 919876543210 } });
    assert.equal(msg.output, 1, JSON.stringify(msg.error));
    assert.match(requests[0].body, /"to_phone_number":"919876543210"/);
    for (const toPhoneNumber of [9876543210, 9198765432101, 91987654321.5]) {
      const msg = await nodeRed.send({ payload: { ...REQUEST, toPhoneNumber } });
      assert.deepEqual([msg.output, msg.error.problem.subject], [2, 'toPhoneNumber']);
      assert.match(msg.error.message, /allowed: text/);
    }
    assert.equal(requests.length, 1);
  }));

test('an account with a wrong setting is reported when it is deployed, and to each message', async () => {
  const pattern = /baseUrl: found the scheme "ftp"; allowed: http/;
  const from = nodeRed.lines.length;
  const status = { id: 'status', type: 'status', z: 'flow', scope: ['node'], wires: [['shown']] };
  const shown = func('shown', "node.log(`${msg.status.fill} status: ${msg.status.text}`);");
  await nodeRed.deploy([account('ftp://api.example'), status, shown, ...around(docket)]);
  await nodeRed.logged(new RegExp(`\\[error\\] \\[voice-calling-account:.*${pattern.source}`), from);
  const msg = await nodeRed.send({ payload: REQUEST });
  assert.deepEqual([msg.output, msg.error.kind], [2, 'configuration']);
  assert.match(msg.error.message, pattern);
  await nodeRed.logged(new RegExp(`red status: ${pattern.source}`), from);
});

/**
 * A deployment while a create is in flight: what is deployed, whether the create is answered
 * meanwhile, what is logged, and the output and the kind of the error, if the flow is still there.
 */
const DEPLOYMENTS = [
  ['nodes', true, 'was created while the flow was stopped.*' + DOCKET, 1],
  ['full', true, 'was created while the flow was stopped.*' + DOCKET],
  ['nodes', false, '\\[error\\].*do not retry: ', 3, 'outcome-unknown'],
  ['full', false, '\\[error\\].*do not retry: '],
];

for (const [type, isAnswered, logged, output, kind] of DEPLOYMENTS) {
  test(`a create that is ${isAnswered ? '' : 'not '}answered during a deployment (${type}) is waited for, and logged`, async () => {
    const events = new EventEmitter();
    const answer = async () => {
      events.emit('received');
      await once(events, 'answer');
    };
    await withNode(docket, answer, async ({ url, requests }) => {
      const received = once(events, 'received');
      const from = nodeRed.lines.length;
      const sent = nodeRed.send({ payload: REQUEST });
      // A flow that is gone answers nothing.
      sent.catch(() => {});
      await received;
      const deployed = nodeRed.deploy([account(url), ...around({ ...docket, name: 'renamed' })], type);
      await nodeRed.logged(/Stopping (flows|modified nodes)/, from);
      if (isAnswered) events.emit('answer');
      await deployed;
      await nodeRed.logged(new RegExp(`${logged}.*"externalId":"crm-1001"`), from);
      if (output) {
        const msg = await sent;
        assert.deepEqual([msg.output, msg.error?.kind], [output, kind]);
      }
      assert.equal(requests.length, 1);
      events.emit('answer');
    });
  });
}
