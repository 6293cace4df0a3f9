import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DOCKET, TOKEN, lines, pem, withService } from '../../javascript/test/service.mjs';
import { NodeRed, WATCHERS, account, around, nodeRed } from './node_red.mjs';

const REQUEST = { agentId: 7, toPhoneNumber: '919876543210', callContext: { reference: 'crm-1001' }, externalId: 'crm-1001' };
const CALL = { fromAgentName: 'renewals', toPhoneNumber: '919876543210' };
const REFUSED = { status: 401 };
const LOST = { status: 503 };

const docket = { type: 'voice-calling-docket' };
const call = { type: 'voice-calling-call' };

/** The ledger is that of all tests. */
let keys = 0;
const newKey = () => `crm-${++keys}`;

/** Runs `test` with a service and one node in a flow, whose ends and status are logged. */
function withNode(node, answer, test) {
  return withService(answer, async (service) => {
    await nodeRed.deploy([account(service.url), ...around(node), ...WATCHERS]);
    return test(service);
  });
}

/** Waits until the messages with these keys wait for their turn. */
async function waiting(keys, from) {
  for (const key of keys) await nodeRed.logged(new RegExp(`yellow status: ${key} waits$`), from);
}

/** Where a request comes from: the message, and the agent that is asked for if the node has another. */
const TAKEN = [
  ['the payload, with the agent of the node', { payload: { ...REQUEST, agentId: undefined } }, 8],
  ['msg.docket before the payload, and its agent before that of the node', { payload: 'a lead', docket: REQUEST }, 7],
];

for (const [what, msg, agentId] of TAKEN) {
  test(`a docket is created from ${what}, and comes out of the first output`, () =>
    withNode({ ...docket, agentId: '8' }, () => ({}), async ({ requests }) => {
      const { output, topic, docketId, payload, error } = await nodeRed.send({ ...msg, key: newKey(), topic: 'lead' });
      assert.deepEqual([output, topic, docketId, payload.status, error], [1, 'lead', DOCKET, 'OPEN', undefined]);
      assert.deepEqual(lines(requests), ['POST /api/v2/dockets']);
      assert.equal(requests[0].headers.auth_token, `Bearer ${TOKEN}`);
      assert.equal(Number(JSON.parse(requests[0].body).agent_id), agentId);
    }));
}

test('a call is made by the agent of the node, with numbers in its context as texts', () =>
  withNode({ ...call, fromAgentName: 'renewals' }, () => ({ body: { task_id: 'task-1' } }), async ({ requests }) => {
    const made = { toPhoneNumber: '919876543210', callContext: { name: 'Asha', amount: 100 } };
    const { output, taskId } = await nodeRed.send({ key: newKey(), call: made });
    assert.deepEqual([output, taskId], [1, 'task-1']);
    assert.deepEqual(lines(requests), ['POST /make_call']);
    const { from_agent_name, extra_config } = JSON.parse(requests[0].body);
    assert.deepEqual([from_agent_name, extra_config.call_context], ['renewals', { name: 'Asha', amount: '100' }]);
  }));

/**
 * How a create ends: the node, what the service answers, the message, the output, the kind of its
 * error, how many creates are sent, and what the status says first.
 */
const ENDS = {
  succeeds: [docket, () => ({}), REQUEST, 1, undefined, 1],
  'is refused before it is sent': [docket, () => ({}), { ...REQUEST, phone: '1' }, 2, 'invalid-input', 0, 'correct the message: phone: '],
  'the service refuses': [call, () => REFUSED, CALL, 2, 'unauthorized', 1, 'correct the account: '],
  'the service has no time for': [docket, () => ({ status: 429, headers: { 'retry-after': '0' } }), REQUEST, 2, 'rate-limited', 4, 'send it again later: '],
  'may have been processed': [docket, () => LOST, REQUEST, 3, 'outcome-unknown', 1, 'a phone may be ringing: look at the service: '],
};

