/**
 * Faults that only sockets have, on every runtime: which error reports them, and that a create is
 * sent once, and again only if it certainly did nothing. The table of cases has the others.
 *
 * Deno and Bun are programs of their own. The variable `DENO` says where Deno is; Bun comes from
 * npm, as a program in a package. Where one is missing, its tests fail.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DOCKET, REQUEST, TOKEN, answerText, withClient, withListener, withService, withSockets } from './service.js';

const OPTIONS = { attemptTimeoutMs: 500, connectTimeoutMs: 200, deadlineMs: 5000, maxAttempts: 2 };

// ------------------------------------------------------------------------------- the runtimes

const package_ = fileURLToPath(new URL('..', import.meta.url));

/** The other runtimes, and how they run a file. */
const RUNTIMES = {
  Deno: [process.env.DENO, ['run', '--allow-net', '--allow-read', '--allow-write', '--allow-env', '--no-prompt']],
  Bun: [join(package_, 'node_modules/@oven/bun-linux-x64/bin/bun'), ['run']],
};

const ALL = ['Node', ...Object.keys(RUNTIMES)];

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'voice-calling-runtimes-'));
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(package_, join(folder, 'node_modules/voice-calling'), 'junction');
});

after(() => rmSync(folder, { recursive: true }));

/** What a program prints. `client` and `created` are there. */
async function printed(runtime, url, program) {
  const [executable, flags] = RUNTIMES[runtime];
  assert.ok(executable && existsSync(executable), `there is no ${runtime}: \`cargo xtask bindings test\` installs it`);
  const file = join(folder, `${runtime}-program.js`);
  writeFileSync(
    file,
    `import { VoiceClient } from 'voice-calling';
    const options = { baseUrl: '${url}', token: '${TOKEN}', env: {}, backoffMs: 1, maxBackoffMs: 5 };
    const client = new VoiceClient({ ...options, ...${JSON.stringify(OPTIONS)} });
    const created = ${created};
    const REQUEST = ${JSON.stringify(REQUEST)};
    ${program}
    await client.close();
    await client.close();`,
  );
  const { PATH, HOME } = process.env;
  const { stdout } = await promisify(execFile)(executable, [...flags, file], { cwd: folder, env: { PATH, HOME } });
  return stdout.trim();
}

