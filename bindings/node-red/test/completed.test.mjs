import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { DOCKET, lines, withService } from '../../javascript/test/service.mjs';
import { NodeRed, account, docketIn, func, nodeRed } from './node_red.mjs';

const PATH = '/voice-calling/completed';
const SECRET = 'of-this-test';
const DELIVERY = {
  docket_id: DOCKET,
  call_context: { reference: 'crm-1001' },
  call_insights: { call_disposition: 'INTERESTED' },
};
const FORGED = { ...DELIVERY, call_context: { reference: 'crm-2' } };
const completed = () => docketIn('COMPLETED');

/** Runs `test` with the node in a flow that keeps its messages. */
function withNode(answer, test, secret = '') {
  return withService(answer, async (service) => {
    await nodeRed.deploy([account(service.url), ...receiving('node', PATH, secret)]);
    return test(service);
  });
}

function receiving(id, path, secret = '') {
  const node = { id, type: 'voice-calling-completed', z: 'flow', account: 'account', path };
  return [
    { ...node, credentials: { secret }, wires: [['keep']] },
    func('keep', "flow.set('received', [...(flow.get('received') ?? []), msg]);"),
    { id: 'in', type: 'http in', z: 'flow', url: '/received', method: 'get', wires: [['take']] },
    {
      ...func('take', "msg.payload = flow.get('received') ?? []; flow.set('received', []); return msg;"),
      wires: [['answer']],
    },
    { id: 'answer', type: 'http response', z: 'flow', wires: [] },
  ];
}

/** The messages that the node sent since this was asked before. */
const received = async () => (await nodeRed.fetch('/received')).json();

/** Delivers as the service does. The status of the answer. */
async function deliver(body = DELIVERY, { path = PATH, type = 'application/json', headers = {} } = {}) {
  const isContent = typeof body === 'string' || Buffer.isBuffer(body);
  const request = { method: 'POST', headers: { 'content-type': type, ...headers }, body: isContent ? body : JSON.stringify(body) };
  return (await nodeRed.fetch(path, request)).status;
}

/** JSON is parsed by Node-RED's editor before the node sees it, anything else is not. */
const TYPES = ['application/json', 'text/plain', 'application/octet-stream'];

for (const type of TYPES) {
  test(`a delivery as ${type} is confirmed by its docket, and accepted again, but not sent on again; a forged one is refused`, () =>
    withNode(completed, async ({ requests }) => {
      assert.equal(await deliver(FORGED, { type }), 400);
      assert.deepEqual(await received(), []);
      assert.deepEqual(await Promise.all([1, 2, 3].map(() => deliver(DELIVERY, { type }))), [204, 204, 204]);
      const [msg, ...more] = await received();
      assert.deepEqual([more.length, msg.docketId, msg.payload.status, msg.unverified], [0, DOCKET, 'COMPLETED', ['call_insights']]);
      assert.equal(msg.delivered.callInsights.callDisposition, 'INTERESTED');
      assert.deepEqual(lines(requests), Array(4).fill(`GET /api/v1/dockets/${DOCKET}`));
    }));

  test(`a delivery as ${type} is confirmed with numbers of many digits in its context`, () => {
    const context = '{"policy":12345678901234567890,"due":[0.10,{"rate":0.12345678901234567890}]}';
    const body = `{"docket_id":"${DOCKET}","status":"COMPLETED","call_context":${context}}`;
    return withNode(() => ({ body }), async () => {
      assert.equal(await deliver(body, { type }), 204);
      assert.equal((await received()).length, 1);
    });
  });
}

test('what is not the completion of a docket is refused, and nothing is fetched', () =>
  withNode(completed, async ({ requests }) => {
    for (const body of ['{"event":"call"}', 'no JSON', '']) assert.equal(await deliver(body), 400, body);
    for (const type of TYPES) {
      const large = JSON.stringify({ ...DELIVERY, attempts: ['x'.repeat(1024 * 1024)] });
      assert.equal(await deliver(large, { type }), 413, type);
    }
    assert.deepEqual(await received(), []);
    assert.equal(requests.length, 0);
  }));