for (const [what, [node, answer, payload, output, kind, creates, said]] of Object.entries(ENDS)) {
  const reaches = said ? '`catch` nodes, and no `complete` node' : '`complete` nodes, and no `catch` node';
  test(`a create that ${what} comes out of output ${output}, and reaches ${reaches}`, () =>
    withNode(node, answer, async ({ requests }) => {
      const from = nodeRed.lines.length;
      const key = newKey();
      const msg = await nodeRed.send({ payload, key, topic: 'lead' });
      assert.deepEqual([msg.output, msg.topic, msg.error?.kind], [output, 'lead', kind]);
      assert.equal(requests.filter(({ method }) => method === 'POST').length, creates);
      assert.equal(msg.docketId, output === 1 ? DOCKET : undefined);
      if (kind) {
        assert.equal(msg.error.mayHaveCreated, output === 3);
        assert.deepEqual(msg.request, payload);
        await nodeRed.logged(new RegExp(`red status: ${said}`), from);
      }
      if (output === 3) await nodeRed.logged(new RegExp(`\\[error\\].*${said}.*\\(key ${key}\\)$`), from);
      const [, ended] = await nodeRed.logged(/\] ((complete|catch): lead.*)/, from);
      assert.match(ended, said ? new RegExp(`^catch: lead: ${said}`) : /^complete: lead$/);
      // Whatever else it led to would have been logged before the next message is answered.
      await nodeRed.send({ payload: 'another', topic: 'another' });
      const ends = nodeRed.lines.slice(from).filter((line) => /(complete|catch): lead/.test(line));
      assert.equal(ends.length, 1, ends.join('\n'));
    }));
}

test('a message without a key sends nothing, and the error says what a key is', () =>
  withNode(docket, () => ({}), async ({ requests }) => {
    for (const key of [undefined, null, '', {}, 0.5]) {
      const { output, error } = await nodeRed.send({ payload: REQUEST, key });
      assert.deepEqual([output, error.problem.subject], [2, 'msg.key']);
      assert.match(error.message, /allowed: a text for this create alone/);
    }
    assert.equal(requests.length, 0);
  }));

test('the key is the property of the message that the node names, and a number in it is a text', () =>
  withNode({ ...docket, key: 'payload.externalId' }, () => ({}), async ({ requests }) => {
    for (const externalId of [1001, '1001']) {
      const { output, payload } = await nodeRed.send({ payload: { ...REQUEST, externalId } });
      assert.deepEqual([output, payload.fromLedger], [1, externalId === '1001']);
    }
    const { output, error } = await nodeRed.send({ docket: REQUEST });
    assert.deepEqual([output, error.kind, error.problem.subject], [2, 'invalid-input', 'msg.payload.externalId']);
    assert.deepEqual(requests.map(({ body }) => JSON.parse(body).external_id), ['1001']);
  }));

test('messages with the same key that come at once ring once', () =>
  withNode(docket, () => ({}), async ({ requests }) => {
    const key = newKey();
    const sent = await Promise.all([1, 2].map(() => nodeRed.send({ payload: REQUEST, key })));
    assert.equal(requests.length, 1);
    // The second one finds the first one open, or done.
    for (const { output, payload, error } of sent) {
      assert.ok(output === 3 ? error.problem.subject === 'key' : payload.docketId === DOCKET, JSON.stringify(sent));
    }
  }));

/** How Node-RED ends while a create is open, whether that is answered before, and where the message comes out later. */
for (const [signal, isAnswered, output] of [['SIGKILL', false, 3], ['SIGTERM', true, 1]]) {
  test(`after ${signal} and a restart, what was open rings no phone again, and comes out of output ${output}`, () => {
    const events = new EventEmitter();
    const answer = async (_, __, count) => {
      events.emit('received');
      if (count > 1) await once(events, 'answer');
    };
    return withNode(docket, answer, async ({ requests }) => {
      const [done, open] = [newKey(), newKey()];
      const send = (key) => nodeRed.send({ payload: REQUEST, key });
      assert.equal((await send(done)).output, 1);
      const received = once(events, 'received');
      send(open).catch(() => {});
      await received;
      const from = nodeRed.lines.length;
      const restarted = nodeRed.restart(signal);
      if (isAnswered) {
        await nodeRed.logged(/Stopping flows/, from);
        events.emit('answer');
      }
      await restarted;
      const again = await send(done);
      assert.deepEqual([again.output, again.docketId, again.payload.fromLedger], [1, DOCKET, true]);
      const [later, nextStep] = [await send(open), isAnswered ? undefined : 'unknown'];
      assert.deepEqual([later.output, later.error?.nextStep, requests.length], [output, nextStep, 2]);
      assert.ok(existsSync(join(nodeRed.userDir, 'voice-calling.db')));
    });
  });
}