/** What comes of creates that follow each other: an error's name, whether it may have created, and its attempts. */
async function created(client, request, times) {
  const outcomes = [];
  for (let i = 0; i < times; i++) {
    // What the service does with an idle connection has come by then.
    if (i > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const outcome = await client.dockets.create(request).then(
      () => 'created',
      ({ name, mayHaveCreated, attempts }) => `${name} ${mayHaveCreated ? 'maybe' : 'not'} ${attempts.length}`,
    );
    outcomes.push(outcome);
  }
  return outcomes.join();
}

async function createdOn(runtime, url, times = 1) {
  if (runtime in RUNTIMES) return printed(runtime, url, `console.log(await created(client, REQUEST, ${times}));`);
  return withClient(url, OPTIONS, (client) => created(client, REQUEST, times));
}

for (const runtime of Object.keys(RUNTIMES)) {
  test(`${runtime}: a docket is created and read, a create with a key is sent once, and a batch is reported as it comes`, () =>
    withService((_, __, nth) => (nth === 1 ? { status: 503 } : {}), async ({ url, requests }) => {
      const program = `
        console.log(await created(client, REQUEST, 1));
        console.log((await client.dockets.get('${DOCKET}')).docketId);
        const requests = [1, 2].map((n) => ({ ...REQUEST, agentId: 9007199254740993n, callContext: { n } }));
        for await (const { ok } of client.dockets.createMany(requests, { timeoutMs: 1000 })) console.log(ok);
        for (let i = 0; i < 2; i++) {
          const keyed = new VoiceClient({ ...options, ledger: '${runtime}.db' });
          console.log((await keyed.dockets.create(REQUEST, { once: 'crm-1001' })).fromLedger);
          await keyed.close();
        }`;
      assert.equal(await printed(runtime, url, program), `created\n${DOCKET}\ntrue\ntrue\nfalse\ntrue`);
      assert.equal(requests.length, 6);
      assert.match(requests[4].body, /"agent_id":9007199254740993,/);
    }));
}

// --------------------------------------------------------------------------------- the faults

const UNKNOWN = 'OutcomeUnknown maybe 1';
const UNEXPECTED = 'UnexpectedResponse maybe 1';
const UNREACHABLE = 'Unreachable not 2';

/** What the service does with a create, which is sent once, and what comes of it. */
const FAULTS = {
  'answers garbage': [(s) => s.end('hello\r\n\r\n'), UNKNOWN],
  'closes without an answer': [(s) => s.destroy(), UNKNOWN],
  'resets the connection': [(s) => s.resetAndDestroy(), UNKNOWN],
  'ends early in the head': [(s) => s.end('HTTP/1.1 200 OK\r\nconte'), UNKNOWN],
  'ends early in the body': [(s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"docket'), UNEXPECTED],
  'ends early in a chunked body': [(s) => s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"doc'), UNEXPECTED],
  'is late with the body': [(s) => s.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'), UNEXPECTED],
  'switches protocols': [(s) => s.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'), UNKNOWN],
  'is silent': [() => {}, UNKNOWN],
  'answers 421': [(s) => s.write(answerText({}, '421 X')), 'Rejected not 1'],
  'answers 421, and refuses then': [misdirect, 'Rejected not 1'],
  'answers 401': [(s) => s.write(answerText({}, '401 X', 'www-authenticate: Basic realm="x"\r\n')), 'Unauthorized not 1'],
  redirects: [(s) => s.write(answerText({}, '307 X', 'location: /elsewhere\r\n')), 'Rejected maybe 1'],
};

/** Some would send the request again on another connection, which is then refused. */
function misdirect(socket, _, service) {
  service.refuse();
  socket.end(answerText({}, '421 X', 'connection: close\r\n'));
}

/** Connections and TLS handshakes that come to nothing: a create is `Unreachable`. */
const CONNECTIONS = {
  'a handshake that never ends': () => {},
  'a handshake that is broken off': (socket) => socket.once('data', () => socket.end()),
  'a handshake that is answered without TLS': (socket) => socket.once('data', () => socket.end(answerText())),
  'a port that refuses': undefined,
};

/** What the table of cases has, which runs on Node. */
const OF_THE_TABLE = [
  'closes without an answer', 'resets the connection', 'ends early in the head', 'ends early in the body', 'is silent', 'a port that refuses',
];

function beyondTheTable(runtime, faults) {
  return Object.entries(faults).filter(([what]) => runtime in RUNTIMES || !OF_THE_TABLE.includes(what));
}

for (const runtime of ALL) {
  for (const [what, [behave, outcome]] of beyondTheTable(runtime, FAULTS)) {
    test(`${runtime}: a service that ${what} receives a create once, with its length`, () =>
      withSockets((socket, request, service) => {
        assert.match(request, /\r\ncontent-length: \d+\r\n/i);
        behave(socket, request, service);
      }, async (service) => {
        assert.equal(await createdOn(runtime, service.url), outcome);
        assert.equal(service.posts, 1);
      }));
  }

  for (const close of ['destroy', 'resetAndDestroy', 'end']) {
    test(`${runtime}: a create on an idle connection that is closed under it (${close}) is sent once`, () =>
      withSockets(
        (socket, _, service) => (service.received === 1 ? socket.write(answerText()) : socket[close]()),
        async (service) => {
          assert.equal(await createdOn(runtime, service.url, 2), `created,${UNKNOWN}`);
          assert.equal(service.posts, 2);
          if (runtime === 'Node') assert.equal(service.connections, 1);
        },
      ));
  }

  for (const [what, accept] of beyondTheTable(runtime, CONNECTIONS)) {
    test(`${runtime}: a create on ${what} is not sent`, () =>
      withListener(accept ?? (() => {}), async (service) => {
        if (!accept) service.refuse();
        assert.equal(await createdOn(runtime, service.url.replace('http:', accept ? 'https:' : 'http:')), UNREACHABLE);
        assert.equal(service.posts, 0);
      }));
  }
}
