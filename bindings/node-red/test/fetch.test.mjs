import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCKET, lines, withService } from '../../javascript/test/service.mjs';
import { WATCHERS, account, around, docketIn, nodeRed } from './node_red.mjs';

const GET_DOCKET = `GET /api/v1/dockets/${DOCKET}`;
const GET_DETAILS = 'GET /call_details/task-1';
const ANSWERED = [{ call_status: 'ANSWERED', call_insights: { metadata: { amount: 1 } } }];
const NAMED = { docketId: DOCKET };
const CALLED = { taskId: 'task-1' };
const LATE = { wait: true, timeout: 5 };

/** Runs `test` with a service and the node in a flow. */
function withNode(config, answer, test) {
  return withService((_request, _body, count) => answer(count), async (service) => {
    const node = { type: 'voice-calling-fetch', ...config };
    await nodeRed.deploy([account(service.url), ...around(node), ...WATCHERS]);
    return test(service);
  });
}

/** What the message names, whether it is waited for, the answers, and the requests. */
const FETCHED = {
  'a docket is fetched as it is': [NAMED, false, () => docketIn('IN_PROGRESS'), [GET_DOCKET]],
  'the details of a call are fetched as they are': [CALLED, false, () => ({ body: [] }), [GET_DETAILS]],
  'a docket is waited for until it is completed': [
    NAMED, true, (count) => docketIn(count < 3 ? 'IN_PROGRESS' : 'COMPLETED'), Array(3).fill(GET_DOCKET),
  ],
  'the details of a call are waited for': [CALLED, true, (count) => ({ body: count < 3 ? [] : ANSWERED }), Array(3).fill(GET_DETAILS)],
};

for (const [what, [named, wait, answer, expected]] of Object.entries(FETCHED)) {
  test(what, () =>
    withNode({ wait }, answer, async ({ requests }) => {
      const msg = await nodeRed.send({ ...named, topic: 'lead', payload: 'row 1' });
      assert.deepEqual([msg.output, msg.topic, msg.docketId, msg.taskId], [1, 'lead', named.docketId, named.taskId]);
      if (named === NAMED) assert.equal(msg.payload.status, wait ? 'COMPLETED' : 'IN_PROGRESS');
      else assert.deepEqual(msg.payload.calls.map((it) => it.callStatus), wait ? ['ANSWERED'] : []);
      assert.deepEqual(lines(requests), expected);
    }));
}

for (const [what, config, answer, msg, kind, pattern] of [
  ['a docket that is not completed in time', LATE, docketIn('OPEN'), NAMED, 'not-completed', /after 5 s; last seen: OPEN/],
  ['an unknown docket that is waited for', { wait: true }, { status: 404 }, NAMED, 'not-found', /404/],
  ['a message without an id', {}, {}, {}, 'invalid-input', /found neither; allowed: one of them/],
  ['a message with two ids', {}, {}, { ...NAMED, taskId: 'task-1' }, 'invalid-input', /found both/],
]) {
  test(`${what} comes out of the second output, and reaches \`catch\` nodes`, () =>
    withNode(config, () => answer, async () => {
      const from = nodeRed.lines.length;
      const { output, error } = await nodeRed.send({ ...msg, topic: 'lead' });
      assert.equal(output, 2);
      assert.equal(error.kind, kind);
      assert.match(error.message, pattern);
      assert.equal(error.mayHaveCreated, false);
      const [, ended] = await nodeRed.logged(/\] ((complete|catch): lead.*)/, from);
      assert.match(ended, new RegExp(`^catch: .*${pattern.source}`));
    }));
}