test('a create of unknown outcome is sent again once a person has released its key, or never if its docket is found', async () => {
  const answers = [LOST, LOST, {}];
  const found = { body: { docket_id: DOCKET.replace('0', '1'), status: 'OPEN', to_phone_number: REQUEST.toPhoneNumber, created_at: new Date().toISOString() } };
  await withService(({ method }) => (method === 'GET' ? found : answers.shift()), async ({ url, requests }) => {
    const fetching = { ...around({ type: 'voice-calling-fetch' }).find(({ id }) => id === 'node'), id: 'fetch' };
    const flow = around(docket);
    // A message with the id of a docket goes to the node that fetches it.
    const open = flow.find(({ id }) => id === 'open');
    open.func = 'const it = { ...msg.payload, req: msg.req, res: msg.res }; return it.docketId ? [null, it] : [it, null];';
    Object.assign(open, { outputs: 2, wires: [['node'], ['fetch']] });
    await nodeRed.deploy([account(url), ...flow, fetching]);
    const [free, existing] = [newKey(), newKey()];
    const send = (key, more) => nodeRed.send({ payload: { ...REQUEST, externalId: key }, key, ...more });
    for (const key of [free, existing]) assert.equal((await send(key)).output, 3);
    const wrong = await send(newKey(), { releasedBy: 'Asha' });
    assert.deepEqual([wrong.output, wrong.error.problem.subject], [2, 'key']);
    const released = await send(free, { releasedBy: 'Asha' });
    assert.deepEqual([released.output, released.payload.fromLedger, released.releasedBy], [1, false, undefined]);
    found.body.external_id = existing;
    await nodeRed.send({ docketId: found.body.docket_id });
    const resolved = await send(existing);
    assert.deepEqual([resolved.output, resolved.docketId], [1, found.body.docket_id]);
    assert.equal(requests.filter(({ method }) => method === 'POST').length, 3);
  });
});

test('300 messages at once wait for their turn, and none times out', () =>
  withService(() => ({ afterMs: 105 }), async ({ url, requests }) => {
    // One after the other in the client they would take longer than an operation may.
    const time = { VOICE_CALLING_DEADLINE_MS: '15000', VOICE_CALLING_ATTEMPT_TIMEOUT_MS: '15000' };
    const impatient = await NodeRed.start({}, { VOICE_CALLING_MAX_IN_FLIGHT: '2', ...time });
    try {
      await impatient.deploy([account(url), ...around(docket)]);
      const sent = Array.from({ length: 300 }, () => impatient.send({ payload: REQUEST, key: newKey() }));
      const outputs = (await Promise.all(sent)).map(({ output }) => output);
      assert.deepEqual(outputs, Array(300).fill(1));
      assert.equal(requests.length, 300);
    } finally {
      await impatient.stop();
    }
  }));

test('a service that fails is sent five of many messages, and the others are not begun', () => {
  const events = new EventEmitter();
  const answer = (_, __, count) => (count <= 5 ? once(events, 'answer').then(() => LOST) : {});
  return withNode(docket, answer, async ({ requests, arrived }) => {
    const from = nodeRed.lines.length;
    const keys = Array.from({ length: 40 }, newKey);
    const sent = keys.map((key) => nodeRed.send({ payload: REQUEST, key }));
    await waiting(keys, from);
    await arrived(5);
    events.emit('answer');
    const ended = await Promise.all(sent);
    assert.equal(requests.length, 5);
    assert.equal(ended.filter(({ output }) => output === 3).length, 5);
    const others = ended.filter(({ output }) => output === 2);
    assert.deepEqual(new Set(others.map(({ error }) => error.kind)), new Set(['not-begun']));
    assert.equal(others.length, 35);
    const [{ request, key }] = others;
    assert.equal((await nodeRed.send({ payload: request, key })).output, 1);
  });
});

test('a phone number that is a number is taken if it has 12 digits, and refused otherwise', () =>
  withNode(docket, () => ({}), async ({ requests }) => {
    const send = (toPhoneNumber) => nodeRed.send({ payload: { ...REQUEST, toPhoneNumber }, key: newKey() });
    const msg = await send(919876543210);
    assert.equal(msg.output, 1, JSON.stringify(msg.error));
    assert.match(requests[0].body, /"to_phone_number":"919876543210"/);
    for (const toPhoneNumber of [9876543210, 9198765432101, 91987654321.5]) {
      const msg = await send(toPhoneNumber);
      assert.deepEqual([msg.output, msg.error.problem.subject], [2, 'toPhoneNumber']);
      assert.match(msg.error.message, /allowed: text/);
    }
    assert.equal(requests.length, 1);
  }));

const FILE = { cert: '', key: '', ca: '' };
const tls = (more) => ({ id: 'tls', type: 'tls-config', ...FILE, servername: '', verifyservercert: true, ...more });

