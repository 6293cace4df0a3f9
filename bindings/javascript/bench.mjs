/**
 * Measures a call beside `node:http` and `fetch`, against a mock service that this program starts
 * (`voice-calling-mock`, which the variable MOCK names):
 *
 *     node bench.mjs [--short]
 *
 * With --short the figures mean nothing; it shows that they can be measured.
 *
 * The clients alternate, so that what else the machine does affects all alike. Medians of the
 * rounds, and ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VoiceClient } from 'voice-calling';
import { TOKEN, startHarness } from './test/service.mjs';

process.env.MOCK ??= fileURLToPath(new URL('../../target/debug/voice-calling-mock', import.meta.url));

const REQUEST = {
  agentId: 7,
  toPhoneNumber: '919876543210',
  callContext: { reference: 'crm-1001' },
  externalId: 'crm-1001',
};
const POST = {
  method: 'POST',
  headers: { auth_token: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    agent_id: 7,
    to_phone_number: '919876543210',
    extra_config: { call_context: { reference: 'crm-1001' } },
    external_id: 'crm-1001',
  }),
};

const isShort = process.argv.includes('--short');
const SIZES = isShort ? { rounds: 1, calls: 50, atOnce: 8 } : { rounds: 5, calls: 2000, atOnce: 64 };

/** What creates a docket with each client. */
function creators(baseUrl) {
  const url = `${baseUrl}/api/v2/dockets`;
  const agent = new http.Agent({ keepAlive: true });
  const client = new VoiceClient({ baseUrl, token: TOKEN, env: {}, maxInFlight: 1000 });
  return {
    'node:http': () =>
      new Promise((resolve, reject) => {
        const sent = http.request(url, { ...POST, agent }, async (response) => {
          const chunks = [];
          for await (const chunk of response) chunks.push(chunk);
          resolve(JSON.parse(Buffer.concat(chunks).toString()));
        });
        sent.on('error', reject);
        sent.end(POST.body);
      }),
    fetch: async () => (await fetch(url, POST)).json(),
    'voice-calling': () => client.dockets.create(REQUEST),
  };
}

async function measured(create) {
  await atOnce(create, 1, SIZES.calls / 4);
  const before = process.cpuUsage();
  const warmMs = await atOnce(create, 1, SIZES.calls);
  const warm = process.cpuUsage(before);
  const busyMs = await atOnce(create, SIZES.atOnce, SIZES.calls);
  const all = process.cpuUsage(before);
  const used = ({ user, system }) => user + system;
  return {
    'warm call, µs': (warmMs / SIZES.calls) * 1000,
    'CPU of it, µs': used(warm) / SIZES.calls,
    [`CPU, µs, ${SIZES.atOnce} at once`]: (used(all) - used(warm)) / SIZES.calls,
    [`calls/s, ${SIZES.atOnce} at once`]: (SIZES.calls / busyMs) * 1000,
  };
}

/** Makes the calls, so many at a time, and returns how long they took. */
async function atOnce(create, width, calls) {
  let waiting = calls;
  const worker = async () => {
    while (waiting-- > 0) {
      const docket = await create();
      if (!(docket.docketId ?? docket.docket_id)) throw new Error('no docket came');
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: width }, worker));
  return performance.now() - begin;
}

/** The median of each figure. */
function medians(rounds) {
  const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const names = Object.keys(rounds[0]);
  return Object.fromEntries(names.map((name) => [name, Math.round(middle(rounds.map((it) => it[name])))]));
}

async function compareClients(url) {
  const rounds = {};
  for (let round = 0; round < SIZES.rounds; round++) {
    for (const [name, create] of Object.entries(creators(url))) (rounds[name] ??= []).push(await measured(create));
  }
  const table = Object.fromEntries(Object.entries(rounds).map(([name, figures]) => [name, medians(figures)]));
  console.log(`Node ${process.versions.node}, medians of ${SIZES.rounds} rounds`);
  console.table(table);
  for (const peer of ['node:http', 'fetch']) {
    const ratios = Object.entries(table['voice-calling']).map(([name, value]) => `${name} ${(value / table[peer][name]).toFixed(2)}`);
    console.log(`voice-calling, to ${peer}: ${ratios.join('; ')}`);
  }
}

/** Creates with keys beside those without. */
async function compareKeys(baseUrl) {
  const folder = mkdtempSync(join(tmpdir(), 'voice-calling-bench-'));
  const options = { baseUrl, token: TOKEN, env: {}, maxInFlight: SIZES.atOnce };
  const [plain, keyed] = [new VoiceClient(options), new VoiceClient({ ...options, ledger: join(folder, 'calls.db') })];
  let keys = 0;
  const rounds = [];
  for (let round = 0; round <= SIZES.rounds; round++) {
    const plainMs = await atOnce(() => plain.dockets.create(REQUEST), SIZES.atOnce, SIZES.calls / 2);
    const keyedMs = await atOnce(() => keyed.dockets.create(REQUEST, { key: `crm-${keys++}` }), SIZES.atOnce, SIZES.calls / 2);
    // The first warms up.
    if (round > 0) rounds.push({ percent: (plainMs / keyedMs) * 100 });
  }
  console.log(`calls/s with keys, ${SIZES.atOnce} at once, a service of 20 ms: ${medians(rounds).percent} % of those without`);
  await keyed.close();
  rmSync(folder, { recursive: true });
}

await compareClients(await startHarness('MOCK', '--port', '0'));
await compareKeys(await startHarness('MOCK', '--port', '0', '--delay-ms', '20'));
process.exit();
