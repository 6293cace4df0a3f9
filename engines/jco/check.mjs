/**
 * Whether the component for WASI 0.3 does on jco what it does on wasmtime.
 *
 *     node check.mjs <component> <base-url> <token> [--shim-alone]
 *
 * The base URL is that of the mock service (`host-test mock --call-ms 300`). `--shim-alone` leaves
 * out what network.mjs corrects. Ends with 1 if anything is different.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

const AT_ONCE = 100;
const BATCH = 20;
const SILENCES = 5;
const TIME_LIMIT_MS = 50_000;
const NUMBER = '919876543210';

const [file, baseUrl, token, ...options] = process.argv.slice(2);
const shimAlone = options[0] === '--shim-alone';
if (!token || options.length > (shimAlone ? 1 : 0)) {
  console.error('usage: node check.mjs <component> <base-url> <token> [--shim-alone]');
  process.exit(1);
}
if (!('Suspending' in WebAssembly)) process.exit(withNewerNode());

/** Runs this file by the Node that npm has installed here, since this one cannot suspend. */
function withNewerNode() {
  const path = `node_modules/node-${process.platform}-${process.arch}/bin/node`;
  const newer = fileURLToPath(new URL(path, import.meta.url));
  if (!existsSync(newer)) {
    console.error(
      `found Node ${process.version}, which has no WebAssembly.Suspending (JSPI); needed is Node 24 ` +
        `or newer, or on Linux ${path}, which \`npm ci\` installs`,
    );
    return 1;
  }
  return spawnSync(newer, process.argv.slice(1), { stdio: 'inherit' }).status ?? 1;
}

const { Component, shimsClient } = await import('./component.mjs');
const { companionable, nobody, silent } = await import('./service.mjs');

console.log(`Node ${process.version}`);
const component = await Component.from(readFileSync(file));
const settings = { BASE_URL: baseUrl, API_TOKEN: token };
const client = (changes = {}) =>
  component.instance({ ...settings, ...changes }, shimAlone ? shimsClient : undefined);

/** What the service itself says, without the component. */
async function said(path) {
  const response = await fetch(baseUrl + path, { headers: { auth_token: `Bearer ${token}` } });
  assert.equal(response.status, 200, `the service answered ${response.status} to ${path}`);
  return response.json();
}

/** The error that the call ends with. */
async function failure(call) {
  const outcome = await call.then(
    (value) => ({ value }),
    (error) => ({ error: error.payload ?? error }),
  );
  assert.ok('error' in outcome, 'the call succeeded');
  if (!outcome.error.tag) throw outcome.error;
  return outcome.error;
}

const docket = (changes = {}) => ({
  agentId: 7n,
  toPhoneNumber: NUMBER,
  callContext: '{"reference":"crm-1001"}',
  ...changes,
});

