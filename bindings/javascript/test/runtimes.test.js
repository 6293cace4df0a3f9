/**
 * The package in other runtimes. The variable `DENO` says where Deno is; Bun comes from npm, as a
 * program in a package. Where one is missing, its tests fail.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DOCKET, TOKEN, answerText, withListener, withService, withSockets } from './service.js';

const run = promisify(execFile);
const package_ = fileURLToPath(new URL('..', import.meta.url));

/** The programs, and how they run a file. */
const RUNTIMES = {
  Deno: [process.env.DENO, ['run', '--allow-net', '--allow-read', '--allow-env', '--no-prompt']],
  Bun: [installed('@oven/bun-linux-x64/bin/bun', '@oven/bun-linux-aarch64/bin/bun', '@oven/bun-darwin-aarch64/bin/bun', '@oven/bun-darwin-x64/bin/bun'), ['run']],
};

function installed(...names) {
  return names.map((name) => join(package_, 'node_modules', name)).find(existsSync);
}

let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'voice-calling-runtimes-'));
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(package_, join(folder, 'node_modules/voice-calling'), 'junction');
});

after(() => rmSync(folder, { recursive: true }));

/** What a program prints. `client` is there, and `create(times)`, which says what came of each. */
async function printed(runtime, url, program) {
  const [executable, flags] = RUNTIMES[runtime];
  assert.ok(executable, `there is no ${runtime}: \`cargo xtask bindings test\` installs it`);
  const file = join(folder, `${runtime}-program.js`);
  writeFileSync(
    file,
    `import { VoiceClient } from 'voice-calling';
    const client = new VoiceClient({
      baseUrl: '${url}', token: '${TOKEN}', env: {}, backoffMs: 1, maxBackoffMs: 1, maxAttempts: 2,
      attemptTimeoutMs: 1000, deadlineMs: 5000,
    });
    const create = () => client.dockets.create({ agentId: 7, toPhoneNumber: '919876543210', callContext: {} })
      .then(() => 'created', (error) => error.name + (error.mayHaveCreated ? ' maybe' : ' not'));
    ${program}
    await client.close();
    await client.close();`,
  );
  const { PATH, HOME } = process.env;
  const { stdout } = await run(executable, [...flags, file], { cwd: folder, env: { PATH, HOME } });
  return stdout.trim();
}

/** What the service does with a create, and what is reported of it. */
const FAULTS = {
  'closes without an answer': [(s) => s.destroy(), 'OutcomeUnknown maybe'],
  'resets the connection': [(s) => s.resetAndDestroy(), 'OutcomeUnknown maybe'],
  'ends early in the head': [(s) => s.end('HTTP/1.1 200 OK\r\nconte'), 'OutcomeUnknown maybe'],
  'ends early in the body': [(s) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"docket'), 'UnexpectedResponse maybe'],
  'is silent': [() => {}, 'OutcomeUnknown maybe'],
  'answers 421': [(s) => s.write(answerText({}, '421 X')), 'Rejected not'],
  'answers 421, and refuses then': [misdirect, 'Rejected not'],
  'answers 401': [(s) => s.write(answerText({}, '401 X', 'www-authenticate: Basic realm="x"\r\n')), 'Unauthorized not'],
  redirects: [(s) => s.write(answerText({}, '307 X', 'location: /elsewhere\r\n')), 'Rejected maybe'],
};

for (const runtime of Object.keys(RUNTIMES)) {
  test(`${runtime}: a docket is created and read, a batch is reported as it comes`, () =>
    withService(
      (_, __, nth) => (nth === 1 ? { status: 503 } : {}),
      async ({ url, requests }) => {
        const program = `
          console.log(await create());
          console.log((await client.dockets.get('${DOCKET}')).docketId);
          const batch = client.dockets.createMany([1, 2].map((n) => ({
            agentId: 9007199254740993n, toPhoneNumber: '919876543210', callContext: { n },
          })), { timeoutMs: 1000 });
          for await (const { ok } of batch) console.log(ok);`;
        assert.equal(await printed(runtime, url, program), `created\n${DOCKET}\ntrue\ntrue`);
        assert.equal(requests.length, 5);
        assert.match(requests[4].body, /"agent_id":9007199254740993,/);
      },
    ));

  for (const [what, [behave, outcome]] of Object.entries(FAULTS)) {
    test(`${runtime}: a service that ${what} receives a create once`, () =>
      withSockets(behave, async (service) => {
        assert.equal(await printed(runtime, service.url, 'console.log(await create());'), outcome);
        assert.equal(service.posts, 1);
      }));
  }

  for (const close of ['destroy', 'resetAndDestroy', 'end']) {
    test(`${runtime}: a create on an idle connection that is closed under it (${close}) is sent once`, () =>
      withSockets(
        (socket, _, service) => (service.received === 1 ? socket.write(answerText()) : socket[close]()),
        async (service) => {
          const program = `
            console.log(await create());
            await new Promise((resolve) => setTimeout(resolve, 20));
            console.log(await create());`;
          assert.equal(await printed(runtime, service.url, program), 'created\nOutcomeUnknown maybe');
          assert.equal(service.posts, 2);
        },
      ));
  }

  test(`${runtime}: it is not known that a port refuses: the outcome of a create is unknown`, async () => {
    const url = await withListener(() => {}, async (service) => service.url);
    assert.equal(await printed(runtime, url, 'console.log(await create());'), 'OutcomeUnknown maybe');
  });

  test(`${runtime}: a TLS handshake that hangs or fails is never a create that is sent twice`, async () => {
    for (const accept of [() => {}, (socket) => socket.once('data', () => socket.end())]) {
      await withListener(accept, async (service) => {
        const url = service.url.replace('http:', 'https:');
        assert.equal(await printed(runtime, url, 'console.log(await create());'), 'OutcomeUnknown maybe');
        assert.equal(service.posts, 0);
      });
    }
  });
}

/** Some would send the request again on another connection, which is then refused. */
function misdirect(socket, _, service) {
  service.refuse();
  socket.end(answerText({}, '421 X', 'connection: close\r\n'));
}