/** An account with a wrong setting: how it differs, the other nodes, and what is said. */
const WRONG = {
  'a base URL': [{ baseUrl: 'ftp://api.example' }, [], /baseUrl: found the scheme "ftp"; allowed: http/],
  'a ledger': [{ ledger: 'no-such-folder/calls.db' }, [], /ledger/],
  'a server that is not verified': [{ tls: 'tls' }, [tls({ verifyservercert: false })], /TLS: found no verification/],
  'a TLS configuration that is gone': [{ tls: 'tls' }, [], /TLS: found a configuration that cannot be used/],
};

for (const [what, [more, others, pattern]] of Object.entries(WRONG)) {
  test(`an account with ${what} is reported when it is deployed, and to each message`, async () => {
    const from = nodeRed.lines.length;
    await nodeRed.deploy([account('https://api.example', more), ...others, ...WATCHERS, ...around(docket)]);
    await nodeRed.logged(new RegExp(`\\[error\\] \\[voice-calling-account:.*${pattern.source}`), from);
    const msg = await nodeRed.send({ payload: REQUEST, key: newKey() });
    assert.deepEqual([msg.output, msg.error.kind], [2, 'configuration']);
    assert.match(msg.error.message, pattern);
    await nodeRed.logged(new RegExp(`red status: correct the account: .*${pattern.source}`), from);
  });
}

test('an account trusts the authority of a TLS configuration, and shows its certificate', () =>
  withService(
    () => ({}),
    async ({ url }) => {
      const [clientKey] = pem('client.pem').match(/-----BEGIN [A-Z ]*PRIVATE KEY[^]*?PRIVATE KEY-----/);
      const credentials = { cadata: pem('ca.pem'), certdata: pem('client.pem').replace(clientKey, ''), keydata: clientKey };
      await nodeRed.deploy([account(url, { tls: 'tls' }), tls({ credentials }), ...around(docket)]);
      const { output, error } = await nodeRed.send({ payload: REQUEST, key: newKey() });
      assert.equal(output, 1, JSON.stringify(error));
    },
    { requestCert: true, ca: pem('ca.pem') },
  ));

/**
 * A deployment while a create is in flight and others wait: what is deployed, whether the create is
 * answered before the flow ends, and what is logged.
 */
const DEPLOYMENTS = [
  ['nodes', true, `the create with the key KEY has succeeded: ${DOCKET}`],
  ['full', true, `the create with the key KEY has succeeded: ${DOCKET}`],
  ['nodes', false, 'the create with the key KEY is still open: the ledger will have its outcome'],
  ['full', false, 'the create with the key KEY is still open: the ledger will have its outcome'],
];

for (const [type, isAnswered, logged] of DEPLOYMENTS) {
  test(`a create that is ${isAnswered ? '' : 'not '}answered during a deployment (${type}) is finished, and what waits is not begun`, async () => {
    const events = new EventEmitter();
    const answer = async (_, __, count) => {
      events.emit(`received ${count}`);
      if (count <= 5) await once(events, 'answer');
    };
    await withNode(docket, answer, async ({ url, requests }) => {
      const all = Array.from({ length: 6 }, newKey);
      const send = (key) => nodeRed.send({ payload: REQUEST, key });
      const received = once(events, 'received 5');
      const from = nodeRed.lines.length;
      // A flow that is gone answers nothing.
      const sent = all.map((key) => send(key).catch(() => {}));
      await received;
      await waiting(all, from);
      const deployed = nodeRed.deploy([account(url), ...around({ ...docket, name: 'renamed' })], type);
      await nodeRed.logged(/Stopping (flows|modified nodes)/, from);
      await nodeRed.logged(/\[error\].*not begun, since the flow was stopped \(key /, from);
      if (isAnswered) events.emit('answer');
      await nodeRed.logged(new RegExp(logged.replace('KEY', `(${all.join('|')})`)), from);
      await deployed;
      assert.equal(requests.length, 5);
      events.emit('answer');
      if (type === 'nodes') {
        const outputs = (await Promise.all(sent)).map(({ output }) => output);
        assert.deepEqual(outputs.sort(), [1, 1, 1, 1, 1, 2]);
      }
      let fromLedger = 0;
      for (const key of all) {
        let msg = await send(key);
        // The flow that is gone may not have recorded it yet.
        while (msg.output === 3) msg = await send(key);
        fromLedger += Number(msg.payload.fromLedger);
      }
      assert.deepEqual([fromLedger, requests.length], [5, 6]);
    });
  });
}