const claims = {
  async 'a webhook is read'() {
    const { webhooks } = await client();
    const body =
      '{"docket_id":"d-1","call_insights":null,"call_context":{"n":1.50},"attempts":[],"dashboard_url":null}';
    const read = await webhooks.parseDocketCompleted(new TextEncoder().encode(body));
    assert.equal(read.docketId, 'd-1');
    assert.equal(read.callContext, '{"n":1.50}');
    assert.equal(read.rawJson, body);
  },

  async 'the agents are those that the service lists'() {
    const { agents } = await client();
    const listed = await agents.listAgents('org-1');
    const expected = await said('/api/v1/agents?organizationId=org-1');
    assert.ok(expected.length > 0);
    assert.deepEqual(listed.map(({ rawJson }) => JSON.parse(rawJson)), expected);
    assert.deepEqual(listed.map(({ agentId }) => Number(agentId)), expected.map((it) => it.agent_id));
  },

  async 'a docket is created once, as asked for, and waited for'() {
    const { dockets } = await client();
    const created = await dockets.createDocketV2(docket({ externalId: 'jco-1' }));
    assert.equal(created.status.tag, 'open');
    const expected = await said(`/api/v1/dockets/${created.docketId}`);
    assert.equal(expected.external_id, 'jco-1');
    assert.equal(expected.to_phone_number, NUMBER);
    assert.deepEqual(expected.call_context, { reference: 'crm-1001' });
    const options = { timeoutMs: 20_000, notFoundIsPending: false };
    const { completed, docket: last, polls } = await dockets.waitForDocket(created.docketId, options);
    assert.equal(completed, true);
    assert.ok(polls > 1, `${polls} polls`);
    assert.deepEqual(JSON.parse(last.rawJson), await said(`/api/v1/dockets/${created.docketId}`));
  },

  async 'a batch keeps its order, and its wrong item to itself'() {
    const { bulk } = await client();
    const wrong = 5;
    const requests = Array.from({ length: BATCH }, (_, index) =>
      docket({ externalId: `jco-batch-${index}`, ...(index === wrong && { toPhoneNumber: '12' }) }),
    );
    const results = await bulk.createDocketsV2(requests, 20_000);
    assert.equal(results.length, BATCH);
    for (const [index, { tag, val }] of results.entries()) {
      if (index === wrong) {
        assert.equal(tag, 'err');
        assert.equal(val.tag, 'permanent-invalid-input');
        continue;
      }
      assert.equal(tag, 'ok', `item ${index}: ${JSON.stringify(val)}`);
      const { external_id: externalId } = await said(`/api/v1/dockets/${val.docketId}`);
      assert.equal(externalId, `jco-batch-${index}`);
    }
  },

  async 'a wrong argument is named'() {
    const { dockets } = await client();
    const { tag, val } = await failure(dockets.createDocketV2(docket({ toPhoneNumber: `+${NUMBER}` })));
    assert.equal(tag, 'permanent-invalid-input');
    assert.equal(val.field, 'to-phone-number');
  },

  async 'a wrong token is permanent-unauthorized'() {
    const { agents } = await client({ API_TOKEN: 'not-the-token-0001' });
    const { tag, val } = await failure(agents.listAgents('org-1'));
    assert.equal(tag, 'permanent-unauthorized');
    assert.equal(val.attempts.length, 1);
    assert.ok([401, 403].includes(val.response.status), `status ${val.response.status}`);
  },

  async 'a refused connection is unreachable, and tried again'() {
    const { dockets } = await client({ BASE_URL: await nobody(), MAX_ATTEMPTS: '3', BACKOFF_MS: '20' });
    const { tag, val } = await failure(dockets.createDocketV2(docket()));
    assert.equal(tag, 'unreachable');
    assert.deepEqual(
      val.attempts.map(({ transportError }) => transportError),
      Array(3).fill('connection-refused'),
    );
  },

  async [`${AT_ONCE} calls of one instance are in flight at once, each with its own answer`]() {
    const service = await companionable(AT_ONCE);
    const { agents } = await client({ BASE_URL: service.url, MAX_IN_FLIGHT: '1000' });
    const names = Array.from({ length: AT_ONCE }, (_, index) => `org-${index}`);
    const answers = await Promise.all(names.map((name) => agents.listAgents(name)));
    assert.deepEqual(answers.map(([{ agentName }]) => agentName), names);
    service.close();
  },

  async 'a creation that got no answer is never sent again'() {
    const service = await silent();
    const { dockets } = await client({
      BASE_URL: service.url,
      ATTEMPT_TIMEOUT_MS: '300',
      DEADLINE_MS: '3000',
      BACKOFF_MS: '20',
    });
    for (let nth = 1; nth <= SILENCES; nth += 1) {
      const { tag, val } = await failure(dockets.createDocketV2(docket()));
      const attempts = val.attempts.map(({ transportError }) => transportError).join(', ');
      assert.equal(tag, 'permanent-outcome-unknown', `creation ${nth}: ${tag} after ${attempts}`);
      assert.equal(val.attempts.length, 1, `creation ${nth} was sent again: ${attempts}`);
      assert.ok(service.received <= nth, `${service.received} requests of ${nth} creations`);
    }
    service.close();
  },
};

const limit = setTimeout(() => {
  console.error(`not at its end after ${TIME_LIMIT_MS} ms`);
  process.exit(1);
}, TIME_LIMIT_MS);
let different = 0;
for (const [claim, prove] of Object.entries(claims)) {
  try {
    await prove();
    console.log(`ok         ${claim}`);
  } catch (error) {
    different += 1;
    console.log(`DIFFERENT  ${claim}: ${error.payload ? inspect(error.payload) : error.message}`);
  }
}
clearTimeout(limit);
console.log(different ? `${different} of ${Object.keys(claims).length} are different` : 'all the same');
// The shim's workers would keep the process.
process.exit(different ? 1 : 0);