test('a docket that cannot be fetched, is not known, or not completed, is sent on when the sender tries again', () => {
  const answers = [{ status: 401 }, { status: 404 }, docketIn('IN_PROGRESS'), completed()];
  return withNode((_request, _body, count) => answers[count - 1], async () => {
    const from = nodeRed.lines.length;
    assert.equal(await deliver(), 503);
    await nodeRed.logged(/\[error\].*a delivery could not be verified: /, from);
    for (let i = 0; i < 2; i++) assert.equal(await deliver(), 503);
    assert.deepEqual(await received(), []);
    assert.equal(await deliver(), 204);
    assert.equal((await received()).length, 1);
  });
});

test('with a secret, a delivery without it is refused before anything is fetched', () =>
  withNode(
    completed,
    async ({ requests, url }) => {
      const header = (secret) => ({ headers: { 'x-webhook-secret': secret } });
      assert.equal(await deliver(), 403);
      assert.equal(await deliver(DELIVERY, header('another')), 403);
      const another = { path: `${PATH}/another` };
      assert.equal(await deliver(DELIVERY, another), 403);
      assert.equal(requests.length, 0);
      assert.equal(await deliver(DELIVERY, header(SECRET)), 204);
      assert.equal(await deliver(DELIVERY, { path: `${PATH}/${SECRET}` }), 204);
      assert.equal((await received()).length, 1);
      const [second] = receiving('second', another.path);
      await nodeRed.deploy([account(url), ...receiving('node', PATH, SECRET), second]);
      assert.equal(await deliver(DELIVERY, another), 204);
    },
    SECRET,
  ));

const COMPRESSED = { gzip: gzipSync, deflate: deflateSync };

test('a delivery that is compressed is read; one that cannot be, or a form, is not refused as wrong', () =>
  withNode(completed, async () => {
    for (const type of TYPES) {
      for (const [encoding, compress] of Object.entries(COMPRESSED)) {
        const headers = { 'content-encoding': encoding };
        assert.equal(await deliver(compress(JSON.stringify(DELIVERY)), { type, headers }), 204, `${type} ${encoding}`);
      }
      assert.equal(await deliver(DELIVERY, { type, headers: { 'content-encoding': 'br' } }), 415, type);
    }
    const headers = { 'content-encoding': 'gzip' };
    const large = gzipSync(JSON.stringify({ ...DELIVERY, attempts: ['x'.repeat(1024 * 1024)] }));
    assert.equal(await deliver(large, { type: 'text/plain', headers }), 413);
    assert.equal(await deliver('not gzip', { type: 'text/plain', headers }), 400);
    assert.equal(await deliver(DELIVERY, { type: 'application/x-www-form-urlencoded' }), 415);
  }));

test('while the flow is deployed the sender is asked to try again, and the route goes with the node', () =>
  withNode(completed, async (service) => {
    const [node, ...others] = receiving('node', PATH);
    // Its close takes as long as Node-RED allows.
    const slow = { ...func('slow', ''), finalize: 'return new Promise(() => {});' };
    await nodeRed.deploy([account(service.url), node, ...others, slow]);
    const from = nodeRed.lines.length;
    const deployed = nodeRed.deploy([account(service.url), { ...node, name: 'renamed' }, ...others]);
    await nodeRed.logged(/Stopping flows/, from);
    assert.equal(await deliver(), 503);
    await deployed;
    assert.equal(await deliver(), 204);
    await nodeRed.deploy([account(service.url), ...receiving('node', '/another')]);
    assert.equal(await deliver(), 404);
    assert.equal(await deliver(DELIVERY, { path: '/another' }), 204);
    await nodeRed.deploy([account(service.url)]);
    assert.equal(await deliver(DELIVERY, { path: '/another' }), 404);
  }));

test('without a root for HTTP nodes the node says why nothing can be delivered', async () => {
  const without = await NodeRed.start({ httpNodeRoot: false });
  try {
    const [node] = receiving('node', PATH);
    await without.deploy([account('https://api.example'), node]);
    await without.logged(/\[error\].*settings\.httpNodeRoot: found false; allowed: a path/);
  } finally {
    await without.stop();
  }
});

test('a path that is wrong or that another node has is reported', () =>
  withNode(completed, async (service) => {
    let from = nodeRed.lines.length;
    await nodeRed.deploy([account(service.url), ...receiving('node', 'a b')]);
    await nodeRed.logged(/\[error\].*path: found "a b"; allowed: /, from);
    from = nodeRed.lines.length;
    const [second] = receiving('second', PATH);
    await nodeRed.deploy([account(service.url), ...receiving('node', PATH), second]);
    await nodeRed.logged(/\[error\].*which another node has/, from);
  }));
