/**
 * Measures a call beside other clients of Node, against a mock service that this program starts
 * (the command `host-test`, or what the variable HOST_TEST names):
 *
 *     node bench.mjs [--short]
 *
 * With --short the figures mean nothing; it shows that they can be measured.
 *
 * Each client is measured in a process of its own, in rounds that alternate, so that what else the
 * machine does affects all alike. Medians of the rounds, and ratios to the client that a driver uses.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TOKEN = 'mock-token-0001';
const CLIENTS = ['undici', 'fetch', 'node:http', 'voice-calling', 'voice-calling/fetch'];

/** The HTTP client below each of ours. */
const DRIVERS = { 'voice-calling': 'node:http', 'voice-calling/fetch': 'fetch' };

const BODY = {
  agent_id: 7,
  to_phone_number: '919876543210',
  extra_config: { call_context: { reference: 'crm-1001' } },
  external_id: 'crm-1001',
};
const HEADERS = { auth_token: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const PATH = '/api/v2/dockets';

const short = process.argv.includes('--short');
const SIZES = short
  ? { rounds: 1, warm: 50, throughput: 128, atOnce: 64 }
  : { rounds: 5, warm: 2000, throughput: 6000, atOnce: 64 };

const [, , role, url, name] = process.argv;
if (role === 'measure') console.log(JSON.stringify(await measured(name, url)));
else await compare();

// ------------------------------------------------------------------------------- all of them

async function compare() {
  const rounds = Object.fromEntries(CLIENTS.map((client) => [client, []]));
  for (let round = 0; round < SIZES.rounds; round++) {
    for (const client of CLIENTS) rounds[client].push(await inAProcess(client));
  }
  print(rounds);
}

async function inAProcess(client) {
  const service = await mock();
  try {
    const arguments_ = [fileURLToPath(import.meta.url), 'measure', service.url, client];
    if (short) arguments_.push('--short');
    const { stdout } = await promisify(execFile)(process.execPath, arguments_);
    return JSON.parse(stdout);
  } finally {
    service.process.kill();
    await once(service.process, 'exit');
  }
}

function print(rounds) {
  const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const of = (client, name) => median(rounds[client].map((figures) => figures[name]));
  const columns = Object.entries({
    importMs: ['import, ms', 1],
    firstMs: ['first call, ms', 1],
    warmUs: ['warm call, µs', 0],
    cpuUs: ['CPU of it, µs', 0],
    perSecond: [`calls/s, ${SIZES.atOnce} at once`, 0],
    megabytes: ['memory, MB', 0],
  });
  console.log(`Node ${process.versions.node}, medians of ${SIZES.rounds} rounds`);
  console.table(
    Object.fromEntries(
      CLIENTS.map((client) => [
        client,
        Object.fromEntries(
          columns.map(([name, [title, digits]]) => [title, Number(of(client, name).toFixed(digits))]),
        ),
      ]),
    ),
  );
  for (const [client, driver] of Object.entries(DRIVERS)) {
    const ratio = (name) => (of(client, name) / of(driver, name)).toFixed(2);
    console.log(`${client}, to ${driver}: CPU ${ratio('cpuUs')}, calls/s ${ratio('perSecond')}`);
  }
}

async function mock() {
  const program = process.env.HOST_TEST ?? fileURLToPath(new URL('../../target/debug/host-test', import.meta.url));
  const child = spawn(program, ['mock', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return { url, process: child };
  }
  throw new Error(`${program} ended at once`);
}

// ------------------------------------------------------------------------------- one of them

/** A function that creates a docket, and how long its import took. */
async function client(name, url) {
  const begin = performance.now();
  switch (name) {
    case 'undici': {
      const { Agent, request } = await import('undici');
      const dispatcher = new Agent({ connections: 1000 });
      const importMs = performance.now() - begin;
      const create = async () => {
        const options = { method: 'POST', headers: HEADERS, body: JSON.stringify(BODY), dispatcher };
        const { body } = await request(url + PATH, options);
        return body.json();
      };
      return { importMs, create };
    }
    case 'fetch': {
      const create = async () => {
        const options = { method: 'POST', headers: HEADERS, body: JSON.stringify(BODY) };
        return (await fetch(url + PATH, options)).json();
      };
      return { importMs: 0, create };
    }
    case 'node:http': {
      const { Agent, request } = await import('node:http');
      const agent = new Agent({ keepAlive: true });
      const importMs = performance.now() - begin;
      const create = () =>
        new Promise((resolve, reject) => {
          const options = { method: 'POST', headers: HEADERS, agent };
          const sent = request(url + PATH, options, async (response) => {
            const chunks = [];
            for await (const chunk of response) chunks.push(chunk);
            resolve(JSON.parse(Buffer.concat(chunks).toString()));
          });
          sent.on('error', reject);
          sent.end(JSON.stringify(BODY));
        });
      return { importMs, create };
    }
    default: {
      const { VoiceClient } = await import(name);
      const importMs = performance.now() - begin;
      const client = new VoiceClient({ baseUrl: url, token: TOKEN, env: {}, maxInFlight: 1000 });
      const create = () =>
        client.dockets.create({
          agentId: 7,
          toPhoneNumber: '919876543210',
          callContext: { reference: 'crm-1001' },
          externalId: 'crm-1001',
        });
      return { importMs, create };
    }
  }
}

async function measured(name, url) {
  const { importMs, create } = await client(name, url);
  const begin = performance.now();
  await create();
  const firstMs = importMs + performance.now() - begin;

  await inARow(create, SIZES.warm / 2);
  const before = process.cpuUsage();
  const times = await inARow(create, SIZES.warm);
  const { user, system } = process.cpuUsage(before);

  await atOnce(create, SIZES.throughput / 4);
  const throughputBegin = performance.now();
  await atOnce(create, SIZES.throughput);
  const perSecond = (SIZES.throughput / (performance.now() - throughputBegin)) * 1000;
  return {
    importMs,
    firstMs,
    warmUs: times.sort((a, b) => a - b)[Math.floor(times.length / 2)] * 1000,
    cpuUs: (user + system) / SIZES.warm,
    perSecond,
    megabytes: process.memoryUsage.rss() / 1e6,
  };
}

async function inARow(create, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    const docket = await create();
    times.push(performance.now() - begin);
    if (!(docket.docketId ?? docket.docket_id)) throw new Error('no docket came');
  }
  return times;
}

async function atOnce(create, count) {
  let waiting = count;
  const worker = async () => {
    while (waiting-- > 0) await create();
  };
  await Promise.all(Array.from({ length: SIZES.atOnce }, worker));
}
